"""Keys of models' services: where they are found, what they may be, and the system's keyring."""

import json
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from config.models_file import ModelEntry
from core.errors import ConfigurationError, StorageError
from modules.models.credentials import (
    LIST_FILE,
    SERVICE,
    ApiKey,
    KeyringBackend,
    KeyringSilent,
    KeyringStore,
    checked_key,
    find_key,
    missing_key,
)
from tests.doubles import MemoryKeyring

GEMINI = ModelEntry(type="gemini", model="g")
KEY = "key-of-gemini-0123456789"


class NoKeyringError(Exception):
    """As the library's own, which is told by its name."""


class KeyringLocked(Exception):
    """Likewise."""


def failing(error: Exception) -> Callable[[], KeyringBackend]:
    """A keyring that can't be opened."""

    def open_backend() -> KeyringBackend:
        raise error

    return open_backend


@pytest.fixture
def keyring() -> MemoryKeyring:
    return MemoryKeyring()


@pytest.fixture
def store(tmp_path: Path, keyring: MemoryKeyring) -> KeyringStore:
    return KeyringStore(tmp_path, keyring.open)


class TestFinding:
    def test_the_environment_counts_before_the_keyring(
        self, tmp_path: Path, store: KeyringStore, keyring: MemoryKeyring
    ) -> None:
        store.keep("GEMINI_API_KEY", KEY)
        environ = {"GEMINI_API_KEY": " other-key-9876 "}
        found = find_key(GEMINI, environ, store)
        assert found == ApiKey("other-key-9876", "GEMINI_API_KEY")
        found = find_key(GEMINI, {"GEMINI_API_KEY": " "}, store)
        assert found == ApiKey(KEY, "GEMINI_API_KEY in the keyring")

    def test_who_keeps_no_key_there_never_opens_the_keyring(
        self, store: KeyringStore, keyring: MemoryKeyring
    ) -> None:
        assert find_key(GEMINI, {}, store) is None
        store.keep("OPENAI_API_KEY", KEY)
        opened = keyring.opened
        assert find_key(GEMINI, {}, store) is None
        assert find_key(ModelEntry(type="ollama"), {}, store) is None
        assert keyring.opened == opened

    def test_googles_general_key_comes_last_and_for_geminis_own_variable_only(
        self, tmp_path: Path, store: KeyringStore, keyring: MemoryKeyring
    ) -> None:
        environ = {"GOOGLE_API_KEY": "general-key"}
        assert find_key(GEMINI, environ) == ApiKey("general-key", "GOOGLE_API_KEY")
        work = GEMINI.model_copy(update={"api_key_env": "WORK_KEY"})
        assert find_key(work, environ) is None
        store.keep("GEMINI_API_KEY", KEY)
        assert find_key(GEMINI, environ, store) == ApiKey(KEY, "GEMINI_API_KEY in the keyring")

    @pytest.mark.parametrize("service", ["gemini", "anthropic", "openai"])
    def test_a_services_key_goes_to_no_other_address(self, service: str) -> None:
        environ = dict.fromkeys(("GEMINI_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY"), KEY)
        environ |= {"GOOGLE_API_KEY": KEY, "MINE": "mine-0123"}
        document = {"type": service, "model": "m", "base_url": "https://proxy.example"}
        entry = ModelEntry.model_validate(document)
        assert find_key(entry, environ) is None
        assert "api_key_env" in str(missing_key(entry, "proxied"))
        named = entry.model_copy(update={"api_key_env": "MINE"})
        assert find_key(named, environ) == ApiKey("mine-0123", "MINE")

    @pytest.mark.parametrize(
        "key", ["schlüssel-0123456789", "two words-0123456789", "a\nb-0123456789", "x" * 10_000]
    )
    def test_what_cannot_be_a_key_is_refused_without_showing_it(
        self, key: str, store: KeyringStore
    ) -> None:
        with pytest.raises(ConfigurationError, match="GEMINI_API_KEY can't be a key") as caught:
            find_key(GEMINI, {"GEMINI_API_KEY": key})
        store.keep("GEMINI_API_KEY", key)
        with pytest.raises(ConfigurationError, match="in the keyring can't be a key") as other:
            find_key(GEMINI, {}, store)
        assert key[-10:] not in f"{caught.value}{other.value}"

    def test_an_empty_key_is_none(self) -> None:
        with pytest.raises(ConfigurationError, match="it is empty"):
            checked_key("", "X")

    def test_a_missing_key_names_variable_page_and_command(self) -> None:
        told = str(missing_key(GEMINI, "gemini"))
        assert told.startswith("Gemini needs a key: set GEMINI_API_KEY (get one at https://")
        assert "agent.py auth set gemini" in told
        work = GEMINI.model_copy(update={"api_key_env": "WORK_KEY"})
        assert "set WORK_KEY, keep" in str(missing_key(work, "work"))
        assert "auth set WORK_KEY" in str(missing_key(work, "work"))


class TestKeeping:
    def test_the_list_names_the_keys_and_holds_none(
        self, tmp_path: Path, store: KeyringStore, keyring: MemoryKeyring
    ) -> None:
        store.keep("OPENAI_API_KEY", KEY)
        store.keep("GEMINI_API_KEY", KEY)
        text = (tmp_path / LIST_FILE).read_text(encoding="utf-8")
        assert json.loads(text)["names"] == ["GEMINI_API_KEY", "OPENAI_API_KEY"]
        assert KEY not in text
        assert stat.S_IMODE((tmp_path / LIST_FILE).stat().st_mode) == 0o600
        assert keyring.secrets[SERVICE, "GEMINI_API_KEY"] == KEY

    def test_a_key_that_was_removed_is_gone_from_both(
        self, store: KeyringStore, keyring: MemoryKeyring
    ) -> None:
        store.keep("GEMINI_API_KEY", KEY)
        assert store.remove("GEMINI_API_KEY")
        assert (store.names(), keyring.secrets) == ((), {})
        assert not store.remove("GEMINI_API_KEY")

    def test_one_that_somebody_else_took_out_is_taken_off_the_list(
        self, store: KeyringStore, keyring: MemoryKeyring
    ) -> None:
        store.keep("GEMINI_API_KEY", KEY)
        keyring.secrets.clear()
        assert store.find("GEMINI_API_KEY") is None
        assert not store.remove("GEMINI_API_KEY")
        assert store.names() == ()

    def test_a_keyring_that_keeps_nothing_is_found_out(self, tmp_path: Path) -> None:
        class Forgetful(MemoryKeyring):
            def set_password(self, service: str, username: str, password: str, /) -> None:
                """As the library's null backend does."""

        store = KeyringStore(tmp_path, Forgetful)
        with pytest.raises(ConfigurationError, match="did not keep it; set GEMINI_API_KEY in"):
            store.keep("GEMINI_API_KEY", KEY)
        assert store.names() == ()

    @pytest.mark.parametrize("text", ["{", "[]", '{"names": 5}', "\x00", '{"names": [' + "1," * 2])
    def test_a_damaged_list_is_told_with_what_to_do(
        self, tmp_path: Path, store: KeyringStore, keyring: MemoryKeyring, text: str
    ) -> None:
        (tmp_path / LIST_FILE).write_text(text, encoding="utf-8")
        with pytest.raises(ConfigurationError, match=r"keyring\.json.*take the file away"):
            store.names()
        with pytest.raises(ConfigurationError, match="take the file away"):
            store.keep("GEMINI_API_KEY", KEY)
        assert keyring.secrets == {}

    def test_a_list_that_cannot_be_written_is_told(
        self, tmp_path: Path, keyring: MemoryKeyring
    ) -> None:
        (tmp_path / "file").touch()
        store = KeyringStore(tmp_path / "file", keyring.open)
        with pytest.raises(StorageError, match=r"keyring\.json.*can't be written"):
            store.keep("GEMINI_API_KEY", KEY)


class TestKeyringsThatFail:
    @pytest.mark.parametrize(
        ("error", "told"),
        [
            (NoKeyringError("secret-text"), "no keyring that can be used"),
            (ImportError("secret-text"), "no keyring that can be used"),
            (KeyringLocked("secret-text"), "the keyring is locked; unlock it"),
            (RuntimeError("secret-text"), r"the keyring failed \(RuntimeError\)"),
        ],
    )
    def test_each_failure_says_what_to_set_instead(
        self, tmp_path: Path, store: KeyringStore, error: Exception, told: str
    ) -> None:
        store.keep("GEMINI_API_KEY", KEY)
        with pytest.raises(ConfigurationError, match=f"{told}.*GEMINI_API_KEY in the") as caught:
            find_key(GEMINI, {}, KeyringStore(tmp_path, failing(error)))
        assert "secret-text" not in str(caught.value)
        assert caught.value.__suppress_context__

    def test_one_that_never_answers_is_left_behind(
        self, tmp_path: Path, store: KeyringStore
    ) -> None:
        store.keep("GEMINI_API_KEY", KEY)
        never = threading.Event()

        def silent() -> KeyringBackend:
            never.wait()
            raise AssertionError

        slow = KeyringStore(tmp_path, silent, timeout_seconds=0.02)
        try:
            with pytest.raises(KeyringSilent, match=r"did not answer within 0\.02 s"):
                slow.find("GEMINI_API_KEY")
        finally:
            never.set()

    def test_one_that_was_silent_is_not_asked_for_further_keys(
        self, tmp_path: Path, store: KeyringStore
    ) -> None:
        for variable in ("GEMINI_API_KEY", "OPENAI_API_KEY"):
            store.keep(variable, KEY)
        never, opened = threading.Event(), list[str]()

        def silent() -> KeyringBackend:
            opened.append("once more")
            never.wait()
            raise AssertionError

        environ = {"ANTHROPIC_API_KEY": KEY}
        slow = KeyringStore(tmp_path, silent, timeout_seconds=0.02)
        try:
            with pytest.raises(KeyringSilent):
                find_key(GEMINI, environ, slow)
            assert find_key(ModelEntry(type="openai", model="m"), environ, slow) is None
            assert find_key(ModelEntry(type="anthropic", model="m"), environ, slow) is not None
            assert len(opened) == 1
        finally:
            never.set()

    def test_what_kind_it_is_can_be_told(self, tmp_path: Path, store: KeyringStore) -> None:
        assert store.backend_name() == "tests.doubles"

        class Absent(MemoryKeyring):
            __module__ = "keyring.backends.fail"

        assert KeyringStore(tmp_path, Absent).backend_name() is None


def test_a_key_shows_nowhere() -> None:
    assert KEY not in repr(ApiKey(KEY, "GEMINI_API_KEY"))

"""`auth`: keys put into the system's keyring, listed and taken out, and never shown."""

import io
import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

import pytest

from config.settings import ROOT, SettingsError
from core.errors import CortexError, ExitCode, UserError
from modules.cli.auth import list_keys, remove_key, set_key
from modules.cli.command_line import parse_command
from modules.cli.surroundings import Surroundings
from modules.models.credentials import KeyringBackend, KeyringStore
from tests.command_line import Finished
from tests.doubles import MemoryKeyring, Terminal
from tests.modules.cli.by_hand import prepared

KEY = "the-very-secret-key-0123456789"


@dataclass
class Auth:
    """Runs `auth` in this process, with a home and a keyring of its own."""

    home: Path
    capsys: pytest.CaptureFixture[str]
    keyring: MemoryKeyring = field(default_factory=MemoryKeyring)
    asked: list[str] = field(default_factory=list[str])

    def run(
        self,
        *words: str,
        stdin: TextIO | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> Finished:
        given = environ or {}
        around = prepared(self.home, given, "auth", *words)
        complaints = around.complaints
        try:
            code = self._done(around, stdin)
        except (SettingsError, UserError) as error:
            code = complaints.fail(str(error), ExitCode.BAD_USAGE)
        except CortexError as error:
            code = complaints.fail(str(error), ExitCode.WORLD_FAILED)
        told = self.capsys.readouterr()
        assert KEY not in told.out + told.err
        return Finished(int(code), told.out, told.err)

    def _done(self, around: Surroundings, stdin: TextIO | None) -> ExitCode:
        match around.options.action:
            case "set":
                return set_key(around, stdin, self.typed, self.keyring.open)
            case "remove":
                return remove_key(around, self.keyring.open)
            case _:
                return list_keys(around)

    def typed(self, prompt: str) -> str:
        """A key typed at the terminal, where it is asked for."""
        self.asked.append(prompt)
        return KEY

    @property
    def secrets(self) -> dict[str, str]:
        """What the keyring holds, by variable."""
        return {variable: key for (_, variable), key in self.keyring.secrets.items()}

    def set(self, name: str, key: str = KEY, *words: str) -> Finished:
        return self.run("set", name, *words, stdin=io.StringIO(key))

    def listed(self, environ: Mapping[str, str] | None = None) -> dict[str, dict[str, object]]:
        done = self.run("list", "--json", environ=environ)
        return {row["variable"]: row for row in json.loads(done.out)}


@pytest.fixture
def auth(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Auth:
    return Auth(tmp_path, capsys)


class TestSetting:
    def test_a_key_that_was_set_is_listed_and_can_be_removed(self, auth: Auth) -> None:
        done = auth.set("gemini", f"  {KEY}\n")
        assert (done.code, done.out) == (0, "GEMINI_API_KEY: kept in the keyring\n")
        assert auth.secrets == {"GEMINI_API_KEY": KEY}
        assert auth.listed()["GEMINI_API_KEY"]["keyring"] is True
        done = auth.run("remove", "gemini")
        assert (done.code, done.out) == (0, "GEMINI_API_KEY: removed from the keyring\n")
        assert (auth.secrets, auth.listed()["GEMINI_API_KEY"]["keyring"]) == ({}, False)

    def test_that_there_is_no_keyring_is_said_before_a_key_is_asked_for(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        from keyring.backends.fail import Keyring as NoKeyring

        class Nowhere(MemoryKeyring):
            def open(self) -> KeyringBackend:
                return NoKeyring()

        auth = Auth(tmp_path, capsys, Nowhere())
        done = auth.run("set", "gemini", stdin=Terminal())
        assert (done.code, done.out, auth.asked) == (2, "", [])
        assert "this system has no keyring" in done.err
        assert "set GEMINI_API_KEY in the environment instead" in done.err

    def test_a_name_may_be_a_models_a_services_or_a_variables(self, auth: Auth) -> None:
        for name in ("claude", "anthropic", "ANTHROPIC_API_KEY"):
            assert auth.set(name).code == 0
            assert [*auth.secrets] == ["ANTHROPIC_API_KEY"]

    def test_an_entry_with_a_variable_of_its_own_has_a_key_of_its_own(self, auth: Auth) -> None:
        file = auth.home / "config" / "models.json"
        file.parent.mkdir()
        entry = {"type": "openai", "base_url": "https://x.example/v1", "api_key_env": "GROQ_KEY"}
        file.write_text(json.dumps({"models": {"groq": entry}}), encoding="utf-8")
        assert auth.set("groq").out == "GROQ_KEY: kept in the keyring\n"
        assert auth.listed()["GROQ_KEY"]["models"] == ["groq"]

    def test_at_a_terminal_it_is_asked_for_and_not_shown(self, auth: Auth) -> None:
        assert auth.run("set", "gpt", stdin=Terminal()).code == 0
        assert auth.asked == ["key for OPENAI_API_KEY (it is not shown): "]
        assert auth.secrets == {"OPENAI_API_KEY": KEY}

    @pytest.mark.parametrize(
        ("key", "told"),
        [
            ("", "no key for GEMINI_API_KEY was given"),
            (" \n", "no key for GEMINI_API_KEY was given"),
            ("short", "has 5 characters, and so is no key"),
            (f"{KEY} {KEY}", "can't be a key: it holds characters other than"),
            (f"{KEY}\n{KEY}", "can't be a key: it holds characters other than"),
            (KEY * 1000, "can't be a key: it is too long"),
            (f'"{KEY}"', "holds quotes, or the name of a variable"),
            (f"GEMINI_API_KEY={KEY}", "holds quotes, or the name of a variable"),
        ],
    )
    def test_what_is_no_key_is_refused_and_nothing_changes(
        self, auth: Auth, key: str, told: str
    ) -> None:
        done = auth.set("gemini", key)
        assert (done.code, done.out) == (2, "")
        assert told in done.err
        assert auth.secrets == {}

    def test_stdin_that_is_no_text_is_refused(self, auth: Auth) -> None:
        stdin = io.TextIOWrapper(io.BytesIO(b"\xff\xfe" * 10), encoding="utf-8")
        done = auth.run("set", "gemini", stdin=stdin)
        assert (done.code, auth.secrets) == (2, {})
        assert "is no text" in done.err

    def test_the_environment_that_counts_first_is_pointed_out(self, auth: Auth) -> None:
        environ = {"GEMINI_API_KEY": "another-key"}
        stdin = io.StringIO(KEY)
        done = auth.run("set", "gemini", stdin=stdin, environ=environ)
        assert "GEMINI_API_KEY is set in the environment too" in done.err
        stdin = io.StringIO(KEY)
        assert auth.run("set", "gemini", "--quiet", stdin=stdin, environ=environ).err == ""

    def test_json_says_where_the_key_is(self, auth: Auth) -> None:
        done = auth.set("gemini", KEY, "--json")
        assert json.loads(done.out) == {"variable": "GEMINI_API_KEY", "keyring": True}
        done = auth.run("remove", "gemini", "--json")
        assert json.loads(done.out) == {"variable": "GEMINI_API_KEY", "keyring": False}


class TestNames:
    @pytest.mark.parametrize("action", ["set", "remove"])
    def test_one_that_is_unknown_is_answered_with_those_that_are(
        self, auth: Auth, action: str
    ) -> None:
        done = auth.run(action, "nobody", stdin=io.StringIO(KEY))
        assert (done.code, auth.secrets) == (2, {})
        assert "'nobody'" in done.err
        assert "gemini, claude, gpt, GEMINI_API_KEY" in done.err

    def test_a_key_in_its_place_is_not_repeated(self, auth: Auth) -> None:
        done = auth.run("set", KEY, stdin=io.StringIO(KEY))
        assert done.code == 2
        assert "a key is no name" in done.err

    @pytest.mark.parametrize("name", ["ollama", "local", "offline"])
    def test_one_without_a_key_is_told(self, auth: Auth, name: str) -> None:
        done = auth.set(name)
        assert (done.code, auth.secrets) == (2, {})
        assert f"{name} needs no key" in done.err


class TestListing:
    def test_people_see_where_each_key_is(self, auth: Auth) -> None:
        auth.set("claude")
        auth.set("gemini")
        done = auth.run("list", environ={"GEMINI_API_KEY": KEY, "GOOGLE_API_KEY": KEY})
        assert done.out.splitlines() == [
            "GEMINI_API_KEY     in the environment, and in the keyring, which is not asked  "
            "(gemini)",
            "ANTHROPIC_API_KEY  in the keyring  (claude)",
            "OPENAI_API_KEY     not set  (gpt)",
            "GOOGLE_API_KEY     in the environment  (gemini, if asked for)",
        ]

    def test_a_key_that_no_model_uses_any_more_is_listed_and_can_be_removed(
        self, auth: Auth
    ) -> None:
        KeyringStore(auth.home, auth.keyring.open).keep("OLD_KEY", KEY)
        assert auth.listed()["OLD_KEY"]["models"] == []
        assert auth.run("remove", "OLD_KEY").code == 0

    def test_the_keyring_is_not_opened(self, auth: Auth) -> None:
        auth.set("gemini")

        class Closed(MemoryKeyring):
            def open(self) -> KeyringBackend:
                raise AssertionError

        auth.keyring = Closed()
        assert auth.listed()["GEMINI_API_KEY"]["keyring"] is True


class TestRemoving:
    def test_what_is_not_there_is_told_with_where_it_is(self, auth: Auth) -> None:
        done = auth.run("remove", "gemini", environ={"GEMINI_API_KEY": KEY})
        assert done.code == 2
        assert "no key for GEMINI_API_KEY is kept in the keyring; it stands in the env" in done.err

    def test_what_somebody_else_took_out_is_told(self, auth: Auth) -> None:
        auth.set("gemini")
        auth.keyring.secrets.clear()
        assert "was gone from the keyring already" in auth.run("remove", "gemini").out
        assert auth.run("remove", "gemini").code == 2


def test_a_key_as_an_argument_is_refused_and_not_repeated(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        parse_command(["auth", "set", "gemini", KEY])
    err = capsys.readouterr().err
    assert "the key is asked for, or read from stdin" in err
    assert KEY not in err


def test_the_real_library_keeps_and_gives_keys(tmp_path: Path) -> None:
    """In a process of its own: the library opens one keyring for all its life."""
    code = (
        "import os, sys; from pathlib import Path\n"
        "from config.settings import ROOT, Places\n"
        "from modules.cli.command_line import parse_command, run_command\n"
        "from modules.models.choosing.choice import choose_models\n"
        "from modules.models.credentials import KeyringBackend, KeyringStore\n"
        "from modules.models.choosing.names import built_in_models\n"
        "from modules.terminal.streams import Complaints\n"
        "home = Path(sys.argv[1])\n"
        "def auth(*words):\n"
        "    found, complaints = parse_command(['auth', *words]), Complaints({})\n"
        "    return run_command(found, Places(ROOT, home), complaints, os.environ)\n"
        "auth('set', 'gpt')\n"
        "choice = choose_models('gpt', 'auto', built_in_models(), os.environ, home)\n"
        "print(choice.reason, len(choice.secrets[0]), KeyringStore(home).backend_name())\n"
        "auth('remove', 'gpt')\n"
        "os.environ['KEYRING_IS_LOCKED'] = '1'\n"
        "try: KeyringStore(home).keep('OPENAI_API_KEY', 'another-key')\n"
        "except Exception as error: print(error)\n"
    )
    environ = {
        "PYTHON_KEYRING_BACKEND": "tests.fixtures.keyring_in_file.Keyring",
        "KEYRING_IN_FILE": str(tmp_path / "secrets.json"),
    }
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        cwd=ROOT,
        env=environ,
        input=KEY,
        timeout=30,
        check=False,
        capture_output=True,
        text=True,
    )
    assert KEY not in done.stdout + done.stderr
    kept, chosen, removed, refused = done.stdout.splitlines()
    assert kept == "OPENAI_API_KEY: kept in the keyring"
    assert chosen.startswith(f"openai:gpt-6.1-terra: chosen by --model {len(KEY)} ")
    assert removed == "OPENAI_API_KEY: removed from the keyring"
    assert refused.startswith("the keyring is locked; unlock it, or set OPENAI_API_KEY in")
    assert json.loads((tmp_path / "secrets.json").read_text()) == {"cortex-r": {}}

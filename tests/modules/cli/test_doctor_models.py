"""What `doctor` says about models: which would answer, which keys are there, and what runs here."""

import threading
from collections.abc import Mapping
from pathlib import Path

import pytest

from config.models_file import ModelsFile
from config.schema import AgentProfile, AgentSection, LlmSection
from core.values import Json
from modules.cli.doctor_configuration import KEYRING_SECONDS, model_checks
from modules.cli.doctor_findings import Check
from modules.models.choosing.names import built_in_models
from modules.models.credentials import (
    LIST_FILE,
    KeyringBackend,
    KeyringStore,
    OpenBackend,
)
from tests.doubles import MemoryKeyring
from tests.modules.models.choosing.listeners import json_server, listing
from tests.modules.models.choosing.worlds import NOBODY

KEY = "very-secret-key-0123"


class OneKey(MemoryKeyring):
    """A keyring that has one key for everybody."""

    name = "a keyring"

    def get_password(self, service: str, username: str, /) -> str | None:
        return KEY


def look(
    home: Path,
    environ: Mapping[str, str] = NOBODY,
    *,
    choice: str = "auto",
    open_backend: OpenBackend = OneKey,
    keyring_seconds: float = KEYRING_SECONDS,
    models: ModelsFile | None = None,
) -> dict[str, Check]:
    profile = AgentProfile(
        agent=AgentSection(name="Test", id="t"), llm=LlmSection(text_generation=choice)
    )
    checks = [
        *model_checks(
            profile, models or built_in_models(), environ, home, open_backend, keyring_seconds
        )
    ]
    assert {check.area for check in checks} == {"model"}
    assert KEY not in repr(checks)
    return {check.name: check for check in checks}


def test_with_nothing_the_offline_planner_answers_and_a_tip_says_how_to_get_more(
    tmp_path: Path,
) -> None:
    found = look(tmp_path)
    assert found["answers"].state == "ok"
    assert found["answers"].detail.startswith("offline: no key")
    assert "agent.py auth set gemini" in found["answers"].advice
    told = [f"{name}_API_KEY is not set" for name in ("GEMINI", "ANTHROPIC", "OPENAI", "GOOGLE")]
    assert found["keys"].detail == ", ".join(told)
    assert found["local"] == Check(
        "model", "local", "note", f"no GGUF file in {tmp_path / 'models'}"
    )
    assert found["keyring"] == Check("model", "keyring", "ok", "a keyring")


def test_what_was_named_and_is_not_there_is_missing(tmp_path: Path) -> None:
    found = look(tmp_path, {**NOBODY, "CORTEX_LOCAL_MODEL": "gone"})
    for name in ("Ollama", "llama.cpp", "local"):
        assert found[name].state == "missing", found[name]
    assert "no server at http://127.0.0.1:1 (LLAMA_SERVER_URL)" in found["llama.cpp"].detail
    found = look(tmp_path, {**NOBODY, "LLAMA_SERVER_URL": "box"})
    assert "LLAMA_SERVER_URL is no address" in found["llama.cpp"].detail
    assert "LLAMA_SERVER_URL is no address" in found["note"].detail


def test_keys_are_told_to_be_set_and_not_shown(tmp_path: Path) -> None:
    KeyringStore(tmp_path, OneKey).keep("ANTHROPIC_API_KEY", KEY)
    found = look(tmp_path, {**NOBODY, "GEMINI_API_KEY": KEY})
    assert found["answers"].detail == "gemini:gemini-3.8-flash: GEMINI_API_KEY is set"
    assert found["answers"].advice == ""
    told = "GEMINI_API_KEY is set, ANTHROPIC_API_KEY is in the keyring, OPENAI_API_KEY is not set"
    assert found["keys"].detail.startswith(told)


def test_a_model_that_has_no_key_is_broken(tmp_path: Path) -> None:
    found = look(tmp_path, choice="gemini")
    assert found["answers"].state == "broken"
    assert "Gemini needs a key" in found["answers"].detail


def test_what_is_left_out_of_a_chain_is_noted(tmp_path: Path) -> None:
    found = look(tmp_path, choice="gemini,offline")
    assert found["answers"].state == "ok"
    assert found["note"].detail.startswith("gemini is left out")


def test_a_keyring_that_is_not_there_or_fails_is_told(tmp_path: Path) -> None:
    class NoKeyring(MemoryKeyring):
        __module__ = "keyring.backends.fail"

    found = look(tmp_path, open_backend=NoKeyring)
    assert (found["keyring"].state, found["keyring"].advice) == (
        "note",
        "keys go into the environment",
    )

    def failing() -> KeyringBackend:
        raise RuntimeError

    found = look(tmp_path, open_backend=failing)
    assert found["keyring"].state == "missing"
    assert "the keyring failed" in found["keyring"].detail


@pytest.mark.parametrize(
    ("choice", "name", "state"), [("auto", "note", "note"), ("gemini", "answers", "missing")]
)
def test_a_keyring_that_is_silent_is_told_after_a_short_while(
    tmp_path: Path, choice: str, name: str, state: str
) -> None:
    KeyringStore(tmp_path, OneKey).keep("GEMINI_API_KEY", KEY)
    never = threading.Event()

    def silent() -> KeyringBackend:
        never.wait()
        raise AssertionError

    try:
        found = look(tmp_path, choice=choice, open_backend=silent, keyring_seconds=0.02)
    finally:
        never.set()
    assert found[name].state == state
    for told in (found[name], found["keyring"]):
        assert "the keyring did not answer within 0.02 s" in told.detail


def test_a_damaged_list_of_keys_is_broken(tmp_path: Path) -> None:
    (tmp_path / LIST_FILE).write_text("{")
    found = look(tmp_path)
    assert found["keys"].state == "broken"
    assert "take the file away" in found["keys"].detail


def test_what_runs_here_is_named(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    for number in range(7):
        (tmp_path / "models" / f"m{number}.gguf").touch()
    tags: Json = {"models": [{"name": "qwen3:8b"}]}
    pages: dict[str, Json] = {"/api/tags": tags, "/v1/models": listing("some-model")}
    with json_server(pages) as place:
        found = look(tmp_path, {"OLLAMA_HOST": place, "LLAMA_SERVER_URL": f"http://{place}"})
    assert found["Ollama"] == Check("model", "Ollama", "ok", "runs, with qwen3:8b")
    assert found["llama.cpp"].detail == f"some-model, at http://{place}/v1"
    assert found["local"].detail.split(":")[0].endswith("m4.gguf and 2 more")

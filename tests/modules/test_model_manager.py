"""Which model is chosen and why, and the bounds within which it is asked."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from config.schema import ModelEntry, ModelsFile
from core.errors import ConfigurationError, ModelUnavailable, UsageError
from core.ports import CountingModel, ModelReply, ModelRequest
from core.turn import Usage
from modules.model_manager import (
    MAX_REPLY_CHARS,
    ModelManager,
    built_in_models,
    choose_model,
)
from modules.models.scripted import ScriptedModel
from modules.redaction import Redactor

ROOT = Path(__file__).parents[2]
MODELS = ModelsFile(
    models={
        "gemini": ModelEntry(type="gemini", model="g-1", api_key_env="GEMINI_API_KEY"),
        "work": ModelEntry(type="gemini", model="g-2", api_key_env="WORK_GEMINI_KEY"),
        "plain": ModelEntry(type="offline"),
    }
)
DECISION = ModelRequest("decision", "p")


class SlowModel:
    """Never answers."""

    name = "slow"

    async def generate(self, request: ModelRequest) -> ModelReply:
        await asyncio.Event().wait()
        raise AssertionError(request)

    async def aclose(self) -> None:
        """Nothing to release."""


@pytest.fixture
def script(tmp_path: Path) -> str:
    file = tmp_path / "script.json"
    file.write_text('["from the script"]')
    return f"scripted:{file}"


def test_the_flag_wins_over_profile_and_environment(script: str) -> None:
    manager = choose_model(script, "offline", MODELS, {"GEMINI_API_KEY": "k" * 20})
    assert manager.name == script
    assert manager.reason == f"{script}: chosen by --model"


def test_the_profile_wins_over_the_environment(script: str) -> None:
    manager = choose_model(None, script, MODELS, {"GEMINI_API_KEY": "k" * 20})
    assert manager.name == script
    assert "llm.text_generation" in manager.reason


def test_a_key_in_the_environment_chooses_gemini() -> None:
    manager = choose_model(None, "auto", MODELS, {"GEMINI_API_KEY": "k" * 20})
    assert manager.name == "gemini:g-1"
    assert manager.reason == "gemini:g-1: GEMINI_API_KEY is set"
    other = choose_model(None, "auto", MODELS, {"WORK_GEMINI_KEY": "k" * 20})
    assert other.reason == "gemini:g-2: WORK_GEMINI_KEY is set"
    without_entry = choose_model(None, "auto", ModelsFile(models={}), {"GEMINI_API_KEY": "k" * 20})
    assert without_entry.name.startswith("gemini:")


@pytest.mark.parametrize("environ", [{}, {"GEMINI_API_KEY": ""}, {"GEMINI_API_KEY": "  "}])
def test_without_a_key_the_offline_planner_is_chosen(environ: dict[str, str]) -> None:
    manager = choose_model(None, "auto", MODELS, environ)
    assert manager.name == "offline"
    assert manager.reason == "offline: GEMINI_API_KEY is not set"
    assert "\n" not in manager.reason


def test_automatic_can_be_asked_for_by_the_flag(script: str) -> None:
    assert choose_model("auto", script, MODELS, {}).name == "offline"


def test_googles_general_key_is_used_for_gemini_but_never_chooses_it() -> None:
    environ = {"GOOGLE_API_KEY": "k" * 20}
    automatic = choose_model(None, "auto", MODELS, environ)
    assert automatic.name == "offline"
    assert "--model gemini" in automatic.reason
    assert choose_model("gemini", "auto", MODELS, environ).name == "gemini:g-1"
    with pytest.raises(ConfigurationError, match="WORK_GEMINI_KEY"):
        choose_model("work", "auto", MODELS, environ)


@pytest.mark.parametrize(
    ("flag", "name"),
    [
        ("gemini", "gemini:g-1"),
        ("gemini:g-9", "gemini:g-9"),
        (" plain ", "offline"),
        ("offline", "offline"),
    ],
)
def test_names_and_forms_are_understood(flag: str, name: str) -> None:
    environ = {"GEMINI_API_KEY": "k" * 20}
    assert choose_model(flag, "auto", MODELS, environ).name == name


def test_the_gemini_form_needs_no_entry_in_the_file() -> None:
    environ = {"GEMINI_API_KEY": "k" * 20}
    for models in (
        ModelsFile(models={}),
        ModelsFile(models={"gemini": ModelEntry(type="gemini")}),
    ):
        assert choose_model("gemini", "auto", models, environ).name == "gemini:gemini-2.5-flash"


@pytest.mark.parametrize("flag", ["gpt", "", "gemini:", "scripted:", "scripted", "offline:x"])
def test_an_unknown_model_is_answered_with_all_names_and_forms(flag: str) -> None:
    with pytest.raises(UsageError, match=r"--model.*gemini, plain, work.*scripted:FILE"):
        choose_model(flag, "auto", MODELS, {})


def test_an_unknown_model_of_the_profile_is_a_matter_of_configuration() -> None:
    with pytest.raises(ConfigurationError, match=r"llm\.text_generation.*'gpt'"):
        choose_model(None, "gpt", MODELS, {})


def test_a_missing_key_names_the_variable_to_set() -> None:
    with pytest.raises(ConfigurationError, match="set GEMINI_API_KEY"):
        choose_model("gemini", "auto", MODELS, {})


@pytest.mark.parametrize("key", ["schlüssel-0123456789", "two words-0123456789", "a\nb-0123456789"])
def test_a_key_that_cannot_be_one_is_refused_without_showing_it(key: str) -> None:
    with pytest.raises(ConfigurationError, match="GEMINI_API_KEY can't be a key") as caught:
        choose_model(None, "auto", MODELS, {"GEMINI_API_KEY": key})
    assert "0123456789" not in str(caught.value)


async def test_text_is_generated_as_the_mission_says() -> None:
    assert await ModelManager(ScriptedModel(["hello"])).generate_text("Say hello") == "hello"


def test_without_arguments_the_environment_chooses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GEMINI_API_KEY", raising=False)
    assert ModelManager().name == "offline"
    monkeypatch.setenv("GEMINI_API_KEY", "k" * 20)
    assert ModelManager().name == "gemini:gemini-2.5-flash"


async def test_use_adds_up() -> None:
    manager: CountingModel = ModelManager(
        ScriptedModel(["a", ModelReply("b", Usage(1, 10, 5)), ModelReply("c", Usage(2, 1, 1))])
    )
    for _ in range(3):
        await manager.generate(DECISION)
    assert manager.usage == Usage(4, 11, 6)


async def test_a_model_that_never_answers_is_given_up() -> None:
    with pytest.raises(ModelUnavailable, match=r"slow did not answer within 0\.01 s"):
        await ModelManager(SlowModel(), timeout_seconds=0.01).generate(DECISION)


async def test_a_reply_without_end_is_refused_and_still_counted() -> None:
    manager = ModelManager(ScriptedModel(["x" * (MAX_REPLY_CHARS + 1), "x" * MAX_REPLY_CHARS]))
    with pytest.raises(ModelUnavailable, match="1,000,001 characters"):
        await manager.generate(DECISION)
    await manager.generate(DECISION)
    assert manager.usage.model_calls == 2


async def test_secrets_stay_out_of_the_messages_of_a_model() -> None:
    manager = ModelManager(
        ScriptedModel([ModelUnavailable("refused key-0123456789")]),
        redactor=Redactor({"SOME_KEY": "key-0123456789"}),
    )
    with pytest.raises(ModelUnavailable, match=r"refused \[redacted SOME_KEY\]") as caught:
        await manager.generate(DECISION)
    assert caught.value.__suppress_context__


async def test_what_a_script_has_left_is_known_after_the_run(script: str) -> None:
    manager = choose_model(script, "auto", MODELS, {})
    assert manager.leftover == 1
    await manager.generate(DECISION)
    assert manager.leftover == 0
    assert choose_model("offline", "auto", MODELS, {}).leftover == 0
    await manager.aclose()
    await manager.aclose()


def test_the_built_in_models_are_those_of_the_shipped_file() -> None:
    shipped = (ROOT / "config" / "models.json").read_text(encoding="utf-8")
    assert built_in_models() == ModelsFile.model_validate_json(shipped)


def test_choosing_gemini_does_not_import_its_sdk() -> None:
    code = (
        "import sys; from modules.model_manager import ModelManager; "
        "assert ModelManager().name.startswith('gemini:'); "
        "sys.exit('google.genai' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={"GEMINI_API_KEY": "k" * 20},
        timeout=30,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr

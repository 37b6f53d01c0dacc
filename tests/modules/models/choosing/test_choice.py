"""Which model is chosen: by name, by chain, and automatically."""

import subprocess
import sys
from pathlib import Path

import pytest

from config.models_file import ModelEntry, ModelsFile, Price
from core.errors import ConfigurationError, UsageError
from core.values import Json
from modules.models.choosing.choice import choose_models
from modules.models.credentials import KeyringBackend, KeyringStore
from modules.models.scripted import ScriptedModel
from modules.models.serving.budget import FREE
from tests.doubles import MemoryKeyring
from tests.modules.models.choosing.listeners import json_server, listing
from tests.modules.models.choosing.worlds import ALL_KEYS, KEY, MODELS, NOBODY, choose, names

ROOT = Path(__file__).parents[4]


@pytest.fixture
def script(tmp_path: Path) -> str:
    file = tmp_path / "script.json"
    file.write_text('["from the script"]')
    return f"scripted:{file}"


class TestASingleName:
    def test_the_flag_wins_over_profile_and_environment(self, script: str) -> None:
        choice = choose(script, ALL_KEYS, profile="offline")
        assert names(choice) == [script]
        assert choice.reason == f"{script}: chosen by --model"

    def test_the_profile_wins_over_the_environment(self, script: str) -> None:
        choice = choose(None, ALL_KEYS, profile=script)
        assert names(choice) == [script]
        assert "llm.text_generation" in choice.reason

    @pytest.mark.parametrize(
        ("flag", "name"),
        [
            ("gemini", "gemini:g-1"),
            ("gemini:g-9", "gemini:g-9"),
            (" plain ", "offline"),
            ("offline", "offline"),
            ("anthropic", "anthropic:claude-sonnet-5-5"),
            ("anthropic:claude-x", "anthropic:claude-x"),
            ("openai:gpt-x", "openai:gpt-x"),
            ("ollama:qwen3:8b", "ollama:qwen3:8b"),
            ("gemini-9-pro", "gemini:gemini-9-pro"),
            ("claude-opus-9", "anthropic:claude-opus-9"),
            ("gpt-9", "openai:gpt-9"),
            ("gpt-oss:20b", "ollama:gpt-oss:20b"),
            ("qwen3:8b", "ollama:qwen3:8b"),
            ("a,b", "gemini:comma"),
        ],
    )
    def test_entries_backends_and_models_own_names_are_understood(
        self, flag: str, name: str
    ) -> None:
        assert names(choose(flag, ALL_KEYS)) == [name]

    def test_backends_need_no_entry_in_the_file(self) -> None:
        for models in (
            ModelsFile(models={}),
            ModelsFile(models={"gemini": ModelEntry(type="gemini")}),
        ):
            choice = choose("gemini", ALL_KEYS, models=models)
            assert names(choice) == ["gemini:gemini-3.8-flash"]

    def test_a_backends_form_keeps_key_and_address_of_its_entry_but_not_its_price(self) -> None:
        entry = ModelEntry(
            type="openai",
            model="house-model",
            api_key_env="HOUSE_KEY",
            base_url="http://10.0.0.5/v1",
            timeout_seconds=7.0,
            price=Price(input=1.0, output=2.0),
        )
        models = ModelsFile(models={"openai": entry})
        choice = choose("openai:other", {"HOUSE_KEY": "house-key-01"}, models=models)
        assert choice.secrets == ("house-key-01",)
        assert (choice.models[0].price, choice.models[0].timeout_seconds) == (None, 7.0)

    def test_a_name_of_services_is_not_that_of_an_entry_at_another_address(self) -> None:
        here = ModelEntry(type="openai", model="m", base_url="http://127.0.0.1:1/v1")
        models = ModelsFile(models={"vllm": here})
        assert names(choose("vllm", models=models)) == ["openai:m"]
        assert names(choose("openai", ALL_KEYS, models=models)) == ["openai:gpt-6.1-terra"]

    @pytest.mark.parametrize(
        "flag", ["nothing", "", "gemini:", "scripted:", "scripted", "offline:x", "nobody:x", "a,"]
    )
    def test_an_unknown_one_is_answered_with_all_names_and_forms(self, flag: str) -> None:
        with pytest.raises(UsageError, match=r"--model.*gemini, plain, work.*scripted:FILE"):
            choose(flag)

    def test_the_nearest_name_is_offered(self) -> None:
        with pytest.raises(UsageError, match=r"no model 'gemni'; did you mean gemini\?"):
            choose("gemni")
        with pytest.raises(UsageError, match="did you mean ollama"):
            choose("olama")

    def test_an_unknown_one_of_the_profile_is_a_matter_of_configuration(self) -> None:
        with pytest.raises(ConfigurationError, match=r"llm\.text_generation.*'gtp'"):
            choose(None, profile="gtp")

    def test_a_missing_key_names_the_variable_to_set(self) -> None:
        with pytest.raises(ConfigurationError, match="Claude needs a key: set ANTHROPIC_API_KEY"):
            choose("anthropic")
        with pytest.raises(ConfigurationError, match="set WORK_GEMINI_KEY"):
            choose("work", {"GOOGLE_API_KEY": KEY})

    def test_googles_general_key_is_used_for_gemini_if_it_is_asked_for(self) -> None:
        assert names(choose("gemini", {"GOOGLE_API_KEY": KEY})) == ["gemini:g-1"]


class TestAChain:
    def test_each_stands_in_for_the_one_before_and_counts_once(self, script: str) -> None:
        choice = choose(f"gemini, {script},gemini:g-1,gemini,offline,plain", ALL_KEYS)
        assert names(choice) == ["gemini:g-1", script, "offline"]
        assert choice.reason == f"gemini:g-1, else {script}, else offline: chosen by --model"

    def test_what_cannot_be_used_is_left_out_with_a_note(self) -> None:
        choice = choose("gemini,scripted:/no/such/file,offline")
        assert names(choice) == ["offline"]
        first, second = choice.notes
        assert first.startswith("gemini is left out: Gemini needs a key")
        assert second.startswith("scripted:/no/such/file is left out: script /no/such/file can't")

    def test_if_none_can_be_used_the_firsts_error_is_told(self) -> None:
        with pytest.raises(ConfigurationError, match="Gemini needs a key"):
            choose("gemini,openai")

    def test_a_name_that_means_nothing_is_a_mistake_wherever_it_stands(self) -> None:
        with pytest.raises(UsageError, match="no model 'ofline'; did you mean offline"):
            choose("offline,ofline")

    def test_the_automatic_choice_may_be_a_part(self) -> None:
        choice = choose("openai,auto", {"GEMINI_API_KEY": KEY})
        assert (names(choice), choice.secrets) == (["gemini:g-1"], (KEY,))
        for flag in ("gemini,auto,offline", "auto,gemini,offline"):
            assert names(choose(flag, ALL_KEYS)) == ["gemini:g-1", "offline"]

    def test_a_file_with_a_comma_in_its_name_is_one_file(self, tmp_path: Path) -> None:
        (tmp_path / "a,b.json").write_text("[]")
        flag = f"scripted:{tmp_path}/a,b.json"
        assert names(choose(flag)) == [flag]

    def test_it_is_bounded(self) -> None:
        with pytest.raises(UsageError, match="20 models"):
            choose(",".join(f"ollama:m{i}" for i in range(21)))


class TestTheAutomaticChoice:
    def test_keys_choose_in_a_fixed_order(self) -> None:
        environ = dict(ALL_KEYS)
        seen: list[str] = []
        for variable in ("GEMINI_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
            choice = choose(None, environ)
            assert choice.reason == f"{names(choice)[0]}: {variable} is set"
            assert choice.secrets == (KEY,)
            seen += names(choice)
            del environ[variable]
        assert seen == ["gemini:g-1", "anthropic:claude-sonnet-5-5", "openai:gpt-6.1-terra"]
        assert names(choose(None, environ)) == ["offline"]

    def test_a_key_of_an_entry_chooses_it(self) -> None:
        assert choose(None, {"WORK_GEMINI_KEY": KEY}).reason == "gemini:g-2: WORK_GEMINI_KEY is set"
        without_entries = choose(None, {"OPENAI_API_KEY": KEY}, models=ModelsFile(models={}))
        assert names(without_entries) == ["openai:gpt-6.1-terra"]

    def test_a_key_in_the_keyring_chooses_too(self, tmp_path: Path) -> None:
        keyring = KeyringStore(tmp_path, MemoryKeyring().open)
        keyring.keep("OPENAI_API_KEY", "kept-key-0123")
        choice = choose_models(None, "auto", MODELS, NOBODY, tmp_path, keyring)
        assert choice.reason == ("openai:gpt-6.1-terra: its key is in the keyring (OPENAI_API_KEY)")
        assert choice.secrets == ("kept-key-0123",)
        assert "kept-key-0123" not in repr(choice)

        def locked() -> KeyringBackend:
            raise RuntimeError

        choice = choose_models(
            None, "auto", MODELS, NOBODY, tmp_path, KeyringStore(tmp_path, locked)
        )
        assert names(choice) == ["offline"]
        assert "the keyring failed" in choice.notes[0]
        with pytest.raises(ConfigurationError, match="the keyring failed"):
            choose_models(
                "openai", "auto", MODELS, NOBODY, tmp_path, KeyringStore(tmp_path, locked)
            )

    @pytest.mark.parametrize("environ", [{}, {"GEMINI_API_KEY": ""}, {"GEMINI_API_KEY": "  "}])
    def test_with_nothing_at_all_the_offline_planner_is_chosen(
        self, environ: dict[str, str]
    ) -> None:
        choice = choose(None, environ)
        assert choice.reason == ("offline: no key, no Ollama, no llama.cpp server, no local model")
        assert choice.notes == ()

    def test_it_can_be_asked_for_by_the_flag(self, script: str) -> None:
        assert names(choose("auto", profile=script)) == ["offline"]

    def test_googles_general_key_does_not_choose(self) -> None:
        choice = choose(None, {"GOOGLE_API_KEY": KEY})
        assert choice.reason.startswith("offline: GOOGLE_API_KEY alone does not choose Gemini")
        assert "--model gemini" in choice.reason

    def test_a_key_that_cannot_be_one_is_refused_without_showing_it(self) -> None:
        with pytest.raises(ConfigurationError, match="GEMINI_API_KEY can't be a key") as caught:
            choose(None, {"GEMINI_API_KEY": "schlüssel-0123456789"})
        assert "0123456789" not in str(caught.value)

    def test_ollama_comes_before_a_llama_cpp_server_and_that_before_nothing(self) -> None:
        tags: Json = {"models": [{"name": "qwen3:8b"}, {"name": "nomic-embed-text:latest"}]}
        with (
            json_server({"/api/tags": tags}) as ollama,
            json_server({"/v1/models": listing("some/model.gguf")}) as llama,
        ):
            both = {"OLLAMA_HOST": ollama, "LLAMA_SERVER_URL": f"http://{llama}"}
            choice = choose(None, both)
            assert choice.reason == "ollama:qwen3:8b: no key, and Ollama is running"
            assert choice.models[0].price == FREE
            choice = choose(None, {"LLAMA_SERVER_URL": f"http://{llama}/v1/"})
            assert choice.reason == (
                f"openai:some/model.gguf: no key, and a llama.cpp server runs at http://{llama}"
            )
            assert choice.models[0].price == FREE
            assert names(choose("local", both)) == ["openai:some/model.gguf"]
            assert names(choose("ollama", both)) == ["ollama:qwen3:8b"]
            assert names(choose(None, {**both, "OPENAI_API_KEY": KEY})) == ["openai:gpt-6.1-terra"]

    def test_an_address_that_is_none_is_noted(self) -> None:
        choice = choose(None, {"LLAMA_SERVER_URL": "somewhere"})
        assert names(choice) == ["offline"]
        assert "LLAMA_SERVER_URL is no address" in choice.notes[0]


def test_a_script_is_itself(script: str) -> None:
    model = choose(script).models[0].model
    assert isinstance(model, ScriptedModel)
    assert model.leftover == 1


def test_choosing_imports_no_http_library_and_no_keyring() -> None:
    code = (
        "import sys; from modules.models.choosing.choice import choose_models; "
        "from modules.models.choosing.names import built_in_models; import os; "
        "flag = 'gemini,claude,gpt,ollama:x'; "
        "assert len(choose_models(flag, 'auto', built_in_models(), os.environ).models) == 4; "
        "found = {'openai', 'httpx2', 'keyring'} & {*sys.modules}; "
        "sys.exit(', '.join(found) or 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=ALL_KEYS,
        timeout=30,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr

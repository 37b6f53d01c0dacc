"""From a name to a backend: weights on disk, recordings, and what each model costs."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TypeAlias, cast

import pytest

from config.models_file import ModelEntry, ModelsFile, Price
from config.schema import LlmSection
from config.settings import ROOT, Places
from core.errors import ConfigurationError, ModelUnavailable, UsageError, UserError
from core.ports import ModelRequest
from modules.model_manager import choose_model
from modules.models.choosing.names import FORMS, built_in_models, completed
from modules.models.hosted.model import RemoteModel
from modules.models.serving.budget import FREE, listed_price
from modules.models.serving.watched import collect_reply
from tests.modules.models.backends import ANTHROPIC, GEMINI, OPENAI, Backend
from tests.modules.models.choosing.worlds import ALL_KEYS, KEY, MODELS, NOBODY, choose, names

Installed: TypeAlias = Callable[[bool], None]


@pytest.fixture
def can_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Installed:
    """llama-cpp-python can be found from now on, or can't; it is never imported."""
    library = tmp_path / "library"
    (library / "llama_cpp").mkdir(parents=True)
    (library / "llama_cpp" / "__init__.py").write_text("raise AssertionError")
    monkeypatch.setattr(sys, "path", [str(library), *sys.path])

    def install(is_there: bool) -> None:
        if is_there:
            monkeypatch.delitem(sys.modules, "llama_cpp", raising=False)
        else:
            monkeypatch.setitem(sys.modules, "llama_cpp", cast("ModuleType", None))

    install(True)
    return install


def gguf(home: Path, name: str) -> Path:
    """An installed file that nobody opens."""
    file = home / "models" / name
    file.parent.mkdir(exist_ok=True)
    file.touch()
    return file


class TestWeightsOnDisk:
    def test_the_only_installed_file_is_chosen(self, tmp_path: Path, can_run: Installed) -> None:
        file = gguf(tmp_path, "tiny.gguf")
        gguf(tmp_path, "mmproj-tiny.gguf")
        choice = choose(None, home=tmp_path)
        assert choice.reason == f"local:tiny: no key, and {file} is installed"
        assert (choice.models[0].price, choice.models[0].concurrent_requests) == (FREE, 1)
        assert names(choose("local", home=tmp_path)) == ["local:tiny"]
        can_run(False)
        assert choose(None, home=tmp_path).reason.endswith("no llama-cpp-python to run tiny.gguf")
        with pytest.raises(ConfigurationError, match=r"pip install 'cortex-r\[local\]'"):
            choose("local", home=tmp_path)

    @pytest.mark.usefixtures("can_run")
    def test_of_several_one_has_to_be_named(self, tmp_path: Path) -> None:
        gguf(tmp_path, "a.gguf")
        gguf(tmp_path, "b-00001-of-00002.gguf")
        gguf(tmp_path, "b-00002-of-00002.gguf")
        choice = choose(None, home=tmp_path)
        assert choice.reason.endswith("and 2 local models, of which --model local:a names one")
        with pytest.raises(ConfigurationError, match=r"several local models \(a, b-00001-of"):
            choose("local", home=tmp_path)
        named = {"CORTEX_LOCAL_MODEL": "a"}
        assert names(choose(None, named, home=tmp_path)) == ["local:a"]

    @pytest.mark.usefixtures("can_run")
    def test_a_file_is_named_by_its_path_or_its_name_in_the_folder(self, tmp_path: Path) -> None:
        file = gguf(tmp_path, "tiny.gguf")
        for flag in (f"local:{file}", "local:tiny", "local:tiny.gguf", "tiny.gguf", str(file)):
            assert names(choose(flag, home=tmp_path)) == ["local:tiny"], flag

    @pytest.mark.parametrize("named", ["gone", "/no/such.gguf", "\0", "~nobody-here/x"])
    def test_a_file_that_is_not_there_is_told_with_those_that_are(
        self, tmp_path: Path, named: str
    ) -> None:
        gguf(tmp_path, "tiny.gguf")
        with pytest.raises(ConfigurationError, match=r"no file .* which has tiny"):
            choose(f"local:{named}", home=tmp_path)

    def test_none_at_all_is_told_with_what_to_do(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigurationError, match=r"put a GGUF file into .*models"):
            choose("local", home=tmp_path)
        with pytest.raises(ConfigurationError, match="CORTEX_LOCAL_MODEL names no file: 'gone'"):
            choose("local", {"CORTEX_LOCAL_MODEL": "gone"}, home=tmp_path)


class TestRecordings:
    def test_the_automatic_choice_or_a_chain_is_recorded(self, tmp_path: Path) -> None:
        file = tmp_path / "trace.jsonl"
        choice = choose(f"record:{file}")
        assert names(choice) == ["offline"]
        assert choice.reason.endswith(f"no local model; recorded to {file}")
        choice = choose(f"record:{file}=ollama:m,offline")
        assert names(choice) == ["ollama:m", "offline"]
        assert file.parent.is_dir()

    async def test_what_was_recorded_is_replayed_for_nothing(self, tmp_path: Path) -> None:
        (tmp_path / "script.json").write_text('["from the script"]')
        script = f"scripted:{tmp_path}/script.json"
        file = tmp_path / "trace.jsonl"
        request = ModelRequest("decision", "p")
        for flag in (f"record:{file}={script}", f"replay:{file}"):
            [chosen] = choose(flag).models
            reply = await collect_reply(chosen.model, chosen.model.stream(request))
            assert reply.text == "from the script"
            assert chosen.price == FREE

    @pytest.mark.parametrize(
        ("flag", "told"),
        [
            ("record:", "record:FILE"),
            ("record:=offline", "record:FILE"),
            ("record:f=replay:g", "has to be a model"),
            ("record:f=record:g", "has to be a model"),
            ("offline,record:f", "before the whole chain"),
            ("record:f=nothing", "no model 'nothing'"),
        ],
    )
    def test_what_cannot_be_recorded_is_refused(self, flag: str, told: str) -> None:
        with pytest.raises(UserError, match=told):
            choose(flag)


class TestPrices:
    def price(self, flag: str, models: ModelsFile = MODELS) -> Price | None:
        return choose(flag, ALL_KEYS, models=models).models[0].price

    def test_an_entrys_own_price_holds_before_the_table(self) -> None:
        own = Price(input=9.0, output=9.0)
        entry = ModelEntry(type="openai", model="gpt-6-luna", price=own)
        assert self.price("mine", ModelsFile(models={"mine": entry})) == own

    def test_models_cost_what_their_services_list(self) -> None:
        assert self.price("gpt-6-luna") == Price(input=0.1, cached_input=0.01, output=0.5)
        assert self.price("anthropic") == Price(input=2.0, cached_input=0.1, output=10.0)
        assert self.price("claude-haiku-4-5-20251001") == self.price("claude-haiku-4-5")
        assert self.price("gpt-unheard-of") is None

    def test_what_runs_here_is_free_and_what_runs_elsewhere_has_no_price(self) -> None:
        def at(url: str) -> ModelsFile:
            entry = ModelEntry(
                type="openai", model="gpt-6-luna", base_url=url, api_key_env="OPENAI_API_KEY"
            )
            return ModelsFile(models={"x": entry})

        assert self.price("x", at("http://localhost:8000/v1")) == FREE
        assert self.price("x", at("https://openrouter.ai/api/v1")) is None
        assert self.price("ollama:gpt-6-luna") == self.price("offline") == FREE

    def test_a_file_without_a_table_gets_ours_and_one_with_an_empty_one_none(self) -> None:
        bare = ModelsFile(models={})
        assert completed(bare).prices == built_in_models().prices
        assert completed(bare).prices_as_of == built_in_models().prices_as_of
        empty = ModelsFile(models={}, prices={}, patterns={})
        assert completed(empty) is empty
        assert self.price("openai", empty) is None
        with pytest.raises(UsageError):
            self.price("gpt-6-luna", empty)


class TestWhatShips:
    def test_every_usual_model_of_a_service_has_a_price(self) -> None:
        for name in ("gemini", "claude", "gpt"):
            price = choose(name, ALL_KEYS, models=built_in_models()).models[0].price
            assert price is not None
            assert price.cached_input is not None
            assert price.cached_input < price.input < price.output

    def test_what_ships_prices_only_what_the_services_do_not_list(self) -> None:
        for name, price in built_in_models().prices.items():
            assert choose(name, ALL_KEYS).models[0].price == price
            assert listed_price("openai", name) is None, f"{name} can go from models.json"

    def test_the_forms_name_every_backend(self) -> None:
        for backend in ("gemini", "anthropic", "openai", "ollama", "local", "offline"):
            assert backend in FORMS


@pytest.mark.parametrize("name", ["gpt", "gemini", "claude", "ollama:qwen3"])
def test_how_long_a_reply_may_stall_comes_from_the_profile(name: str, tmp_path: Path) -> None:
    environ = {**ALL_KEYS, **NOBODY}
    llm, places = LlmSection(), Places(ROOT, tmp_path)
    manager = choose_model(name, llm, places, environ, idle_seconds=7)
    model = manager.models[0].model
    assert isinstance(model, RemoteModel)
    assert model.errors.idle_seconds == 7


@pytest.mark.parametrize(
    ("name", "variable", "backend"),
    [
        ("gpt", "OPENAI_BASE_URL", OPENAI),
        ("gemini", "GOOGLE_GEMINI_BASE_URL", GEMINI),
        ("claude", "ANTHROPIC_BASE_URL", ANTHROPIC),
    ],
)
async def test_a_service_is_asked_where_the_variable_of_its_own_sdk_says(
    name: str, variable: str, backend: Backend
) -> None:
    async with backend.service() as fake:
        environ = {**ALL_KEYS, variable: f"{fake.url}/gateway"}
        choice = choose(name, environ, models=built_in_models())
        assert choice.reason.endswith(f"chosen by --model; {variable} says where")
        (chosen,) = choice.models
        reply = await collect_reply(chosen.model, chosen.model.stream(ModelRequest("text", "x")))
        await chosen.model.aclose()
    assert reply.text == "x"
    assert fake.seen[-1].path.startswith("/gateway/")
    assert f"{backend.key_header}{KEY}".lower() in fake.heads[-1].lower()
    assert chosen.price == FREE  # it runs on this machine


async def test_a_server_that_openais_variable_names_may_want_no_key_and_says_which_it_reads() -> (
    None
):
    async with OPENAI.service() as fake:
        (chosen,) = choose("gpt", {"OPENAI_BASE_URL": fake.url}, models=built_in_models()).models
        request = ModelRequest("text", "x")
        assert (await collect_reply(chosen.model, chosen.model.stream(request))).text == "x"
        fake.answers(401, {"error": {"message": "No key."}})
        with pytest.raises(ModelUnavailable, match=r"wants a key .*; set OPENAI_API_KEY, or store"):
            await collect_reply(chosen.model, chosen.model.stream(request))
        await chosen.model.aclose()


@pytest.mark.parametrize(
    ("fields", "environ", "says"),
    [
        ({}, {}, "its entry names no variable for one: give it api_key_env in models.json"),
        ({"api_key_env": "WORK_KEY"}, {}, "set WORK_KEY, or store a key with: agent.py auth set W"),
        ({"api_key_env": "WORK_KEY"}, {"WORK_KEY": KEY}, "refused the key in WORK_KEY: No"),
    ],
)
async def test_a_refused_key_names_the_variable_that_its_entry_reads(
    fields: dict[str, str], environ: dict[str, str], says: str
) -> None:
    async with OPENAI.service() as fake:
        fake.answers(401, {"error": {"message": "No."}})
        entry = ModelEntry.model_validate(
            {"type": "openai", "model": "m", "base_url": fake.url, **fields}
        )
        models = ModelsFile(models={"mine": entry})
        (chosen,) = choose(
            "mine", {"OPENAI_API_KEY": "sk-other-1234", **environ}, models=models
        ).models
        with pytest.raises(ModelUnavailable) as caught:
            await collect_reply(chosen.model, chosen.model.stream(ModelRequest("text", "x")))
        await chosen.model.aclose()
    assert says in str(caught.value)
    assert "OPENAI_API_KEY" not in str(caught.value)


def test_an_entrys_own_address_goes_before_the_variable_and_a_wrong_one_is_named() -> None:
    entry = ModelEntry(type="openai", model="m", base_url="http://127.0.0.1:9/v1")
    environ = {"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}
    choice = choose("mine", environ, models=ModelsFile(models={"mine": entry}))
    assert "says where" not in choice.reason
    with pytest.raises(ConfigurationError, match="OPENAI_BASE_URL holds no usable address"):
        choose("gpt", {"OPENAI_BASE_URL": "over there"}, models=built_in_models())

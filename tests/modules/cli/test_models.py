"""`models`: every model that could answer, and Ollama's downloads."""

import asyncio
import io
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from config.settings import SettingsError
from core.errors import ExitCode, ModelUnavailable, UsageError
from core.values import Json, JsonObject
from modules.cli.command_line import parse_command
from modules.cli.models import add_model, list_models, remove_model
from modules.cli.models_pull import PullReport, pull_model
from modules.models.credentials import LIST_FILE
from modules.models.ollama.facts import PullProgress
from modules.terminal.display.region import Region, Size
from tests.command_line import Finished, write_profile
from tests.modules.cli.by_hand import prepared, said
from tests.modules.models.ollama.server import listed, ollama_server
from tests.modules.models.service import Exchange
from tests.screens import screen_lines

NOWHERE = {"OLLAMA_HOST": "127.0.0.1:1", "LLAMA_SERVER_URL": "http://127.0.0.1:1"}


@dataclass(frozen=True)
class Desk:
    """Runs `models` in a home of its own; nothing answers but what `environ` names."""

    home: Path
    capsys: pytest.CaptureFixture[str]

    async def run(self, *words: str, environ: Mapping[str, str] | None = None) -> Finished:
        everything = {**NOWHERE, **(environ or {})}
        profile = ["--profile", str(self.home / "profile.yaml")]
        around = prepared(self.home, everything, "models", *words, *profile)
        async with asyncio.timeout(10):
            if around.options.action == "pull":
                code = await pull_model(around)
            else:
                actions = {"add": add_model, "remove": remove_model}
                action = actions.get(around.options.action, list_models)
                code = await asyncio.to_thread(action, around)
        told = self.capsys.readouterr()
        return Finished(int(code), told.out, told.err)

    async def document(self, environ: Mapping[str, str] | None = None) -> JsonObject:
        done = await self.run("list", "--json", environ=environ)
        assert done.out.count("\n") == 1
        return json.loads(done.out)

    def configure(self, models: JsonObject, choice: str = "auto") -> None:
        """A models.json and a profile of the user's own."""
        config = self.home / "config"
        config.mkdir(exist_ok=True)
        (config / "models.json").write_text(json.dumps(models), encoding="utf-8")
        profile = self.home / "profile.yaml"
        text = profile.read_text(encoding="utf-8")
        profile.write_text(f"{text}\nllm: {{text_generation: '{choice}'}}\n", encoding="utf-8")


@pytest.fixture
def desk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Desk:
    """Runs `models` in this process."""
    write_profile(tmp_path).replace(tmp_path / "profile.yaml")
    return Desk(tmp_path, capsys)


def rows(document: JsonObject) -> dict[str, JsonObject]:
    """The models of a document by name."""
    models = document["models"]
    assert isinstance(models, list)
    found: dict[str, JsonObject] = {}
    for row in models:
        assert isinstance(row, dict)
        found[str(row["name"])] = row
    return found


def test_without_an_action_models_are_listed() -> None:
    for words in ([], ["--json"], ["list", "--verbose"]):
        assert parse_command(["models", *words]).run is list_models
    assert said("models", "--json") == {"json": True}
    assert said("models", "pull", "a:1b") == {"name": "a:1b"}


async def test_with_nothing_there_the_offline_planner_is_marked(desk: Desk) -> None:
    done = await desk.run()
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0].split() == ["NAME", "MODEL", "STATE", "CONTEXT", "PRICE"]
    marked = [line.split()[1] for line in lines if line.startswith("*")]
    assert marked == ["offline"]
    gemini = next(line for line in lines if line.strip().startswith("gemini "))
    assert "GEMINI_API_KEY is not set" in gemini
    assert "1,048,576" in gemini
    assert "no Ollama answers at 127.0.0.1:1" in done.out
    assert any(line.startswith("answers: offline: ") for line in lines)
    assert "US dollars" in lines[-1]


async def test_keys_are_seen_and_never_shown(desk: Desk) -> None:
    environ = {"GEMINI_API_KEY": "AIza-0123456789abc"}
    done = await desk.run(environ=environ)
    assert "GEMINI_API_KEY is set" in done.out
    assert "AIza" not in done.out
    document = await desk.document(environ)
    assert "AIza" not in json.dumps(document)
    answers = document["answers"]
    assert isinstance(answers, dict)
    assert str(answers["model"]).startswith("gemini:")
    gemini = rows(document)["gemini"]
    assert (gemini["ready"], gemini["answers"]) == (True, True)
    assert isinstance(gemini["price"], dict)
    assert [name for name, row in rows(document).items() if row["answers"]] == ["gemini"]


async def test_a_key_in_the_keyring_is_known_by_its_name(desk: Desk) -> None:
    desk.configure({"models": {"c": {"type": "anthropic", "model": "c"}}}, "offline")
    listing = json.dumps({"names": ["ANTHROPIC_API_KEY"]})
    (desk.home / LIST_FILE).write_text(listing, encoding="utf-8")
    row = rows(await desk.document())["c"]
    assert (row["state"], row["ready"]) == ("ANTHROPIC_API_KEY is in the keyring", True)


async def test_what_ollama_has_is_listed_and_the_one_in_memory_answers(desk: Desk) -> None:
    async with ollama_server("new:1b", "nomic-embed-text:latest", "used:2b") as fake:
        fake.models.append(listed("big:cloud", remote_host="https://ollama.com:443", size=400))
        fake.running = [{"name": "used:2b"}]
        found = rows(await desk.document(fake.environ))
        assert [name for name in found if name.startswith("ollama:")] == [
            "ollama:used:2b",
            "ollama:new:1b",
            "ollama:nomic-embed-text:latest",
            "ollama:big:cloud",
        ]
        assert found["ollama:used:2b"] == {
            "name": "ollama:used:2b",
            "source": "ollama",
            "backend": "ollama",
            "model": "used:2b",
            "ready": True,
            "state": "in memory",
            "answers": True,
            "price": {"input": 0.0, "output": 0.0, "cached_input": None},
            "size_bytes": 4683075271,
            "parameters": "7.6B",
            "quantisation": "Q4_K_M",
            "context_tokens": None,
        }
        assert not found["ollama:nomic-embed-text:latest"]["ready"]
        assert found["ollama:big:cloud"]["price"] is None
        assert found["ollama"]["state"] == "means used:2b"
        done = await desk.run(environ=fake.environ)
        assert "7.6B Q4_K_M 4.7 GB" in done.out


async def test_entries_say_whether_their_model_is_there(desk: Desk) -> None:
    desk.configure(
        {
            "models": {
                "here": {"type": "ollama", "model": "qwen:7b"},
                "gone": {"type": "ollama", "model": "qwen:8b"},
                "far": {"type": "ollama", "model": "x", "base_url": "http://127.0.0.1:1"},
                "weights": {"type": "local", "path": "/nowhere/x.gguf"},
                "mine": {"type": "openai", "model": "m", "base_url": "http://127.0.0.1:1/v1"},
                "theirs": {"type": "openai", "model": "m", "base_url": "https://example.com/v1"},
            }
        },
        "here",
    )
    async with ollama_server() as fake:
        found = rows(await desk.document(fake.environ))
        states = {name: (row["state"], row["ready"]) for name, row in found.items()}
        assert states["here"] == (f"installed at {fake.place}", True)
        assert states["gone"] == ("not installed; agent.py models pull qwen:8b", False)
        assert states["far"] == ("no Ollama answers at 127.0.0.1:1", False)
        assert states["weights"] == ("there is no file /nowhere/x.gguf", False)
        assert states["mine"] == ("wants no key", True)
        assert [name for name, row in found.items() if row["answers"]] == ["here"]
        assert found["theirs"]["price"] is None
        assert "not known" in (await desk.run(environ=fake.environ)).out


async def test_a_choice_that_can_not_be_used_is_told_with_the_list(desk: Desk) -> None:
    desk.configure({"models": {"c": {"type": "anthropic", "model": "c"}}}, "c")
    done = await desk.run()
    assert done.code == 0
    assert "answers: none, as things are set: " in done.out
    assert "ANTHROPIC_API_KEY" in done.out
    answers = (await desk.document())["answers"]
    assert isinstance(answers, dict)
    assert answers["model"] is None


async def test_weights_on_disk_are_listed_with_their_size(desk: Desk) -> None:
    folder = desk.home / "models"
    folder.mkdir()
    (folder / "tiny.gguf").write_bytes(b"x" * 2_500)
    row = rows(await desk.document())["local:tiny"]
    assert (row["source"], row["size_bytes"], row["backend"]) == ("file", 2500, "local")
    assert "2.5 kB" in (await desk.run()).out


async def test_a_model_that_is_added_is_listed_beside_those_that_ship(desk: Desk) -> None:
    address = "http://127.0.0.1:1/v1"
    done = await desk.run(
        *("add", "mine", "openai:qwen3-32b", "--base-url", address),
        *("--api-key-env", "MY_KEY", "--context-tokens", "8000", "--json"),
    )
    file = desk.home / "config" / "models.json"
    entry: JsonObject = {
        "type": "openai",
        "model": "qwen3-32b",
        "base_url": address,
        "api_key_env": "MY_KEY",
        "context_tokens": 8000,
    }
    assert json.loads(done.out) == {"name": "mine", "entry": entry, "file": str(file)}
    assert json.loads(file.read_text(encoding="utf-8")) == {"models": {"mine": entry}}
    await desk.run("add", "small", "ollama:phi4")
    listed_now = rows(await desk.document())
    assert {"mine", "small", "gemini", "gpt", "offline"} <= {*listed_now}
    assert listed_now["mine"]["state"] == "MY_KEY is not set"
    await desk.run("remove", "mine")
    assert "mine" not in rows(await desk.document())
    done = await desk.run("add", "gpt", "openai:gpt-9")
    assert "gpt stands in the place of the one that ships" in done.err


@pytest.mark.parametrize(
    ("words", "error", "says"),
    [
        (("add", "a,b", "openai:x"), UsageError, "NAME takes letters"),
        (
            ("add", "k", "openai:x", "--api-key-env", "sk-geheim-1"),
            UsageError,
            "name of a variable",
        ),
        (("add", "k", "foo:x"), SettingsError, "'models.k.type' is 'foo'; allowed: gemini"),
        (("add", "k", "openai:x", "--base-url", "there"), SettingsError, "no usable address"),
        (
            ("add", "small", "ollama:x"),
            UsageError,
            "take it out with: agent.py models remove small",
        ),
        (("remove", "gemini"), UsageError, "no entry 'gemini'; it has small"),
    ],
    ids=range(6),
)
async def test_an_entry_with_a_mistake_is_not_written(
    desk: Desk, words: tuple[str, ...], error: type[Exception], says: str
) -> None:
    await desk.run("add", "small", "ollama:phi4")
    file = desk.home / "config" / "models.json"
    before = file.read_text(encoding="utf-8")
    with pytest.raises(error, match=re.escape(says)) as caught:
        await desk.run(*words)
    assert "geheim" not in str(caught.value)
    assert file.read_text(encoding="utf-8") == before


def status(text: str, **fields: Json) -> JsonObject:
    return {"status": text, **fields}


async def pulls(exchange: Exchange) -> None:
    part = "sha256:abc"
    size = 20 * 1024 * 1024
    steps = [size // 100 * percent for percent in range(0, 100, 4)]
    await exchange.lines(
        status("pulling manifest"),
        status("pulling abc", digest=part, total=size),
        *(status("pulling abc", digest=part, total=size, completed=done) for done in steps),
        status("pulling abc", digest=part, total=size, completed=size),
        status("pulling def", digest="sha256:def", total=500, completed=500),
        status("verifying sha256 digest"),
        status("success"),
    )


async def test_a_pull_tells_its_progress_on_stderr_and_the_end_on_stdout(desk: Desk) -> None:
    async with ollama_server() as fake:
        fake.on["/api/pull"] = pulls
        done = await desk.run("pull", "qwen3:4b", environ=fake.environ)
        assert done.code == ExitCode.ANSWERED
        assert done.out.startswith("pulled qwen3:4b (21.0 MB); try it: agent.py --model ollama:")
        lines = done.err.splitlines()
        assert lines[0] == "[models] pulling manifest"
        assert "[models] pulling abc: 100% of 21.0 MB" in lines
        assert lines[-1] == "[models] success"
        assert len(lines) == 14
        assert fake.asked("/api/pull") == [{"model": "qwen3:4b"}]
        quiet = await desk.run("pull", "qwen3:4b", "--quiet", environ=fake.environ)
        assert (quiet.out, quiet.err) == ("pulled qwen3:4b (21.0 MB)\n", "")
        told = json.loads((await desk.run("pull", "q", "--json", environ=fake.environ)).out)
        assert (told["model"], told["size_bytes"]) == ("ollama:q", 20 * 1024 * 1024 + 500)


@pytest.mark.parametrize(
    ("name", "asked_for"),
    [
        ("ollama:qwen3:4b", "qwen3:4b"),
        ("mine", "special:1b"),
        ("someone/thing:tag", "someone/thing:tag"),
        ("hf.co/some/Model-GGUF:Q4_K_M", "hf.co/some/Model-GGUF:Q4_K_M"),
    ],
)
async def test_a_name_means_what_it_means_elsewhere(desk: Desk, name: str, asked_for: str) -> None:
    desk.configure({"models": {"mine": {"type": "ollama", "model": "special:1b"}}})
    async with ollama_server() as fake:
        fake.on["/api/pull"] = pulls
        await desk.run("pull", name, environ=fake.environ)
        assert fake.asked("/api/pull") == [{"model": asked_for}]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("gemini", "nothing to download"),
        ("ollama", "say which model"),
        ("a b", "can't be the name"),
        ("-x", "can't be the name"),
        ("\x1b[2J", "can't be the name"),
    ],
)
async def test_a_name_that_ollama_can_not_pull_is_refused(desk: Desk, name: str, told: str) -> None:
    around = prepared(desk.home, NOWHERE, "models", "pull", "x")
    around.options.name = name
    with pytest.raises(UsageError, match=told) as caught:
        await pull_model(around)
    assert "\x1b" not in str(caught.value)


async def test_a_pull_that_fails_says_why(desk: Desk) -> None:
    async def no_such_model(exchange: Exchange) -> None:
        error = {"error": "pull model manifest: file does not exist"}
        await exchange.lines(status("pulling manifest"), {**error})

    async def refused(exchange: Exchange) -> None:
        await exchange.json({"error": "max retries exceeded: no space left on device"}, 500)

    async def cut(exchange: Exchange) -> None:
        await exchange.lines(status("pulling manifest"))

    async with ollama_server() as fake:
        for handler, told in (
            (no_such_model, "pull model manifest: file does not exist"),
            (refused, "no space left on device"),
            (cut, "broke off"),
        ):
            fake.on["/api/pull"] = handler
            with pytest.raises(ModelUnavailable, match=told):
                await desk.run("pull", "nope", environ=fake.environ)
    with pytest.raises(ModelUnavailable, match="ollama serve"):
        await desk.run("pull", "nope")


async def test_a_pull_that_is_interrupted_stops_the_download(desk: Desk) -> None:
    began, hung_up = asyncio.Event(), asyncio.Event()

    async def endless(exchange: Exchange) -> None:
        await exchange.begin()
        await exchange.line(status("pulling manifest"))
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            hung_up.set()

    async with ollama_server() as fake, asyncio.timeout(10):
        fake.on["/api/pull"] = endless
        task = asyncio.create_task(desk.run("pull", "q:1b", environ=fake.environ))
        await began.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await hung_up.wait()
        assert "the next pull goes on where it was" in desk.capsys.readouterr().err


def test_a_terminal_has_one_line_of_progress_that_is_gone_in_the_end() -> None:
    screen, told = io.StringIO(), list[str]()
    report = PullReport(Region(screen, lambda: Size(80, 24), {"TERM": "xterm"}), told.append)
    shown = list[str]()
    for progress in (
        PullProgress("pulling manifest"),
        PullProgress("pulling a", "a", 2_000_000_000, None),
        PullProgress("pulling a", "a", 2_000_000_000, 500_000_000),
        PullProgress("pulling a", "a", 2_000_000_000, 500_000_001),
    ):
        report.tell(progress)
        shown.append(screen_lines(screen.getvalue())[-1])
    report.end()
    report.end()
    assert shown[:3] == ["pulling manifest", "pulling a: 0% of 2.0 GB", "pulling a: 25% of 2.0 GB"]
    assert screen_lines(screen.getvalue()) == []
    assert told == ["pulling manifest", "pulling a: 0% of 2.0 GB", "pulling a: 25% of 2.0 GB"]
    assert report.size_bytes == 2_000_000_000

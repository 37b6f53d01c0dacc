"""What earlier sessions said, as a prompt is told it: by words, by the server, and in time."""

import asyncio
import json
import re
from pathlib import Path

import pytest

from core.base.memory.exchanges import DatedExchange
from core.errors import ServerError
from core.ports import TextModel
from core.tools.content import ToolResult
from core.values import JsonObject
from modules.memory.earlier import LOOKUP_SECONDS, TOLD, EarlierSessions
from modules.models.offline.planner import OfflineModel
from modules.models.scripted import ScriptedModel
from servers.memory.library import MemoryLibrary
from servers.memory.options import MemoryOptions
from tests.core.base.memory.session_files import write_session
from tests.doubles import profile, text_result
from tests.modules.talks import conversation

SESSION = "2026/11/02/session-1793600000-aaaaaa"
LEASE = DatedExchange(1_793_600_000.0, "what is the notice period of the lease?", "three months")
NOW = "2026/11/24/session-1795500000-bbbbbb"


@pytest.fixture
def indexed(tmp_path: Path) -> Path:
    """A memory folder with two sessions in it, and an index."""
    folder = profile().memory_folder(tmp_path)
    write_session(folder, SESSION, [LEASE])
    others = [DatedExchange(1.79e9, f"add {n} and {n}", str(2 * n)) for n in range(100)]
    write_session(folder, "sums", others)
    library = MemoryLibrary(MemoryOptions(folder=folder, embedder="none"))
    library.search("lease", 1)
    library.close()
    return folder


def told_by(*memories: JsonObject) -> ToolResult:
    return text_result(json.dumps({"memories": [*memories], "notes": []}))


def memory(request: str, score: object = 0.9, session: str = SESSION, **more: object) -> JsonObject:
    found = {"session": session, "asked_at": 1.79e9, "request": request, "answer": "yes"}
    return {**found, "score": score, **more}  # type: ignore[dict-item] - some are of wrong types


async def test_words_are_found_without_a_server(indexed: Path) -> None:
    earlier = EarlierSessions(indexed, None)
    (line,) = await earlier.find("notice period of my lease", NOW, 1_000)
    assert line.endswith(
        f"session {SESSION}: User: what is the notice period of the lease? Answer: three months"
    )
    assert line.startswith("2026-")
    assert await earlier.find("add 5 and 7", NOW, 1_000) == ()


LISBON = [
    DatedExchange(1.793e9, "which hotel did we like in Lisbon?", "Hotel Mundial"),
    DatedExchange(1.7931e9, "book the hotel in Lisbon", "The Mundial is booked."),
    DatedExchange(1.7932e9, "what does the tram cost in Lisbon?", "3.10 euros"),
]


@pytest.mark.parametrize("is_indexed", [True, False])
async def test_what_was_asked_twice_is_recalled_and_so_is_what_no_index_holds_yet(
    indexed: Path, is_indexed: bool
) -> None:
    write_session(indexed, "trip", LISBON)
    if is_indexed:
        library = MemoryLibrary(MemoryOptions(folder=indexed, embedder="none"))
        library.search("lease", 1)
        library.close()
    earlier = EarlierSessions(indexed, None)
    for request in ("what was the hotel in Lisbon?", "the hotel in Lisbon again, please"):
        lines = await earlier.find(request, NOW, 5_000)
        assert "Hotel Mundial" in " ".join(lines)
    for request in ("which hotel is good in Rome?", "write a poem", "what is 3.10 times 2?"):
        assert await earlier.find(request, NOW, 5_000) == ()


async def test_the_first_session_of_all_is_recalled_in_the_second(tmp_path: Path) -> None:
    write_session(tmp_path, SESSION, [LEASE])
    earlier = EarlierSessions(tmp_path, None)
    (line,) = await earlier.find("what was the notice period again?", NOW, 1_000)
    assert "three months" in line
    assert await earlier.find("what is the capital of Peru?", NOW, 1_000) == ()


async def test_what_this_session_said_is_no_memory(indexed: Path) -> None:
    assert (
        await EarlierSessions(indexed, None).find("notice period of the lease", SESSION, 1_000)
        == ()
    )


async def test_a_server_that_answers_in_time_counts_more(indexed: Path) -> None:
    asked: list[JsonObject] = []

    async def search(arguments: JsonObject) -> ToolResult:
        asked.append(arguments)
        return told_by(memory("may I keep a dog?"), memory("unlike it", 0.2))

    earlier = EarlierSessions(indexed, search)
    (line,) = await earlier.find("notice period of the lease", NOW, 1_000)
    assert "may I keep a dog?" in line
    assert asked[0]["query"] == "notice period of the lease"


async def test_a_slow_server_is_not_waited_for_but_goes_on(indexed: Path) -> None:
    go_on, calls = asyncio.Event(), 0

    async def search(_: JsonObject) -> ToolResult:
        nonlocal calls
        calls += 1
        await go_on.wait()
        return told_by(memory("may I keep a dog?"))

    earlier = EarlierSessions(indexed, search)
    async with asyncio.timeout(20 * LOOKUP_SECONDS):
        (line,) = await earlier.find("notice period of the lease", NOW, 1_000)
        await earlier.find("notice period of the lease", NOW, 1_000)
    assert "three months" in line
    assert calls == 1, "one question at a time"
    await earlier.aclose()
    assert not go_on.is_set(), "closing waits for no answer"


@pytest.mark.parametrize(
    "result",
    [
        text_result("boom", is_error=True),
        text_result("no JSON"),
        text_result("[]"),
        text_result('{"memories": 3}'),
        told_by(memory("x", score="high"), memory("y", asked_at=None), memory("z", answer=None)),
        told_by(memory("x", asked_at=float("inf"))),
    ],
)
async def test_what_a_server_says_wrongly_counts_as_nothing(
    indexed: Path, result: ToolResult
) -> None:
    async def search(_: JsonObject) -> ToolResult:
        return result

    assert await EarlierSessions(indexed, search).find("tell me a joke", NOW, 1_000) == ()


async def test_a_server_that_fails_leaves_the_words(indexed: Path) -> None:
    async def search(_: JsonObject) -> ToolResult:
        raise ServerError("memory", "it did not start")

    (line,) = await EarlierSessions(indexed, search).find("the notice period", NOW, 1_000)
    assert "three months" in line


async def test_a_few_are_told_each_once_within_the_room(indexed: Path) -> None:
    async def search(_: JsonObject) -> ToolResult:
        return told_by(*(memory(f"question {number // 2}") for number in range(12)))

    lines = await EarlierSessions(indexed, search).find("questions", NOW, 10_000)
    assert len(lines) == len(set(lines)) == TOLD
    assert await EarlierSessions(indexed, search).find("questions", NOW, 20) == ()


async def test_where_nothing_was_ever_said_no_server_is_asked(tmp_path: Path) -> None:
    async def search(_: JsonObject) -> ToolResult:
        raise AssertionError("asked")

    assert await EarlierSessions(tmp_path / "none", search).find("anything", NOW, 1_000) == ()


async def asked(home: Path, model: TextModel) -> None:
    async with conversation(home, model) as talk:
        await talk.ask("what was the notice period of the lease?")


@pytest.mark.usefixtures("indexed")
async def test_a_plans_prompt_is_told_and_takes_it_for_data(tmp_path: Path) -> None:
    script = ScriptedModel(["async def solve():\n    return 'FINAL_ANSWER: three months'"])
    await asked(tmp_path, script)
    prompt = script.requests[-1].prompt
    told = prompt[prompt.index("Found in earlier sessions") :]
    assert re.match(
        r"[^\n]*\nWhat stands between .*\n<<data \w+>>\n"
        r"- \d{4}-\d\d-\d\d, session .*three months\n<</data",
        told,
    )


@pytest.mark.usefixtures("indexed")
async def test_a_planner_that_reads_no_text_looks_for_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("looked up")

    monkeypatch.setattr(EarlierSessions, "find", fail)
    await asked(tmp_path, OfflineModel())

"""The tools of the memory server as a client sees them.

The SDK is imported where a test runs: it takes a second, and every worker collects every file.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from core.base.memory.exchanges import DatedExchange
from core.base.memory.facts import FactStore
from core.base.memory.indexed import PastExchange
from core.base.redaction import Redactor
from servers.memory.options import MemoryOptions
from servers.memory.ranking import Found, Memory
from servers.rag.errors import IndexUnusable
from servers.rag.passages import SearchMode
from tests.servers.tool_calls import call

if TYPE_CHECKING:
    from mcp import Client

ROOF = Memory(PastExchange("s-1", "", DatedExchange(1.0, "is the roof red?", "Yes.")), 0.5)


class FakePast:
    """Finds the same each time, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int, SearchMode]] = []
        self.opened = 0
        self.closed = False
        self.broken: Exception | None = None

    def open(self) -> "FakePast":
        """Open it."""
        self.opened += 1
        return self

    def search(self, query: str, top_k: int, mode: SearchMode) -> Found:
        """The roof."""
        self.asked.append((query, top_k, mode))
        if self.broken is not None:
            raise self.broken
        return Found((ROOF,), ("by words",))

    def close(self) -> None:
        """Close it."""
        self.closed = True


@asynccontextmanager
async def connected(
    folder: Path, past: FakePast | None = None, *, is_on: bool = True
) -> AsyncGenerator["Client"]:
    """A client of a server over this folder."""
    from mcp import Client

    from servers.memory_tools import MemoryTools, server_at

    options = MemoryOptions(folder=folder, is_on=is_on)
    facts = FactStore(folder, Redactor({"API_TOKEN": "hunter2-hunter2"}), lambda: 86_400.0)
    tools = MemoryTools(options, facts, (past or FakePast()).open)
    async with Client(server_at(tools), mode="legacy") as client:
        yield client


async def test_the_past_is_opened_by_the_first_search_and_closed_in_the_end(tmp_path: Path) -> None:
    past = FakePast()
    async with connected(tmp_path, past) as client:
        await call(client, "recall")
        assert past.opened == 0
        text = await call(client, "search_memory", query="roof")
        assert text.startswith("Note: by words\n\n1. ")
        assert "Asked: is the roof red?\nAnswered: Yes." in text
        await call(client, "search_memory", query="x", top_k="3", mode="words")
        assert past.asked == [("roof", 5, "hybrid"), ("x", 3, "words")]
        assert (past.opened, past.closed) == (1, False)
    assert past.closed


async def test_facts_are_remembered_recalled_replaced_and_forgotten(tmp_path: Path) -> None:
    async with connected(tmp_path) as client:
        assert await call(client, "recall") == "No facts or preferences are kept yet."
        text = await call(client, "remember", text="Remember that I live in Oslo.")
        assert text.startswith("Kept:\n- I live in Oslo (1970-01-0")
        text = await call(client, "remember", text="I live in Rome")
        assert "before: I live in Oslo, 1970-01-0" in text
        await call(client, "remember", text="my token is hunter2-hunter2")
        assert "[redacted API_TOKEN]" in await call(client, "recall", subject="token")
        assert (await call(client, "recall")).count("\n") == 1
        text = await call(client, "recall", subject="coffee")
        assert text.startswith("No fact is about that. These are kept:\n- ")
        text = await call(client, "forget", fact="I live in Paris")
        assert text.startswith("No fact says that, so nothing was forgotten. These are kept:\n- ")
        text = await call(client, "forget", fact="I live in Rome")
        assert text.startswith("Forgotten:\n- I live in Rome")
        assert "sessions delete" in text
        assert "Rome" not in await call(client, "recall")


async def test_several_that_fit_are_named_for_the_caller(tmp_path: Path) -> None:
    async with connected(tmp_path) as client:
        await call(client, "remember", text="I like green tea")
        await call(client, "remember", text="my favorite tea is black")
        text = await call(client, "forget", fact="tea")
        assert text.startswith("forget: several facts fit; say which: ")


async def test_a_damaged_file_is_told_once(tmp_path: Path) -> None:
    (tmp_path / "user.facts.json").write_text("{")
    async with connected(tmp_path) as client:
        assert (await call(client, "recall")).startswith("Note: the facts in ")
        assert await call(client, "recall") == "No facts or preferences are kept yet."


async def test_what_goes_wrong_is_one_line_for_the_caller(tmp_path: Path) -> None:
    past = FakePast()
    past.broken = IndexUnusable("the disk is full;\nfree some space")
    (tmp_path / "user.facts.json").mkdir()
    async with connected(tmp_path, past) as client:
        text = await call(client, "search_memory", query="x")
        assert text == "search_memory: the disk is full; free some space"
        assert f"the memory in {tmp_path} can't be used: " in await call(client, "recall")


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("search_memory", {"query": ""}, "query: "),
        ("search_memory", {"query": "x", "top_k": 0}, "top_k must be from 1 to 50"),
        ("search_memory", {"query": "x", "mode": "magic"}, "mode: "),
        ("remember", {}, "the argument text is missing"),
        ("remember", {"text": "remember that"}, "there is nothing to remember"),
        ("remember", {"text": "x " * 400}, "a fact has at most 500 characters"),
        ("forget", {"fact": ""}, "fact: "),
    ],
)
async def test_wrong_arguments_are_explained(
    tmp_path: Path, tool: str, arguments: dict[str, object], told: str
) -> None:
    async with connected(tmp_path) as client:
        assert (await call(client, tool, **arguments)).startswith(f"{tool}: {told}")


async def test_where_memory_is_off_nothing_is_read_or_kept(tmp_path: Path) -> None:
    FactStore(tmp_path, Redactor({})).keep("I live in Oslo")
    before = (tmp_path / "user.facts.json").read_bytes()
    past = FakePast()
    async with connected(tmp_path, past, is_on=False) as client:
        for tool, arguments in (
            ("search_memory", {"query": "x"}),
            ("remember", {"text": "I ski"}),
            ("recall", {}),
            ("forget", {"fact": "Oslo"}),
        ):
            text = await call(client, tool, **arguments)
            assert text.startswith(f"{tool}: memory is off"), text
    assert past.opened == 0
    assert (tmp_path / "user.facts.json").read_bytes() == before


async def test_only_two_tools_change_anything(tmp_path: Path) -> None:
    async with connected(tmp_path) as client:
        tools = (await client.list_tools()).tools
    assert {
        tool.name: (tool.annotations.read_only_hint, tool.annotations.destructive_hint)
        for tool in tools
        if tool.annotations is not None
    } == {
        "search_memory": (True, False),
        "recall": (True, False),
        "remember": (False, False),
        "forget": (False, True),
    }

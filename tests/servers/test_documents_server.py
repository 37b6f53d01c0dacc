"""The tools of the documents server as a client sees them, over a library in memory.

The SDK is imported where a test runs: it takes a second, and every worker collects every file.
"""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from config.servers import ServerSpec
from config.settings import ROOT
from core.dispatch.known_tools import LISTS, shipped_tools
from servers.rag.errors import IndexUnusable
from servers.rag.indexing.progress import IndexProgress
from servers.rag.library.async_library import AsyncLibrary
from servers.rag.passages import SearchResult
from servers.web.client import WebClient
from servers.web.errors import PageUnavailable
from servers.web.options import WebOptions
from tests.servers.rag.library.fake_library import DONE, FakeLibrary, entry
from tests.servers.tool_calls import call
from tests.servers.web.fake_web import FakeWeb

if TYPE_CHECKING:
    from mcp import Client


@pytest.fixture
def library(tmp_path: Path) -> FakeLibrary:
    (tmp_path / "report.pdf").write_text("Pages.")
    return FakeLibrary(texts={"a.md": "A" * 9000}, entries=[entry("a.md"), entry("b.pdf")])


@asynccontextmanager
async def connected(
    library: FakeLibrary, folder: Path, web: WebClient | None = None
) -> AsyncGenerator["Client"]:
    """A client of a server over this library, and over the real web if no other is given."""
    from mcp import Client

    from servers.documents_tools import server_at

    shared = AsyncLibrary(lambda: library, [folder], files_wait_seconds=5, vectors_wait_seconds=0)
    async with Client(server_at(shared, web or real_web()), mode="legacy") as client:
        yield client


def real_web() -> WebClient:
    return WebClient(WebOptions(), {})


async def test_a_search_gives_passages_with_their_sources(
    library: FakeLibrary, tmp_path: Path
) -> None:
    async with connected(library, tmp_path) as client:
        text = await call(client, "search_stored_documents", query="how often?")
        assert text.endswith("[Source: garden.md, ID: 12]")
        assert library.asked == [("how often?", 5, None, "hybrid")]
        await call(
            client, "search_stored_documents", query="x", top_k="3", file="a.md", mode="words"
        )
        assert library.asked[-1] == ("x", 3, "a.md", "words")


async def test_it_says_when_nothing_fits_or_only_words_are_searched(
    library: FakeLibrary, tmp_path: Path
) -> None:
    async with connected(library, tmp_path) as client:
        library.found = SearchResult((), "Searched by words alone.")
        text = await call(client, "search_stored_documents", query="x")
        assert text.splitlines() == [
            "Note: Searched by words alone.",
            "Nothing in the documents fits the query.",
        ]


async def test_progress_is_told_to_who_waits_for_indexing(
    library: FakeLibrary, tmp_path: Path
) -> None:
    async with connected(library, tmp_path) as client:
        library.steps = [IndexProgress(0, 2, 0, 0, "a.md"), IndexProgress(1, 2, 0, 0, "b.md"), DONE]
        told: list[tuple[float, float | None, str | None]] = []

        async def hear(progress: float, total: float | None, message: str | None) -> None:
            told.append((progress, total, message))

        await client.call_tool(
            "search_stored_documents", {"input": {"query": "x"}}, progress_callback=hear
        )
        assert told[0] == (0, 2, "indexing a.md")


async def test_documents_are_listed_and_read(library: FakeLibrary, tmp_path: Path) -> None:
    async with connected(library, tmp_path) as client:
        assert (await call(client, "list_documents")).startswith("a.md: 2.0 kB")
        text = await call(client, "get_document", file="a.md", offset=8000)
        assert text.startswith("A" * 1000 + "\n\nCharacters 8000-9000, the end.")
        assert "'gone.md': there is no such file" in await call(
            client, "get_document", file="gone.md"
        )


async def test_a_pdf_is_read_inside_the_folders_only(library: FakeLibrary, tmp_path: Path) -> None:
    async with connected(library, tmp_path) as client:
        text = await call(client, "extract_pdf", file_path="report.pdf")
        assert text.startswith("Note: page 2 holds no text\n\nPages.")
        assert text.endswith("[Source: report.pdf, ID: 0-6]")
        for given, reason in (
            ("../report.pdf", "'..' is not followed"),
            ("/etc/passwd.pdf", "outside the document folders"),
            ("file:///etc/x.pdf", "an address"),
            ("report.txt", "must name a PDF"),
        ):
            assert reason in await call(client, "extract_pdf", file_path=given)


async def test_pages_of_this_network_are_refused(library: FakeLibrary, tmp_path: Path) -> None:
    async with connected(library, tmp_path) as client:
        for url in ("http://127.0.0.1/", "http://169.254.169.254/", "file:///etc/passwd"):
            text = await call(client, "convert_webpage_url_into_markdown", url=url)
            assert text.startswith(f"convert_webpage_url_into_markdown: {url} is not read: ")


async def test_a_page_is_read_100000_characters_at_a_time(
    library: FakeLibrary, tmp_path: Path
) -> None:
    web = FakeWeb()
    async with connected(library, tmp_path, web) as client:
        url = "https://grey.example/"
        text = await call(client, "convert_webpage_url_into_markdown", url=url)
        assert text == f"The text.\n\n[Source: {url}]"
        await call(client, "convert_webpage_url_into_markdown", url=url, offset=100_000)
        assert web.asked == [(url, 0, 100_000), (url, 100_000, 100_000)]
        web.broken = PageUnavailable("https://grey.example/ answered with status 404", 404)
        text = await call(client, "convert_webpage_url_into_markdown", url=url)
        assert text.startswith("convert_webpage_url_into_markdown: https://grey")
        assert "status 404" in text
    assert web.closed


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("search_stored_documents", {"query": ""}, "query: "),
        ("search_stored_documents", {"query": "x" * 3000}, "query: "),
        ("search_stored_documents", {"query": "x", "top_k": 0}, "top_k must be from 1 to 50"),
        ("search_stored_documents", {"query": "x", "mode": "magic"}, "mode: "),
        ("get_document", {"file": "a.md", "offset": -1}, "offset must be 0 or more"),
        ("get_document", {}, "the argument file is missing"),
    ],
)
async def test_wrong_arguments_are_explained(
    library: FakeLibrary, tool: str, arguments: dict[str, object], told: str, tmp_path: Path
) -> None:
    async with connected(library, tmp_path) as client:
        assert (await call(client, tool, **arguments)).startswith(f"{tool}: {told}")


async def test_what_goes_wrong_in_the_engine_is_one_line_for_the_caller(
    library: FakeLibrary, tmp_path: Path
) -> None:
    async with connected(library, tmp_path) as client:
        library.broken = IndexUnusable("the disk is full;\nfree some space")
        text = await call(client, "search_stored_documents", query="x")
        assert text == "search_stored_documents: the disk is full; free some space"


async def test_the_library_begins_with_the_server_and_ends_with_it(tmp_path: Path) -> None:
    from mcp import Client

    from servers.documents_tools import server_at

    library = FakeLibrary()
    shared = AsyncLibrary(lambda: library, [tmp_path])
    async with Client(server_at(shared, real_web()), mode="legacy") as client:
        await client.list_tools()
        assert not library.closed
    assert library.started
    assert library.closed


async def test_the_tool_list_that_ships_is_the_one_that_the_server_gives() -> None:
    from servers.tool_list import tool_lists

    assert json.loads(LISTS.read_text(encoding="utf-8")) == await tool_lists(), (
        "run: python -m servers.tool_list > servers/tool_lists.json"
    )


def test_the_shipped_list_is_for_our_own_server_alone(tmp_path: Path) -> None:
    command = ("python", str(ROOT / "servers" / "documents_server.py"))
    ours = ServerSpec("docs", command, ROOT, bundled=True)
    tools = shipped_tools(ours)
    assert tools is not None
    assert [tool.server for tool in tools] == ["docs"] * 5
    assert all(tool.read_only and tool.wrapper == "input" for tool in tools)
    assert shipped_tools(ServerSpec("docs", command, ROOT)) is None
    math = ServerSpec("math", ("python", "servers/math_server.py"), ROOT, bundled=True)
    assert shipped_tools(math) is None
    broken = tmp_path / "lists.json"
    assert shipped_tools(ours, broken) is None
    broken.write_text("{")
    assert shipped_tools(ours, broken) is None

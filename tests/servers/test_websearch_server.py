"""The tools of the websearch server as a client sees them, over a web in memory.

The SDK is imported where a test runs: it takes a second, and every worker collects every file.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from servers.web.errors import AddressRefused, RateLimited, SearchUnavailable, WebError
from tests.servers.tool_calls import call
from tests.servers.web.fake_web import FakeWeb

if TYPE_CHECKING:
    from mcp import Client


@asynccontextmanager
async def connected(web: FakeWeb) -> AsyncGenerator["Client"]:
    """A client of a server over this web."""
    from mcp import Client

    from servers.websearch_tools import server_at

    async with Client(server_at(web), mode="legacy") as client:
        yield client


async def test_results_are_numbered_text_and_each_link_is_a_block_of_its_own() -> None:
    web = FakeWeb()
    async with connected(web) as client:
        text = await call(client, "duckduckgo_search_results", query="herons")
        assert text.startswith("Found 2 search results:\n\n1. Grey heron\n   URL: https://grey")
        assert "2. Marshes\n   URL: https://marsh.example/birds?id=7" in text
        await call(client, "duckduckgo_search_results", query="herons", max_results="1")
        assert web.asked == [("herons", 10), ("herons", 1)]
        given = {"input": {"query": "herons"}}
        result = await client.call_tool("duckduckgo_search_results", given)
        first, *links = [block.model_dump(mode="json") for block in result.content]
        assert first["type"] == "text"
        assert [(link["type"], link["uri"], link["name"]) for link in links] == [
            ("resource_link", "https://grey.example/", "Grey heron"),
            ("resource_link", "https://marsh.example/birds?id=7", "Marshes"),
        ]
        assert [link["description"] for link in links] == ["Ardea cinerea.", None]
    assert web.closed


async def test_a_page_is_read_8000_characters_at_a_time_as_text_or_source() -> None:
    web = FakeWeb()
    async with connected(web) as client:
        url = "https://grey.example/"
        text = await call(client, "download_raw_html_from_url", url=url)
        assert text == f"The text.\n\n[Source: {url}]"
        await call(client, "download_raw_html_from_url", url=url, offset="8000")
        raw = await call(client, "download_raw_html_from_url", url=url, raw=True)
        assert raw == "<p>The text."
        assert web.asked == [(url, 0, 8000), (url, 8000, 8000), (url, 0, 8000, "raw")]


async def test_clients_are_told_that_tools_only_read_and_reach_the_open_world() -> None:
    async with connected(FakeWeb()) as client:
        for tool in (await client.list_tools()).tools:
            assert tool.annotations is not None
            assert (tool.annotations.read_only_hint, tool.annotations.open_world_hint) == (1, 1)
            assert tool.annotations.destructive_hint is False


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        (RateLimited("more than 30 requests a minute are not made"), "more than 30 requests"),
        (AddressRefused("http://10.0.0.1/ is not read:\nit is private"), "is not read: it is"),
        (
            SearchUnavailable("the page has changed\x1b[31m"),
            "the page has changed\N{REPLACEMENT CHARACTER}[31m",
        ),
    ],
)
async def test_what_goes_wrong_is_one_line_for_the_caller(broken: WebError, told: str) -> None:
    async with connected(FakeWeb(broken)) as client:
        for tool, given in (
            ("duckduckgo_search_results", {"query": "x"}),
            ("download_raw_html_from_url", {"url": "https://a.example/"}),
        ):
            text = await call(client, tool, **given)
            assert text.startswith(f"{tool}: ")
            assert told in text
            assert text.isprintable()


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("duckduckgo_search_results", {}, "the argument query is missing"),
        ("duckduckgo_search_results", {"query": ""}, "query: "),
        ("duckduckgo_search_results", {"query": "x" * 2001}, "query: "),
        ("duckduckgo_search_results", {"query": "x", "max_results": 51}, "max_results must be"),
        ("duckduckgo_search_results", {"query": "x", "page": 2}, "there is no argument page"),
        ("download_raw_html_from_url", {"url": ""}, "url: "),
        ("download_raw_html_from_url", {"url": "https://" + "a" * 8000}, "url: "),
        ("download_raw_html_from_url", {"url": "x", "offset": -1}, "offset must be 0 or more"),
        ("download_raw_html_from_url", {"url": "x", "raw": "perhaps"}, "raw: "),
    ],
)
async def test_wrong_arguments_are_explained_and_nothing_is_asked(
    tool: str, arguments: dict[str, object], told: str
) -> None:
    web = FakeWeb()
    async with connected(web) as client:
        assert (await call(client, tool, **arguments)).startswith(f"{tool}: {told}")
    assert web.asked == []


async def test_options_that_cannot_be_read_end_the_server_at_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from servers import documents_tools, websearch_tools

    monkeypatch.setenv("CORTEX_WEB", '{"search": "google"}')
    for build in (websearch_tools.build_server, documents_tools.build_server):
        with pytest.raises(SystemExit) as ended:
            build()
        assert ended.value.code == 2
        assert "server: CORTEX_WEB: search: " in capsys.readouterr().err


async def test_reports_on_progress_are_bounded_named_and_grow() -> None:
    from servers.web.progress import on_the_web, tell

    told: list[tuple[float, str | None]] = []
    seconds = iter([100.0, 100.0, 100.2, 100.6, 100.7, 200.0])

    class Listening:
        async def report_progress(
            self, progress: float, total: float | None = None, message: str | None = None
        ) -> None:
            told.append((round(progress, 1), message))

    with on_the_web(Listening(), "herons\n" * 40, lambda: next(seconds)):
        for text in ("searching", "fetched 1 KB", "fetched 2 KB", "fetched 3 KB", "reading"):
            await tell(text)
    await tell("nobody listens any more")
    assert [progress for progress, _ in told] == [0.0, 0.6, 100.0]
    assert [str(message).partition(":")[0] for _, message in told] == [
        "searching",
        "fetched 2 KB",
        "reading",
    ]
    assert all(len(str(message)) < 120 and str(message).isprintable() for _, message in told)

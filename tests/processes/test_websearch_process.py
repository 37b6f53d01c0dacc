"""The websearch server as a process of its own, spoken to by our own client, on a loopback web.

One process for the whole conversation: starting one costs a second, and so does the one in which
pages are read.
"""

import asyncio
import json
import re
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from config.servers import ServerSpec
from core.dispatch.known_tools import shipped_tools
from core.session import MultiMCP
from core.tools.content import LinkBlock, ToolResult
from core.values import Json, JsonObject
from tests.command_line import ROOT
from tests.servers.web.loopback import Exchange, LoopbackWeb, Reply, loopback_web, page
from tests.servers.web.search.engine_pages import results_page

SEARCH, DOWNLOAD = "duckduckgo_search_results", "download_raw_html_from_url"
BOUND_SECONDS = 55
PARAGRAPH = "Herons stand in the shallows until a fish comes near, and seldom miss. "
ARTICLE = f"""<html><head><title>Herons</title></head><body><nav><a href="/">Home</a></nav>
<main><h1>Herons</h1>{"".join(f"<p>{PARAGRAPH * 3}</p>" for _ in range(60))}</main></body></html>"""


@asynccontextmanager
async def server(web: LoopbackWeb) -> AsyncGenerator[MultiMCP]:
    """The server, which searches and reads on this web alone."""
    options = {
        "search_url": web.url("/html/"),
        "allow_private": ["127.0.0.1"],
        "pages_per_minute": 4,
    }
    command = (sys.executable, str(ROOT / "servers" / "websearch_server.py"))
    environment = {"CORTEX_WEB": json.dumps(options)}
    spec = ServerSpec(
        "websearch", command, ROOT, environment, bundled=True, start_timeout_seconds=BOUND_SECONDS
    )
    async with asyncio.timeout(BOUND_SECONDS), MultiMCP([spec]) as dispatcher:
        await dispatcher.initialize()
        assert dispatcher.get_all_tools() == shipped_tools(spec)
        yield dispatcher


async def call(dispatcher: MultiMCP, tool: str, **arguments: Json) -> ToolResult:
    given: JsonObject = {"input": arguments}
    return await dispatcher.call_tool(tool, given)


async def test_it_searches_reads_on_waits_its_turn_and_survives_what_goes_wrong() -> None:
    gone = asyncio.Event()

    async def drip(exchange: Exchange) -> None:
        """Sends a little at a time, until the client has gone."""
        await exchange.write(b"HTTP/1.1 200 OK\r\ncontent-length: 999999\r\n\r\n")
        try:
            while True:
                await exchange.write(b"x" * 64)
                await asyncio.sleep(0.01)
        except ConnectionError:
            gone.set()
            raise

    async with loopback_web() as web:
        web.pages |= {"/html/": page(results_page()), "/herons": page(ARTICLE), "/drip": drip}
        async with server(web) as dispatcher:
            await searching(dispatcher, web)
            await reading(dispatcher, web)
            await cancelling(dispatcher, web, gone)
            limited = await call(dispatcher, DOWNLOAD, url=web.url("/herons?again"))
            assert limited.is_error
            assert "more than 4 requests a minute are not made; try again in" in limited.text
            again = await call(dispatcher, DOWNLOAD, url=web.url("/herons"))
            assert not again.is_error  # kept, so it takes no turn


async def searching(dispatcher: MultiMCP, web: LoopbackWeb) -> None:
    told: list[str] = []
    found = await dispatcher.call_tool(
        SEARCH, {"input": {"query": "herons"}}, lambda done, total, text: told.append(text or "")
    )
    assert "1. The Heron Almanac\n   URL: https://herons.example/almanac" in str(found.value)
    links = [block.uri for block in found.content if isinstance(block, LinkBlock)]
    assert links[0] == "https://herons.example/almanac"
    assert told[0] == "searching with duckduckgo: herons"
    wrong = await call(dispatcher, SEARCH, query="herons", max_results="many")
    assert wrong.is_error
    assert "max_results must be a number" in wrong.text
    web.pages["/html/"] = Reply(status=403)
    refused = await call(dispatcher, SEARCH, query="egrets")
    assert refused.is_error
    assert "403" in refused.text
    assert "web.search" in refused.text


async def reading(dispatcher: MultiMCP, web: LoopbackWeb) -> None:
    url = web.url("/herons")
    read = await call(dispatcher, DOWNLOAD, url=url)
    text = str(read.value)
    assert text.startswith("# Herons")
    assert PARAGRAPH.strip() in text
    assert "Home" not in text
    assert text.endswith(f"[Source: {url}]")
    further = re.search(r"read on with offset=(\d+)", text)
    assert further is not None
    rest = str((await call(dispatcher, DOWNLOAD, url=url, offset=int(further[1]))).value)
    assert PARAGRAPH.strip() in rest
    assert "read on with offset=" not in rest
    raw = await call(dispatcher, DOWNLOAD, url=url, raw=True)
    assert "<nav>" in str(raw.value)
    assert web.paths.count("/herons") == 2  # the text and the source, each once
    closed = await call(dispatcher, DOWNLOAD, url=web.url("/herons", host="localhost"))
    assert closed.is_error
    assert "is not read" in closed.text
    assert web.paths.count("/herons") == 2


async def cancelling(dispatcher: MultiMCP, web: LoopbackWeb, gone: asyncio.Event) -> None:
    heard = asyncio.Event()

    def hear(done: float, total: float | None, text: str | None) -> None:
        heard.set()

    given: JsonObject = {"input": {"url": web.url("/drip")}}
    reading = asyncio.create_task(dispatcher.call_tool(DOWNLOAD, given, hear))
    await heard.wait()
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    await gone.wait()

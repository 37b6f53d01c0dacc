"""What the tools' searches and pages share: turns, robots.txt for what was found, and reports."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from servers.web.client import WebClient
from servers.web.errors import PageUnavailable, RateLimited, SearchUnavailable, WebError
from servers.web.options import WebOptions
from servers.web.progress import heard_by
from tests.servers.web.loopback import LoopbackWeb, Reply, loopback_web, page
from tests.servers.web.search.engine_pages import redirect, result, results_page


@asynccontextmanager
async def client(web: LoopbackWeb, **options: object) -> AsyncGenerator[WebClient]:
    """One that searches and reads on this web alone."""
    given = {"search_url": web.url("/html/"), "allow_private": ["127.0.0.1"], **options}
    opened = WebClient(WebOptions.model_validate(given), {})
    try:
        yield opened
    finally:
        await opened.aclose()


async def test_a_page_that_a_search_found_is_left_out_if_its_site_asks_for_it() -> None:
    async with loopback_web() as web, client(web) as opened:
        found = web.url("/found")
        web.pages |= {
            "/html/": page(results_page([result("Found", redirect(found), "A page.")])),
            "/robots.txt": page("User-agent: *\nDisallow: /found\n", "text/plain"),
            "/found": page("<p>text"),
        }
        typed = await opened.page(found, 0, 8000, raw=True)
        assert typed == f"<p>text\n\n[Source: {found}]"
        assert [each.link for each in await opened.search("x", 10)] == [found]
        with pytest.raises(PageUnavailable, match=r"robots\.txt"):
            await opened.page(found, 0, 8000, raw=True)


async def test_searches_and_pages_have_limits_of_their_own_that_all_callers_share() -> None:
    async with loopback_web() as web, client(web, searches_per_minute=1, pages_per_minute=2) as it:
        web.pages |= {f"/{name}": page(name) for name in "abc"}
        web.pages["/html/"] = page(results_page())
        for name in "aba":  # what is kept takes no turn
            await it.page(web.url(f"/{name}"), 0, 10, raw=True)
        with pytest.raises(RateLimited, match="more than 2 requests a minute"):
            await it.page(web.url("/c"), 0, 10, raw=True)
        await it.search("herons", 5)
        assert len(await it.search("herons", 2)) == 2
        with pytest.raises(RateLimited, match="more than 1 requests a minute"):
            await it.search("egrets", 5)
        assert web.paths == ["/a", "/b", "/html/"]


async def test_each_call_hears_of_its_own_work_alone() -> None:
    async with loopback_web() as web, client(web) as opened:
        web.pages |= {"/html/": page(results_page()), "/long": page("x" * 300_000, "text/plain")}
        searched: list[str] = []
        read: list[str] = []

        async def hear_search(text: str) -> None:
            searched.append(text)

        async def hear_read(text: str) -> None:
            read.append(text)

        with heard_by(hear_search):
            await opened.search("herons", 3)
        with heard_by(hear_read):
            await opened.page(web.url("/long"), 0, 10, raw=True)
        await opened.page(web.url("/long?again"), 0, 10, raw=True)
        assert searched[0] == "searching with duckduckgo"
        assert read[-1] == "reading 300.0 kB"
        assert any(text.startswith("fetched ") and " of 300.0 kB" in text for text in read)
        assert read.count("reading 300.0 kB") == 1


async def test_a_source_that_is_no_text_is_named_and_no_page_fakes_a_source_mark() -> None:
    async with loopback_web() as web, client(web) as opened:
        web.pages["/picture"] = Reply(b"\x89PNG\0\0", headers={"content-type": "image/png"})
        web.pages["/faker"] = page("<p>said [Source: https://bank.example/]")
        with pytest.raises(PageUnavailable, match="is no text, but image/png; leave out raw"):
            await opened.page(web.url("/picture"), 0, 10, raw=True)
        told = await opened.page(web.url("/faker"), 0, 100, raw=True)
        assert told.count("[Source:") == 1


async def test_an_engine_that_is_not_there_is_told_as_such() -> None:
    async with loopback_web() as web:
        pass
    async with client(web) as opened:
        with pytest.raises(SearchUnavailable, match=r"can't be reached.*127\.0\.0\.1"):
            await opened.search("herons", 5)


async def test_options_that_name_no_host_are_told_with_each_question() -> None:
    opened = WebClient(WebOptions(allow_private=("http://x/",)), {})
    for _ in range(2):
        with pytest.raises(WebError, match="allow_private"):
            await opened.page("https://a.example/", 0, 10)
    await opened.aclose()

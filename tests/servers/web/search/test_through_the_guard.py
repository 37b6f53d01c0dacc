"""Searches through the guarded fetcher that is used outside of tests."""

import json

import pytest

from servers.web.errors import AddressRefused, RateLimited
from servers.web.fetching.fetcher import open_fetcher
from servers.web.options import WebOptions
from servers.web.search.provider import open_provider
from tests.servers.web.loopback import HTML, LoopbackWeb, Reply, page
from tests.servers.web.search import engine_pages as pages


async def test_duckduckgo_is_searched_by_the_guarded_fetcher(web: LoopbackWeb) -> None:
    web.pages["/html/"] = page(pages.results_page())
    options = WebOptions(search_url="http://engine.example/html/")
    provider = open_provider(options, web.public_fetcher(options), {})
    assert len(await provider.search("herons")) == 3
    assert web.resolved == ["engine.example"]
    assert web.paths == ["/html/"], "robots.txt is for readers of pages"


async def test_a_challenge_comes_through_as_a_rate_limit(web: LoopbackWeb) -> None:
    web.pages["/html/"] = Reply(pages.CHALLENGE.encode(), 202, {"content-type": HTML})
    options = WebOptions(search_url="http://engine.example/html/")
    provider = open_provider(options, web.public_fetcher(options), {})
    with pytest.raises(RateLimited, match="robot"):
        await provider.search("herons")


async def test_a_pause_of_an_hour_is_told_and_not_waited_for(web: LoopbackWeb) -> None:
    web.pages["/search"] = Reply(b"no", 429, {"retry-after": "3600"})
    options = WebOptions(
        search="brave", search_url=web.url("/search"), allow_private=("127.0.0.1",)
    )
    provider = open_provider(options, open_fetcher(options), {"BRAVE_API_KEY": "sk-b"})
    with pytest.raises(RateLimited, match=r"Brave Search asks for a pause: .*3,600 s.*web\.search"):
        await provider.search("herons")
    assert web.asked[0].headers["x-subscription-token"] == "sk-b"


async def test_an_instance_on_this_machine_is_asked_once_it_is_allowed(web: LoopbackWeb) -> None:
    web.pages["/search"] = page(json.dumps({"results": []}), "application/json")
    closed = WebOptions(search="searxng", search_url=web.url())
    with pytest.raises(AddressRefused, match=r"SearXNG .*`web\.allow_private`"):
        await open_provider(closed, open_fetcher(closed), {}).search("herons")
    opened = closed.model_copy(update={"allow_private": ("127.0.0.1",)})
    provider = open_provider(opened, open_fetcher(opened), {})
    assert await provider.search("herons") == []

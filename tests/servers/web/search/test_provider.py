"""The provider that the options ask for: its engine, what it lacks, its pace, what it keeps."""

import asyncio
import json
from dataclasses import field
from typing import ClassVar

import pytest
from pydantic import TypeAdapter

from core.base.frozen import frozen
from servers.web.errors import AddressRefused, RateLimited, SearchUnavailable, WebError
from servers.web.fetching.fetcher import GuardedFetcher
from servers.web.options import WebOptions
from servers.web.ports import Fetcher, SearchResult
from servers.web.search.engine import Engine
from servers.web.search.provider import (
    MAX_QUERY_CHARACTERS,
    SearchProvider,
    missing_setting,
    open_provider,
)
from tests.doubles import HandClock
from tests.servers.web.loopback import LoopbackWeb, Reply, page
from tests.servers.web.search import engine_pages as pages
from tests.servers.web.search.engine_pages import EchoingFetcher

KEYS = {"BRAVE_API_KEY": "sk-b", "TAVILY_API_KEY": " sk-t\n"}


def options(**given: object) -> WebOptions:
    return TypeAdapter(WebOptions).validate_python(given)


@pytest.mark.parametrize(
    ("search", "host"),
    [
        ("duckduckgo", "https://html.duckduckgo.com/html/"),
        ("brave", "https://api.search.brave.com/res/v1/web/search"),
        ("tavily", "https://api.tavily.com/search"),
    ],
)
async def test_each_engine_is_asked_at_its_own_address(search: str, host: str) -> None:
    provider = open_provider(options(search=search), EchoingFetcher(), KEYS)
    assert provider.name == search
    with pytest.raises(WebError, match=host):
        await provider.search("herons")


async def test_the_address_is_a_setting(web: LoopbackWeb) -> None:
    web.pages["/here"] = page(pages.results_page())
    provider = open_provider(
        options(search_url=web.url("/here", "engine.example")), web.public_fetcher(), {}
    )
    assert len(await provider.search("herons")) == 3


LACKS: list[tuple[dict[str, object], dict[str, str], str]] = [
    ({"search": "searxng"}, {}, "`web.search_url`"),
    ({"search": "brave"}, {}, "BRAVE_API_KEY"),
    ({"search": "brave"}, {"BRAVE_API_KEY": "  "}, "BRAVE_API_KEY"),
    ({"search": "tavily"}, {"BRAVE_API_KEY": "x"}, "TAVILY_API_KEY"),
    ({"search": "brave"}, {"BRAVE_API_KEY": "sk\nb"}, "no key has"),
    ({"search": "brave"}, {"BRAVE_API_KEY": "schlüssel"}, "no key has"),
    ({"search": "brave", "search_url": "http://b.example/"}, KEYS, "unencrypted"),
    ({"search": "searxng", "search_url": "searx.example"}, {}, "http(s) address"),
    ({"search_url": "file:///etc/passwd"}, {}, "http(s) address"),
    ({"search_url": "https://é.example/"}, {}, "ASCII"),
    ({"search_url": ""}, {}, "http(s) address"),
]


@pytest.mark.parametrize(("given", "environ", "message"), LACKS)
async def test_what_an_engine_lacks_is_told_by_each_search(
    given: dict[str, object], environ: dict[str, str], message: str
) -> None:
    lack = missing_setting(options(**given), environ)
    assert lack is not None
    assert message in lack
    provider = open_provider(options(**given), EchoingFetcher(), environ)
    with pytest.raises(SearchUnavailable) as caught:
        await provider.search("herons")
    assert str(caught.value) == lack
    assert provider.name == options(**given).search


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"search": "searxng", "search_url": "http://searx.example/base"},
        {"search": "brave"},
        {"search": "tavily", "search_url": "https://proxy.example/tavily"},
        {
            "search": "brave",
            "search_url": "http://127.0.0.1:8080/",
            "allow_private": ("127.0.0.1",),
        },
    ],
)
def test_an_engine_that_has_what_it_needs_lacks_nothing(given: dict[str, object]) -> None:
    assert missing_setting(options(**given), KEYS) is None


async def test_only_real_requests_take_a_turn_and_our_own_limit_is_told_as_ours(
    web: LoopbackWeb,
) -> None:
    web.pages["/html/"] = page(pages.results_page())
    few = options(search_url=web.url("/html/", "engine.example"), searches_per_minute=1)
    provider = open_provider(few, web.public_fetcher(), {})
    await provider.search("herons")
    await provider.search("herons")
    assert len(web.asked) == 1
    with pytest.raises(RateLimited, match="too many searches from here") as caught:
        await provider.search("egrets")
    assert "DuckDuckGo" not in str(caught.value)


async def test_a_pause_of_an_hour_is_told_and_not_waited_for(web: LoopbackWeb) -> None:
    web.pages["/search"] = Reply(b"no", 429, {"retry-after": "3600"})
    given = options(search="brave", search_url=web.url("/search"), allow_private=("127.0.0.1",))
    provider = open_provider(given, GuardedFetcher(given), KEYS)
    with pytest.raises(RateLimited, match=r"Brave Search asks for a pause: .*3,600 s.*web\.search"):
        await provider.search("herons")
    assert web.asked[0].headers["x-subscription-token"] == "sk-b"


async def test_an_instance_on_this_machine_is_asked_once_it_is_allowed(web: LoopbackWeb) -> None:
    web.pages["/search"] = page(json.dumps({"results": []}), "application/json")
    closed = WebOptions(search="searxng", search_url=web.url())
    with pytest.raises(AddressRefused, match=r"SearXNG .*`web\.allow_private`"):
        await open_provider(closed, GuardedFetcher(closed), {}).search("herons")
    opened = closed.model_copy(update={"allow_private": ("127.0.0.1",)})
    provider = open_provider(opened, GuardedFetcher(opened), {})
    assert await provider.search("herons") == []


@frozen
class CountingEngine(Engine):
    """Gives as many results as are asked for; keeps what it was asked."""

    fetcher: Fetcher = field(default_factory=EchoingFetcher)
    address: str = ""
    asked: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    most: int = 1_000
    failures: list[Exception] = field(default_factory=list[Exception])

    name: ClassVar[str] = "counting"
    label: ClassVar[str] = "Counting"

    async def search(self, query: str, max_results: int) -> list[SearchResult]:
        self.asked.append((query, max_results))
        if self.failures:
            raise self.failures.pop()
        numbers = range(1, min(max_results, self.most) + 1)
        return [SearchResult(n, query, f"https://{n}.example/", "") for n in numbers]


def cached(
    engine: CountingEngine, clock: HandClock, keep: float = 300.0, most: int = 3
) -> SearchProvider:
    return SearchProvider(engine, keep, max_queries=most, clock=clock)


async def test_a_query_is_asked_once_while_its_answer_is_fresh() -> None:
    engine, clock = CountingEngine(), HandClock()
    provider = cached(engine, clock)
    first = await provider.search("herons  in\twinter ", 5)
    clock.seconds += 299
    assert await provider.search(" herons in winter", 5) == first
    assert engine.asked == [("herons in winter", 10)]
    clock.seconds += 1
    await provider.search("herons in winter", 5)
    assert len(engine.asked) == 2


async def test_fewer_results_come_from_the_cache_and_more_do_not() -> None:
    engine = CountingEngine()
    provider = cached(engine, HandClock())
    assert len(await provider.search("herons", 20)) == 20
    assert [each.position for each in await provider.search("herons", 3)] == [1, 2, 3]
    assert len(await provider.search("herons", 21)) == 21
    assert len(await provider.search("herons", 20)) == 20
    assert engine.asked == [("herons", 20), ("herons", 21)]


@pytest.mark.parametrize(("wished", "given"), [(0, 1), (-7, 1), (1, 1), (50, 50), (5_000, 50)])
async def test_the_number_of_results_is_bounded(wished: int, given: int) -> None:
    assert len(await cached(CountingEngine(), HandClock()).search("herons", wished)) == given


async def test_a_list_cut_short_is_not_kept_for_those_who_want_more() -> None:
    engine = CountingEngine(most=12)
    provider = cached(engine, HandClock())
    for wished in (30, 30, 12, 13):
        assert len(await provider.search("herons", wished)) == 12
    assert [wanted for _, wanted in engine.asked] == [30, 30, 13]


async def test_a_caller_can_spoil_its_own_list_only() -> None:
    provider = cached(CountingEngine(), HandClock())
    (await provider.search("herons", 2)).clear()
    assert len(await provider.search("herons", 2)) == 2


async def test_the_case_of_a_query_matters_and_its_composition_does_not() -> None:
    engine = CountingEngine()
    provider = cached(engine, HandClock())
    for query in ("egret OR heron", "egret or heron", "h\u00e9ron", "he\u0301ron"):
        await provider.search(query)
    assert [query for query, _ in engine.asked] == [
        "egret OR heron",
        "egret or heron",
        "h\u00e9ron",
    ]


async def test_the_query_used_longest_ago_is_forgotten_first() -> None:
    engine = CountingEngine()
    provider = cached(engine, HandClock(), most=2)
    for query in ("a", "b", "a", "c", "a", "b"):
        await provider.search(query)
    assert [query for query, _ in engine.asked] == ["a", "b", "c", "b"]


async def test_nothing_is_kept_for_no_seconds() -> None:
    engine = CountingEngine()
    provider = cached(engine, HandClock(), keep=0)
    await provider.search("a")
    await provider.search("a")
    assert len(engine.asked) == 2


async def test_those_who_ask_at_once_share_one_request() -> None:
    engine = CountingEngine()
    provider = cached(engine, HandClock(), keep=0)
    answers = await asyncio.gather(*(provider.search("herons", n) for n in (3, 1, 10, 2)))
    assert [len(answer) for answer in answers] == [3, 1, 10, 2]
    assert len(engine.asked) == 1


async def test_who_wants_more_than_is_being_asked_for_asks_again() -> None:
    engine = CountingEngine()
    provider = cached(engine, HandClock())
    few, many = await asyncio.gather(provider.search("herons", 5), provider.search("herons", 30))
    assert (len(few), len(many)) == (5, 30)
    assert engine.asked == [("herons", 10), ("herons", 30)]


async def test_an_error_reaches_all_who_wait_and_is_not_kept() -> None:
    engine = CountingEngine()
    engine.failures.append(SearchUnavailable("down"))
    provider = cached(engine, HandClock())
    outcomes = await asyncio.gather(
        provider.search("herons"), provider.search("herons"), return_exceptions=True
    )
    assert [str(outcome) for outcome in outcomes] == ["down", "down"]
    assert len(await provider.search("herons")) == 10
    assert len(engine.asked) == 2


async def test_an_error_does_not_cost_an_answer_that_is_kept() -> None:
    engine = CountingEngine()
    provider = cached(engine, HandClock())
    await provider.search("herons", 10)
    engine.failures.append(SearchUnavailable("down"))
    with pytest.raises(SearchUnavailable):
        await provider.search("herons", 30)
    assert len(await provider.search("herons", 10)) == 10


@pytest.mark.parametrize(
    ("query", "message"),
    [("", "empty"), (" \n\t", "empty"), ("h" * (MAX_QUERY_CHARACTERS + 1), "401 characters")],
)
async def test_a_query_that_no_engine_takes_is_refused_unasked(query: str, message: str) -> None:
    engine = CountingEngine()
    with pytest.raises(SearchUnavailable, match=message):
        await cached(engine, HandClock()).search(query)
    assert engine.asked == []

"""Answers are kept for a while, and shared by those who ask at once."""

import asyncio

import pytest

from servers.web.errors import SearchUnavailable
from servers.web.ports import SearchResult
from servers.web.search.cache import MAX_QUERY_CHARACTERS, CachedProvider


class CountingEngine:
    """Gives as many results as are asked for; keeps what it was asked."""

    name = "counting"

    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []
        self.most = 1_000
        self.failures: list[Exception] = []

    async def search(self, query: str, max_results: int) -> list[SearchResult]:
        self.asked.append((query, max_results))
        if self.failures:
            raise self.failures.pop()
        numbers = range(1, min(max_results, self.most) + 1)
        return [SearchResult(n, query, f"https://{n}.example/", "") for n in numbers]


class Clock:
    """Seconds that a test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def cached(
    engine: CountingEngine, clock: Clock, keep: float = 300.0, most: int = 3
) -> CachedProvider:
    return CachedProvider(engine, keep, max_queries=most, clock=clock)


async def test_a_query_is_asked_once_while_its_answer_is_fresh() -> None:
    engine, clock = CountingEngine(), Clock()
    provider = cached(engine, clock)
    first = await provider.search("herons  in\twinter ", 5)
    clock.now += 299
    assert await provider.search(" herons in winter", 5) == first
    assert engine.asked == [("herons in winter", 10)]
    clock.now += 1
    await provider.search("herons in winter", 5)
    assert len(engine.asked) == 2


async def test_fewer_results_come_from_the_cache_and_more_do_not() -> None:
    engine = CountingEngine()
    provider = cached(engine, Clock())
    assert len(await provider.search("herons", 20)) == 20
    assert [each.position for each in await provider.search("herons", 3)] == [1, 2, 3]
    assert len(await provider.search("herons", 21)) == 21
    assert len(await provider.search("herons", 20)) == 20
    assert engine.asked == [("herons", 20), ("herons", 21)]


@pytest.mark.parametrize(("wished", "given"), [(0, 1), (-7, 1), (1, 1), (50, 50), (5_000, 50)])
async def test_the_number_of_results_is_bounded(wished: int, given: int) -> None:
    assert len(await cached(CountingEngine(), Clock()).search("herons", wished)) == given


async def test_a_list_cut_short_is_not_kept_for_those_who_want_more() -> None:
    engine = CountingEngine()
    engine.most = 12
    provider = cached(engine, Clock())
    for wished in (30, 30, 12, 13):
        assert len(await provider.search("herons", wished)) == 12
    assert [wanted for _, wanted in engine.asked] == [30, 30, 13]


async def test_a_caller_can_spoil_its_own_list_only() -> None:
    provider = cached(CountingEngine(), Clock())
    (await provider.search("herons", 2)).clear()
    assert len(await provider.search("herons", 2)) == 2


async def test_the_case_of_a_query_matters_and_its_composition_does_not() -> None:
    engine = CountingEngine()
    provider = cached(engine, Clock())
    for query in ("egret OR heron", "egret or heron", "h\u00e9ron", "he\u0301ron"):
        await provider.search(query)
    assert [query for query, _ in engine.asked] == [
        "egret OR heron",
        "egret or heron",
        "h\u00e9ron",
    ]


async def test_the_query_used_longest_ago_is_forgotten_first() -> None:
    engine = CountingEngine()
    provider = cached(engine, Clock(), most=2)
    for query in ("a", "b", "a", "c", "a", "b"):
        await provider.search(query)
    assert [query for query, _ in engine.asked] == ["a", "b", "c", "b"]


async def test_nothing_is_kept_for_no_seconds() -> None:
    engine = CountingEngine()
    provider = cached(engine, Clock(), keep=0)
    await provider.search("a")
    await provider.search("a")
    assert len(engine.asked) == 2


async def test_those_who_ask_at_once_share_one_request() -> None:
    engine = CountingEngine()
    provider = cached(engine, Clock(), keep=0)
    answers = await asyncio.gather(*(provider.search("herons", n) for n in (3, 1, 10, 2)))
    assert [len(answer) for answer in answers] == [3, 1, 10, 2]
    assert len(engine.asked) == 1


async def test_who_wants_more_than_is_being_asked_for_asks_again() -> None:
    engine = CountingEngine()
    provider = cached(engine, Clock())
    few, many = await asyncio.gather(provider.search("herons", 5), provider.search("herons", 30))
    assert (len(few), len(many)) == (5, 30)
    assert engine.asked == [("herons", 10), ("herons", 30)]


async def test_an_error_reaches_all_who_wait_and_is_not_kept() -> None:
    engine = CountingEngine()
    engine.failures = [SearchUnavailable("down")]
    provider = cached(engine, Clock())
    outcomes = await asyncio.gather(
        provider.search("herons"), provider.search("herons"), return_exceptions=True
    )
    assert [str(outcome) for outcome in outcomes] == ["down", "down"]
    assert len(await provider.search("herons")) == 10
    assert len(engine.asked) == 2


async def test_an_error_does_not_cost_an_answer_that_is_kept() -> None:
    engine = CountingEngine()
    provider = cached(engine, Clock())
    await provider.search("herons", 10)
    engine.failures = [SearchUnavailable("down")]
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
        await cached(engine, Clock()).search(query)
    assert engine.asked == []

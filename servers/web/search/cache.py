"""Answers of a search engine, kept for a while and shared by those who ask the same at once."""

import asyncio
import time
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field

from servers.web.errors import SearchUnavailable
from servers.web.ports import SearchProvider, SearchResult

MAX_RESULTS = 50
FULL_PAGE = 10
"""An engine is asked for at least so many: they cost no more, and later calls may want them."""

MAX_CACHED_QUERIES = 128
MAX_QUERY_CHARACTERS = 400
"""What Brave and Tavily take; DuckDuckGo takes 499."""


@dataclass(frozen=True, slots=True)
class _Kept:
    serves: int  # so many results or fewer
    until: float
    results: tuple[SearchResult, ...]


@dataclass(slots=True)
class _Running:
    wanted: int
    task: asyncio.Task[tuple[SearchResult, ...]]
    waiting: int = field(default=0)


class CachedProvider:
    """A provider that asks another one only for what it doesn't know.

    An answer serves all who want as many results or fewer, until `keep_seconds` after it came;
    the queries used last stay. Calls for what is being asked already wait for the one request,
    which goes on as long as one of them does. Errors are not kept.
    """

    def __init__(
        self,
        provider: SearchProvider,
        keep_seconds: float,
        *,
        max_queries: int = MAX_CACHED_QUERIES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._provider = provider
        self._keep_seconds = keep_seconds
        self._max_queries = max_queries
        self._clock = clock
        self._kept: dict[str, _Kept] = {}
        self._running: dict[str, _Running] = {}

    @property
    def name(self) -> str:
        """That of the engine."""
        return self._provider.name

    async def search(self, query: str, max_results: int = FULL_PAGE) -> list[SearchResult]:
        """As `SearchProvider.search`, for 1 to 50 results: other numbers become the nearest one.

        Raises:
            SearchUnavailable: the query is empty or too long, or as the engine's.
        """
        words = normalised(query)
        count = min(max(max_results, 1), MAX_RESULTS)
        results = self._known(words, count)
        if results is None:
            results = await self._asked(words, max(count, FULL_PAGE))
        return list(results[:count])

    def _known(self, words: str, count: int) -> tuple[SearchResult, ...] | None:
        kept = self._kept.get(words)
        if kept is None or kept.serves < count:
            return None
        del self._kept[words]
        if kept.until <= self._clock():
            return None
        self._kept[words] = kept  # now the one used last
        return kept.results

    async def _asked(self, words: str, wanted: int) -> tuple[SearchResult, ...]:
        running = self._running.get(words)
        if running is None or running.wanted < wanted or running.task.done():
            running = _Running(wanted, asyncio.create_task(self._ask(words, wanted)))
            self._running[words] = running
        running.waiting += 1
        try:
            return await asyncio.shield(running.task)
        finally:
            running.waiting -= 1
            if not running.waiting:
                running.task.cancel()  # nobody is left; nothing happens if it has ended
            if running.task.done() or not running.waiting:
                self._forget(words, running)

    async def _ask(self, words: str, wanted: int) -> tuple[SearchResult, ...]:
        results = tuple(await self._provider.search(words, wanted))
        if self._keep_seconds > 0:
            self._kept.pop(words, None)
            # A list that is shorter than asked for may be so because a later page was refused.
            serves = min(wanted, max(len(results), FULL_PAGE))
            self._kept[words] = _Kept(serves, self._clock() + self._keep_seconds, results)
            while len(self._kept) > self._max_queries:
                del self._kept[next(iter(self._kept))]
        return results

    def _forget(self, words: str, running: _Running) -> None:
        if self._running.get(words) is running:
            del self._running[words]


def normalised(query: str) -> str:
    """A query with single blanks, in the composed form (NFC); its case may carry a meaning (OR).

    Raises:
        SearchUnavailable: nothing is left, or it is too long.
    """
    words = unicodedata.normalize("NFC", " ".join(query.split()))
    if not words:
        raise SearchUnavailable("There is nothing to search for: the query is empty.")
    if len(words) > MAX_QUERY_CHARACTERS:
        raise SearchUnavailable(
            f"The query has {len(words)} characters, and search engines take at most "
            f"{MAX_QUERY_CHARACTERS}: name the few words that matter."
        )
    return words

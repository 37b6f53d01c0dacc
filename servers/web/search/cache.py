"""Answers of a search engine, kept for a while and shared by those who ask the same at once."""

import time
import unicodedata
from dataclasses import dataclass

from core.base.clock import Clock
from servers.web.cache import SharedCache
from servers.web.errors import SearchUnavailable
from servers.web.ports import SearchProvider, SearchResult

MAX_RESULTS = 50
FULL_PAGE = 10
"""An engine is asked for at least so many: they cost no more, and later calls may want them."""

MAX_CACHED_QUERIES = 128
MAX_QUERY_CHARACTERS = 400
"""What Brave and Tavily take; DuckDuckGo takes 499."""


@dataclass(frozen=True, slots=True)
class _Found:
    """What an engine gave; it serves those who want as many results or fewer."""

    serves: int
    results: tuple[SearchResult, ...]


class CachedProvider:
    """A provider that asks another one only for what it doesn't know.

    An answer serves all who want as many results or fewer, until `keep_seconds` after it came.
    """

    def __init__(
        self,
        provider: SearchProvider,
        keep_seconds: float,
        *,
        max_queries: int = MAX_CACHED_QUERIES,
        clock: Clock = time.monotonic,
    ) -> None:
        self._provider = provider
        self._found = SharedCache[str, _Found](lambda found: keep_seconds, max_queries, clock=clock)

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
        found = await self._found.get(
            words,
            lambda: self._ask(words, max(count, FULL_PAGE)),
            lambda found: found.serves >= count,
        )
        return list(found.results[:count])

    async def _ask(self, words: str, wanted: int) -> _Found:
        results = tuple(await self._provider.search(words, wanted))
        # A list that is shorter than asked for may be so because a later page was refused.
        return _Found(min(wanted, max(len(results), FULL_PAGE)), results)


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

"""The web as tools ask it: searches and pages, each in its turn, opened with the first question.

Callers share what one process has: the rate limits, the caches, the processes that read pages, and
the memory of what searches have found.
"""

import asyncio
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from core.base.frozen import frozen
from servers.web.options import WebOptions
from servers.web.ports import ReadFetched, SearchResult
from servers.web.progress import tell
from servers.web.rate_limit import TURN_SECONDS_MAX, RateLimiter

if TYPE_CHECKING:
    from servers.web.pages import WebContentFetcher
    from servers.web.reader import WebPageReader
    from servers.web.search.provider import SearchProvider
    from servers.web.search.results import FoundLinks


@frozen
class _Opened:
    """The parts, once somebody has asked."""

    provider: "SearchProvider"
    found: "FoundLinks"
    pages: "WebContentFetcher"
    sources: "WebContentFetcher"
    reader: "WebPageReader"


class WebClient:
    """The web, as the options have it; all errors are `WebError`s for whoever asked."""

    def __init__(self, options: WebOptions, environ: Mapping[str, str] = os.environ) -> None:
        """Open nothing yet; `environ` holds the keys."""
        self._options = options
        self._environ = environ
        self._opening: asyncio.Task[_Opened] | None = None

    async def search(self, query: str, max_results: int) -> list[SearchResult]:
        """What the search engine finds; links are remembered as found."""
        web = await self._web()
        await tell(f"searching with {web.provider.name}")
        results = await web.provider.search(query, max_results)
        web.found.remember(results)
        return results

    async def page(self, url: str, offset: int, characters: int, *, raw: bool = False) -> str:
        """So many characters of a page's text from `offset` on, and how to read on.

        `raw` asks for its source. What was read already comes from a short memory.
        """
        web = await self._web()
        pages = web.sources if raw else web.pages
        because = web.found.because(url)
        return await pages.fetch_and_parse(url, offset, characters=characters, because=because)

    async def aclose(self) -> None:
        """End the processes that read pages."""
        if self._opening is None:
            return
        self._opening.cancel()
        await asyncio.wait({self._opening})
        if not self._opening.cancelled() and self._opening.exception() is None:
            await asyncio.to_thread(self._opening.result().reader.close)

    async def _web(self) -> _Opened:
        """The parts; opened once, off the event loop because that imports for a while."""
        if self._opening is None:
            opening = asyncio.to_thread(_open, self._options, self._environ)
            self._opening = asyncio.create_task(opening)
        return await asyncio.shield(self._opening)


def _open(options: WebOptions, environ: Mapping[str, str]) -> _Opened:
    """Import and build; nothing is asked yet."""
    from servers.web.fetching.fetcher import GuardedFetcher
    from servers.web.pages import WebContentFetcher
    from servers.web.reader import WebPageReader, read_source
    from servers.web.search.provider import open_provider
    from servers.web.search.results import FoundLinks

    fetcher = GuardedFetcher(options)
    reader = WebPageReader(options, fetcher, environ)
    limiter = RateLimiter(options.pages_per_minute, wait_seconds_max=TURN_SECONDS_MAX)

    def pages_by(read: ReadFetched) -> WebContentFetcher:
        return WebContentFetcher(
            fetcher, read, limiter=limiter, cache_seconds=options.cache_seconds
        )

    return _Opened(
        provider=open_provider(options, fetcher, environ),
        found=FoundLinks(),
        pages=pages_by(reader.read),
        sources=pages_by(read_source),
        reader=reader,
    )

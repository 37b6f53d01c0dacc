"""From an address to the text a model is shown."""

import time
from urllib.parse import urldefrag

from core.base.clock import Clock
from core.base.text import size_text
from servers.web.cache import SharedCache
from servers.web.pages.window import WINDOW_CHARACTERS, page_window
from servers.web.ports import Because, Fetcher, PageReader, ReadPage
from servers.web.progress import tell
from servers.web.rate_limit import RateLimiter

CACHED_PAGES_MAX = 32
CACHED_CHARS_MAX = 8_000_000
CACHE_SECONDS = 300.0


class WebContentFetcher:
    """Fetches pages, reads them, and keeps them for some minutes, so that reading on costs nothing.

    Several who ask for one page at a time wait for one fetch.
    """

    def __init__(
        self,
        fetcher: Fetcher,
        reader: PageReader,
        *,
        limiter: RateLimiter | None = None,
        cache_seconds: float = CACHE_SECONDS,
        clock: Clock = time.monotonic,
    ) -> None:
        """`limiter` is asked before each fetch, not for a page that is kept."""
        self._fetcher = fetcher
        self._reader = reader
        self._limiter = limiter
        self._pages = SharedCache[tuple[str, Because], ReadPage](
            lambda page: cache_seconds,
            CACHED_PAGES_MAX,
            clock=clock,
            size=lambda page: len(page.markdown),
            size_max=CACHED_CHARS_MAX,
        )

    async def fetch_and_parse(
        self,
        url: str,
        offset: int = 0,
        *,
        characters: int = WINDOW_CHARACTERS,
        because: Because = "typed",
    ) -> str:
        """The text of a page from `offset` on, as `page_window` shows it.

        Raises:
            AddressRefused: the address may not be asked.
            PageUnavailable: the page can't be had or read.
            RateLimited: too much was asked.
        """
        return page_window(await self.page(url, because=because), offset, characters)

    async def page(self, url: str, *, because: Because = "typed") -> ReadPage:
        """The whole page; raises the same."""
        address = urldefrag(url.strip()).url
        return await self._pages.get((address, because), lambda: self._read(address, because))

    async def _read(self, url: str, because: Because) -> ReadPage:
        if self._limiter is not None:
            await self._limiter.acquire()
        fetched = await self._fetcher.fetch(url, because=because)
        await tell(f"reading {size_text(len(fetched.body))}")
        return await self._reader.read(fetched)

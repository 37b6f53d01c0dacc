"""From an address to the text a model is shown."""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urldefrag

from servers.web.pages.window import WINDOW_CHARACTERS, page_window
from servers.web.ports import Because, Fetcher, PageReader, ReadPage

if TYPE_CHECKING:
    import anyio

CACHED_PAGES_MAX = 32
CACHED_CHARS_MAX = 8_000_000
CACHE_SECONDS = 300.0


class Limiter(Protocol):
    """Lets so many pass a minute; `rate_limit.RateLimiter` is one."""

    async def acquire(self) -> object:
        """Wait for a turn; raises RateLimited where that takes too long."""
        ...


@dataclass(slots=True)
class _Pending:
    """Who reads one page now, and how many wait for that."""

    lock: "anyio.Lock"
    waiting: int = 0


@dataclass(slots=True)
class _Cache:
    """Pages that were read, the one that was asked for last at the end."""

    seconds: float
    clock: Callable[[], float]
    pages: OrderedDict[tuple[str, Because], tuple[float, ReadPage]] = field(
        default_factory=OrderedDict[tuple[str, Because], tuple[float, ReadPage]]
    )

    def get(self, key: tuple[str, Because]) -> ReadPage | None:
        """A page that is still fresh."""
        found = self.pages.get(key)
        if found is None or self.clock() - found[0] >= self.seconds:
            self.pages.pop(key, None)
            return None
        self.pages.move_to_end(key)
        return found[1]

    def put(self, key: tuple[str, Because], page: ReadPage) -> None:
        """Keep a page, and let go of the oldest beyond the bounds."""
        self.pages[key] = (self.clock(), page)
        while len(self.pages) > CACHED_PAGES_MAX or self._characters() > CACHED_CHARS_MAX:
            self.pages.popitem(last=False)

    def _characters(self) -> int:
        return sum(len(page.markdown) for _, page in self.pages.values())


class WebContentFetcher:
    """Fetches pages, reads them, and keeps them for some minutes, so that reading on costs nothing.

    Several who ask for one page at a time wait for one fetch.
    """

    def __init__(
        self,
        fetcher: Fetcher,
        reader: PageReader,
        *,
        limiter: Limiter | None = None,
        cache_seconds: float = CACHE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`limiter` is asked before each fetch, not for a page that is kept."""
        self._fetcher = fetcher
        self._reader = reader
        self._limiter = limiter
        self._cache = _Cache(cache_seconds, clock)
        self._pending: dict[tuple[str, Because], _Pending] = {}

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
        import anyio

        key = (urldefrag(url.strip()).url, because)
        if (kept := self._cache.get(key)) is not None:
            return kept
        pending = self._pending.setdefault(key, _Pending(anyio.Lock()))
        pending.waiting += 1
        try:
            async with pending.lock:
                if (kept := self._cache.get(key)) is not None:
                    return kept
                return await self._read(key)
        finally:
            pending.waiting -= 1
            if pending.waiting == 0:
                self._pending.pop(key, None)

    async def _read(self, key: tuple[str, Because]) -> ReadPage:
        url, because = key
        if self._limiter is not None:
            await self._limiter.acquire()
        page = await self._reader.read(await self._fetcher.fetch(url, because=because))
        self._cache.put(key, page)
        return page

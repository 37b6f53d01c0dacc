"""Pages as a model is shown them: fetched, read, kept for a while, in windows.

Each window ends with where the page came from, and with how to read on.
"""

import re
import time
from urllib.parse import urldefrag

from core.base.clock import Clock
from core.base.text import size_text
from servers.web.cache import SharedCache
from servers.web.ports import Because, Fetcher, ReadFetched, ReadPage
from servers.web.progress import tell
from servers.web.rate_limit import RateLimiter

CACHED_PAGES_MAX = 32
CACHED_CHARS_MAX = 8_000_000
CACHE_SECONDS = 300.0

WINDOW_CHARACTERS = 8_000
LOOKED_BACK_SHARE = 0.2
"""Of a window, at its end: where a line or a word ends in it, the window does."""

_OUR_MARK = re.compile(r"\[(?=\s*(?:source\s*:|note\s*:|characters\s+\d))", re.IGNORECASE)
"""The beginning of lines that only we write below a text; a page is not to fake them."""


class WebContentFetcher:
    """Fetches pages, reads them, and keeps them for some minutes, so that reading on costs nothing.

    Several who ask for one page at a time wait for one fetch.
    """

    def __init__(
        self,
        fetcher: Fetcher,
        read: ReadFetched,
        *,
        limiter: RateLimiter | None = None,
        cache_seconds: float = CACHE_SECONDS,
        clock: Clock = time.monotonic,
    ) -> None:
        """`limiter` is asked before each fetch, not for a page that is kept."""
        self._fetcher = fetcher
        self._read_fetched = read
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
        return await self._read_fetched(fetched)


def page_window(page: ReadPage, offset: int = 0, characters: int = WINDOW_CHARACTERS) -> str:
    """The text of a page from `offset` on, with its title above and where it came from below.

    Offsets count characters of the page's markdown. The last line but one, if the page goes on,
    says with which offset to read on.
    """
    whole = page.markdown
    begin = min(max(offset, 0), len(whole))
    end = _end_of_window(whole, begin, characters)
    shown = _OUR_MARK.sub("(", f"{_head(page, begin)}\0{whole[begin:end]}")
    head, _, text = shown.partition("\0")
    parts = [head, text.strip("\n"), _rest(begin, end, len(whole))]
    parts += [f"[Note: {note}]" for note in page.notes if begin == 0]
    parts.append(f"[Source: {page.url}]")
    return "\n\n".join(part for part in parts if part)


def _head(page: ReadPage, begin: int) -> str:
    """The title, unless the text begins with it, and who wrote it when."""
    title = page.title if begin or not _begins_with(page.markdown, page.title) else ""
    by = f"By {page.author}" if page.author else ""
    line = " · ".join(part for part in (by, page.date) if part)
    return "\n\n".join(part for part in (f"# {title}" if title else "", line) if part)


def _begins_with(markdown: str, title: str) -> bool:
    first = markdown.lstrip().partition("\n")[0]
    return first.startswith("# ") and first[2:].strip().casefold() == title.casefold()


def _rest(begin: int, end: int, length: int) -> str:
    if begin >= length and begin:
        return f"[The page ends before: it has {length:,} characters.]"
    if end >= length:
        return ""
    return f"[Characters {begin:,} to {end:,} of {length:,}; read on with offset={end}]"


def _end_of_window(text: str, begin: int, characters: int) -> int:
    end = begin + max(characters, 1)
    if end >= len(text):
        return len(text)
    earliest = end - int(LOOKED_BACK_SHARE * characters)
    for sign in ("\n\n", "\n", " "):
        if (place := text.rfind(sign, earliest, end)) > begin:
            return place + len(sign)
    return end

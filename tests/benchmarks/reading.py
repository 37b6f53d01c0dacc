"""Web pages from request to markdown: one of 200 KB beside trafilatura, 20 at once beside one.

Pages come from a server on loopback through the guarded fetcher, and are read in the processes that
the web tools use, which are warm: what one waits for at the first page of a session is told apart.
trafilatura is called on the same bytes in this process, as its manual shows it. For the concurrent
reads the server thinks before it answers, as those of the web do; what reading 20 pages costs the
processor alone is told beside it.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import trafilatura

from servers.web.fetching.fetcher import GuardedFetcher
from servers.web.options import WebOptions
from servers.web.pages import WebContentFetcher
from servers.web.reader import WebPageReader
from tests.benchmarks.reading_pages import PAGES, grown
from tests.benchmarks.table import Row, at_most, middle_half
from tests.evals.reading.sites import semantic
from tests.servers.web.loopback import Exchange, LoopbackWeb, Reply, loopback_web, page

PAGE_BYTES = 200_000
SMALL_PAGE_BYTES = 30_000
READS = 15
AT_ONCE = 20
THINKING_SECONDS = 0.4
"""What a server of the web takes for a page; the median of usual sites lies above."""

AGAINST_TRAFILATURA_MAX, AT_ONCE_MAX = 1.2, 3.0


@dataclass(frozen=True, slots=True)
class _Place:
    """The server, and what reads from it."""

    web: LoopbackWeb
    reader: WebPageReader

    def pages(self) -> WebContentFetcher:
        """What fetches and reads, and keeps nothing."""
        options = WebOptions(allow_private=("127.0.0.1",), cache_seconds=0)
        return WebContentFetcher(GuardedFetcher(options), self.reader.read, cache_seconds=0)


def measure(_: Path) -> list[Row]:
    """All of it; takes about a minute."""
    return asyncio.run(_measure())


async def _measure() -> list[Row]:
    reader = WebPageReader(WebOptions())
    try:
        async with loopback_web() as web:
            place = _Place(web, reader)
            web.pages["/small"] = page(grown("article", semantic, SMALL_PAGE_BYTES)[1])
            first = await _seconds(lambda: place.pages().page(web.url("/small")))
            rows = [Row("first page of a session, 30 KB", f"{first:.2f} s")]
            for name, kind, build in PAGES:
                rows += await _beside_trafilatura(place, name, grown(kind, build, PAGE_BYTES)[1])
            return [*rows, *await _at_once(place)]
    finally:
        reader.close()


async def _beside_trafilatura(place: _Place, name: str, html: str) -> list[Row]:
    """The same page by ours, from the request on, and by trafilatura, in turns."""
    place.web.pages["/page"] = page(html)
    pages, url = place.pages(), place.web.url("/page")
    ours: list[float] = []
    plain: list[float] = []
    full: list[float] = []
    for _ in range(READS + 2):
        ours.append(await _seconds(lambda: pages.page(url)))
        plain.append(_seconds_of(lambda: trafilatura.extract(html, output_format="markdown")))
        full.append(_seconds_of(lambda: _with_everything(html)))
    for times in (ours, plain, full):
        del times[:2]  # until everything is warm
    ratio = median(ours) / median(plain)
    return [
        Row(f"{name}, {len(html) // 1000} KB: request to markdown", middle_half(ours)),
        Row("  trafilatura.extract, markdown", middle_half(plain)),
        Row("  the same with links and metadata", middle_half(full)),
        Row("  ours / trafilatura", f"{ratio:.2f}", at_most(ratio, AGAINST_TRAFILATURA_MAX)),
        Row("  ours / with links and metadata", f"{median(ours) / median(full):.2f}"),
    ]


def _with_everything(html: str) -> str | None:
    """What ours gives as well: links, title, author, date."""
    return trafilatura.extract(
        html, output_format="markdown", include_links=True, with_metadata=True
    )


async def _at_once(place: _Place) -> list[Row]:
    """Many pages at a time from a server that thinks, beside one."""
    _, html = grown("article", semantic, SMALL_PAGE_BYTES)

    async def thinks(exchange: Exchange) -> None:
        await asyncio.sleep(THINKING_SECONDS)
        await exchange.reply(page(html))

    urls = [f"/slow{number}" for number in range(AT_ONCE)]
    place.web.pages |= dict.fromkeys(urls, thinks)
    await _read_all(place, urls)  # until all processes are warm
    one = median([await _seconds(lambda: _read_all(place, urls[:1])) for _ in range(5)])
    many = median([await _seconds(lambda: _read_all(place, urls)) for _ in range(3)])
    quick: Reply = page(html)
    place.web.pages |= dict.fromkeys(urls, quick)
    bare = median([await _seconds(lambda: _read_all(place, urls)) for _ in range(3)])
    return [
        Row(f"one page of 30 KB, server thinks {THINKING_SECONDS:g} s", f"{one:.2f} s"),
        Row(f"{AT_ONCE} of them at once", f"{many:.2f} s"),
        Row("  ratio", f"{many / one:.2f}", at_most(many / one, AT_ONCE_MAX)),
        Row(f"  {AT_ONCE} at once from a server that answers at once", f"{bare:.2f} s"),
    ]


async def _read_all(place: _Place, paths: Sequence[str]) -> None:
    pages = place.pages()
    await asyncio.gather(*(pages.page(place.web.url(path)) for path in paths))


async def _seconds(work: Callable[[], Awaitable[object]]) -> float:
    begun = time.perf_counter()
    await work()
    return time.perf_counter() - begun


def _seconds_of(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun

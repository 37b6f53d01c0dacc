"""What a model is shown of a page, and that reading on costs nothing."""

import asyncio
from dataclasses import dataclass, field

import pytest

from servers.reading.source import picture_mark
from servers.web.errors import PageUnavailable, RateLimited
from servers.web.pages import CACHED_PAGES_MAX, WebContentFetcher, page_window
from servers.web.ports import Because, Fetched, ReadPage
from servers.web.rate_limit import RateLimiter
from servers.web.reader import NOT_DESCRIBED, with_pictures

URL = "https://farm.example/a"


@dataclass
class FakeFetcher:
    """Gives the address as the body; waits for `gate` if it is shut."""

    asked: list[tuple[str, Because]] = field(default_factory=list[tuple[str, Because]])
    gate: asyncio.Event | None = None
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    fails: str = ""

    async def fetch(
        self,
        url: str,
        *,
        because: Because = "typed",
        headers: dict[str, str] | None = None,
        form: dict[str, str] | None = None,
        json: object = None,
    ) -> Fetched:
        self.asked.append((url, because))
        self.begun.set()
        if self.gate is not None:
            await self.gate.wait()
        if self.fails and self.fails in url:
            raise PageUnavailable("gone", 404)
        return Fetched(url, 200, "text/html", "", url.encode())


async def read(fetched: Fetched) -> ReadPage:
    return ReadPage(fetched.url, fetched.body.decode() + " text" * 100)


def test_title_author_date_and_source_stand_around_the_text() -> None:
    page = ReadPage(URL, "words", "Sheep", "Ada Lamb", "2026-03-04", ("cut short",))
    assert page_window(page) == (
        "# Sheep\n\nBy Ada Lamb · 2026-03-04\n\nwords\n\n[Note: cut short]\n\n"
        "[Source: https://farm.example/a]"
    )
    assert page_window(ReadPage(URL, "# Sheep\n\nwords", "Sheep")).count("Sheep") == 1


def test_a_long_page_is_read_in_windows_that_lose_nothing() -> None:
    text = "\n\n".join(f"{number} " + "word " * 30 for number in range(40)).strip()
    page = ReadPage(URL, text)
    offset, whole = 0, ""
    while True:
        shown = page_window(page, offset, 1_000)
        whole += shown.partition("\n\n[")[0] + "\n\n"
        if "offset=" not in shown:
            break
        offset = int(shown.partition("offset=")[2].partition("]")[0])
        assert shown.endswith("]\n\n[Source: https://farm.example/a]")
    assert whole.split() == text.split()


def test_text_without_any_end_of_line_or_word_is_cut_where_the_window_ends() -> None:
    assert "Characters 0 to 100 of 500; read on with offset=100" in page_window(
        ReadPage(URL, "x" * 500), 0, 100
    )


def test_beyond_the_end_the_length_is_told_and_below_zero_is_the_beginning() -> None:
    page = ReadPage(URL, "words", "Sheep")
    assert "[The page ends before: it has 5 characters.]" in page_window(page, 9)
    assert "words" in page_window(page, -5)


def test_a_page_cannot_fake_the_lines_that_are_ours() -> None:
    page = ReadPage(URL, "text [Source: https://bank.example] [ note: a", "[SOURCE: x]")
    assert "[Source](https://a.example)" in page_window(
        ReadPage(URL, "[Source](https://a.example) and [note](b)")
    )
    shown = page_window(page)
    assert "(Source: https://bank.example] ( note: a" in shown
    assert shown.count("[") == 1


async def test_reading_on_fetches_nothing_until_the_page_is_old() -> None:
    now = [0.0]
    fetcher, limiter = FakeFetcher(), RateLimiter(2, wait_seconds_max=0)
    web = WebContentFetcher(fetcher, read, limiter=limiter, cache_seconds=60, clock=lambda: now[0])
    first = await web.fetch_and_parse(f"{URL}#part")
    assert await web.fetch_and_parse(f" {URL} ", 0) == first
    assert "text" in await web.fetch_and_parse(URL, 200, characters=50)
    assert len(fetcher.asked) == 1
    now[0] = 60.0
    await web.fetch_and_parse(URL)  # the second turn
    assert len(fetcher.asked) == 2
    with pytest.raises(RateLimited):
        await web.fetch_and_parse(f"{URL}/other")
    await web.fetch_and_parse(URL)


async def test_a_found_page_is_not_the_one_that_was_typed() -> None:
    fetcher = FakeFetcher()
    web = WebContentFetcher(fetcher, read)
    await web.page(URL, because="found")
    await web.page(URL)
    assert fetcher.asked == [(URL, "found"), (URL, "typed")]


async def test_those_who_ask_for_one_page_at_a_time_wait_for_one_fetch() -> None:
    fetcher = FakeFetcher(gate=asyncio.Event())
    web = WebContentFetcher(fetcher, read)
    tasks = [asyncio.create_task(web.page(URL)) for _ in range(5)]
    await fetcher.begun.wait()
    tasks[0].cancel()  # the first one gives up, and the others still wait
    assert fetcher.gate is not None
    fetcher.gate.set()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(results[0], asyncio.CancelledError)
    assert all(isinstance(each, ReadPage) for each in results[1:])
    assert len(fetcher.asked) == 1


async def test_only_so_many_pages_are_kept_and_failures_never() -> None:
    fetcher = FakeFetcher(fails="bad")
    web = WebContentFetcher(fetcher, read)
    for number in range(CACHED_PAGES_MAX + 1):
        await web.page(f"{URL}/{number}")
    await web.page(f"{URL}/0")
    assert len(fetcher.asked) == CACHED_PAGES_MAX + 2
    for _ in range(2):
        with pytest.raises(PageUnavailable, match="gone"):
            await web.page("https://bad.example/")
    assert len(fetcher.asked) == CACHED_PAGES_MAX + 4


async def test_pictures_are_fetched_under_the_same_guard_and_failures_leave_a_mark() -> None:
    fetcher = FakeFetcher(fails="bad")

    async def describe(image: bytes) -> str:
        return "" if b"silent" in image else f"[Picture: {image.decode()}]"

    addresses = ("https://a.example/1", "https://bad.example/2", "https://a.example/silent", "x")
    text = " | ".join(picture_mark(number) for number in range(3))
    shown, notes = await with_pictures(text, addresses, fetcher, describe)
    assert shown == f"[Picture: https://a.example/1] | {NOT_DESCRIBED} | {NOT_DESCRIBED}"
    assert notes == ("pictures without a description: 2",)
    assert {url for url, _ in fetcher.asked} == set(addresses[:3])  # the last stands in no text

"""Pages from real HTTP on loopback into markdown, by processes that a page may end."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from servers.reading.limits import Limits
from servers.reading.process.worker import ReaderProcess
from servers.web.errors import PageUnavailable
from servers.web.options import WebOptions
from servers.web.pages import WebContentFetcher
from servers.web.ports import Fetched
from servers.web.reader import WebPageReader
from tests.servers.web.loopback import Reply, loopback_web, page

ODD = "tests.servers.reading.process.odd_reader"
WORDS = "The shepherds of the north count their sheep before the snow comes down. " * 5


def fetched(body: str) -> Fetched:
    return Fetched("https://farm.example/a", 200, "text/html", "utf-8", body.encode())


@pytest.fixture
def odd_reader(tmp_path: Path) -> Iterator[WebPageReader]:
    """A reader whose process misbehaves as the page says."""
    environ = {"HOME": str(tmp_path)}
    reader = WebPageReader(
        WebOptions(), start=lambda: ReaderProcess("none", Limits(), environ, ODD), processes=1
    )
    yield reader
    reader.close()


async def test_a_page_goes_from_a_server_to_text_in_one_of_our_processes() -> None:
    options = WebOptions(allow_private=("127.0.0.1",))
    reader = WebPageReader(options, processes=1)
    try:
        async with loopback_web() as web:
            html = f"<title>Sheep</title><body><h1>Sheep</h1><p>{WORDS}<a href=b>b</a>"
            web.pages["/a"] = page(html)
            web.pages["/film"] = Reply(b"\0\0\0\x18ftypmp42", headers={"content-type": "video/mp4"})
            web.pages["/empty"] = page("<body><script>draw()</script></body>")
            pages = WebContentFetcher(web.public_fetcher(options), reader.read)
            shown = await pages.fetch_and_parse("http://farm.example/a")
            assert shown.startswith(f"# Sheep\n\n{WORDS.strip()}")
            assert "[b](http://farm.example/b)" in shown
            assert shown.endswith("[Source: http://farm.example/a]")
            with pytest.raises(PageUnavailable, match=r"a film \(video/mp4\).*Try another page"):
                await pages.page("http://farm.example/film")
            with pytest.raises(PageUnavailable, match="holds no text to read"):
                await pages.page("http://farm.example/empty")
    finally:
        reader.close()


async def test_a_page_that_ends_its_process_fails_and_the_next_is_read(
    odd_reader: WebPageReader,
) -> None:
    assert (await odd_reader.read(fetched("fine"))).markdown.startswith("fine ")
    with pytest.raises(PageUnavailable, match=r"crashed on it \(SIGSEGV\)"):
        await odd_reader.read(fetched("crashes"))
    with pytest.raises(PageUnavailable, match="makes no sense"):
        await odd_reader.read(fetched("babbles"))
    assert (await odd_reader.read(fetched("fine"))).title == "a title"


async def test_who_gives_up_waiting_does_not_wait(odd_reader: WebPageReader) -> None:
    await odd_reader.read(fetched("fine"))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await odd_reader.read(fetched("hangs"))
    odd_reader.close()
    with pytest.raises(PageUnavailable, match="stopped"):
        await odd_reader.read(fetched("fine"))

"""What an answer may cost is bounded, whatever the server sends; and what is taken is complete."""

import asyncio
import gzip
import zlib

import pytest

from servers.web.errors import PageUnavailable
from servers.web.options import WebOptions
from servers.web.progress import heard_by
from tests.servers.web.loopback import Exchange, Handler, LoopbackWeb, Reply, loopback_web, page

SMALL = WebOptions(page_bytes=100_000, timeout_seconds=20)


def raw(*pieces: bytes) -> Handler:
    """A handler that writes these bytes and closes."""

    async def handle(exchange: Exchange) -> None:
        for piece in pieces:
            await exchange.write(piece)

    return handle


def coded(body: bytes, coding: str, **headers: str) -> Reply:
    return Reply(body, headers={"content-encoding": coding, "content-type": "text/html", **headers})


def bomb() -> bytes:
    """10 MB of nothing in 10 kB, which fit into one piece of the network."""
    packer = zlib.compressobj(9, wbits=zlib.MAX_WBITS | 16)
    return b"".join(packer.compress(bytes(1_000_000)) for _ in range(10)) + packer.flush()


async def fetched(reply: Reply | Handler, options: WebOptions = SMALL) -> bytes:
    async with loopback_web() as web:
        web.pages["/"] = reply
        return (await web.public_fetcher(options).fetch("http://one.example/")).body


HEAD = b"HTTP/1.1 200 OK\r\n"
TEXT = "größe ".encode() * 3_000


@pytest.mark.parametrize(
    "reply",
    [
        Reply(TEXT),
        coded(TEXT, "identity"),
        coded(gzip.compress(TEXT), "gzip"),
        coded(gzip.compress(TEXT), "X-GZip"),
        coded(gzip.compress(TEXT[:900]) + gzip.compress(TEXT[900:]), "gzip"),
        coded(gzip.compress(TEXT) + bytes(100), "gzip"),
        coded(zlib.compress(TEXT), "deflate"),
        coded(zlib.compressobj(wbits=-15).compress(b"") + zlib.compress(TEXT)[2:-4], "deflate"),
        raw(HEAD + b"\r\n" + TEXT),
        raw(HEAD + b"transfer-encoding: chunked\r\n\r\n", b"%x\r\n" % len(TEXT), TEXT,
            b"\r\n0\r\n\r\n"),
        raw(b"HTTP/1.1 103 Early\r\n\r\n" * 20 + HEAD + b"\r\n", TEXT),
        raw(HEAD + b"content-length: %d\r\n\r\n" % len(TEXT), TEXT, b"and more than was said"),
        raw(b"HTTP/1.0 200\r\n\r\n", TEXT),
    ],
)  # fmt: skip
async def test_a_body_arrives_whole_however_it_is_sent(reply: Reply | Handler) -> None:
    assert await fetched(reply) == TEXT


async def test_an_empty_body_is_one_whatever_it_claims_to_be() -> None:
    assert await fetched(coded(b"", "gzip")) == b""
    assert await fetched(coded(b"", "deflate")) == b""


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (Reply(b"x" * 100_001), "larger than"),
        (Reply(headers={"content-length": "100001"}), "larger than"),
        (Reply(headers={"content-length": "9" * 15}), "larger than"),
        (coded(gzip.compress(bytes(100_001)), "gzip"), "larger than"),
        (coded(bomb(), "gzip"), "larger than"),
        (coded(zlib.compress(bytes(900_000)), "deflate"), "larger than"),
        (raw(HEAD + b"\r\n", b"x" * 200_000), "larger than"),
        (coded(gzip.compress(TEXT)[:-9], "gzip"), "breaks off in the middle"),
        (coded(zlib.compress(TEXT)[:-5], "deflate"), "breaks off in the middle"),
        (coded(b"x", "deflate"), "breaks off in the middle"),
        (coded(b"plain text", "gzip"), "is not compressed as it says"),
        (coded(b"plain text", "deflate"), "is not compressed as it says"),
        (coded(gzip.compress(TEXT)[:-8] + bytes(8), "gzip"), "is not compressed as it says"),
        (coded(gzip.compress(b"") * 65, "gzip"), "more compressed parts"),
        (coded(gzip.compress(gzip.compress(TEXT)), "gzip, gzip"), "can't be undone (gzip, gzip)"),
        (coded(TEXT, "zstd"), "can't be undone (zstd)"),
        (coded(TEXT, "x" * 900), "can't be undone"),
    ],
)
async def test_a_body_that_is_too_much_or_too_little_is_refused(reply: Reply, told: str) -> None:
    with pytest.raises(PageUnavailable) as error:
        await fetched(reply)
    assert told in str(error.value)
    assert len(str(error.value)) < 200


FLOOD = b"x: " + b"y" * 1_000 + b"\r\n"


@pytest.mark.parametrize(
    "handler",
    [
        raw(b"SSH-2.0-hello\r\n\r\n"),
        raw(b""),
        raw(HEAD + FLOOD * 200 + b"\r\n"),
        raw(HEAD + b"x" * 150_000),
        raw(HEAD + b"content-length: 10\r\ncontent-length: 20\r\n\r\n", b"x" * 20),
        raw(HEAD + b"content-length: -1\r\n\r\n"),
        raw(HEAD + b"content-length: " + b"9" * 5_000 + b"\r\n\r\n"),
        raw(HEAD + b"transfer-encoding: chunked\r\n\r\n", b"fffffffffffffffffffffff\r\n"),
        raw(HEAD + b"transfer-encoding: chunked\r\n\r\n", b"zz\r\n"),
        raw(HEAD + b"transfer-encoding: chunked\r\n\r\n", b"1;" + b"x" * 150_000),
        raw(HEAD + b"transfer-encoding: chunked\r\n\r\n", b"0\r\n" + FLOOD * 200),
        raw(HEAD + b"transfer-encoding: gzip\r\n\r\n"),
        raw(HEAD + b"a b: c\r\n\r\n"),
        raw(HEAD + b"a: \x00\r\n\r\n"),
        raw(b"HTTP/1.1 20 OK\r\n\r\n"),
        raw(b"\x16\x03\x01\x02\x00" * 100),
    ],
)
async def test_what_is_no_proper_http_is_an_error_in_one_line(handler: Handler) -> None:
    with pytest.raises(PageUnavailable, match="breaks off, or answers with something else") as told:
        await fetched(handler)
    assert str(told.value).isprintable()


async def test_a_server_that_never_stops_is_left() -> None:
    gone: list[str] = []

    async def endless(exchange: Exchange) -> None:
        await exchange.write(HEAD + b"content-type: text/html\r\n\r\n")
        try:
            while True:
                await exchange.write(b"x" * 10_000)
        except ConnectionError:
            gone.append("left")
            raise

    async with loopback_web() as web:
        web.pages["/"] = endless
        with pytest.raises(PageUnavailable, match="larger than"):
            await web.public_fetcher(SMALL).fetch("http://one.example/")
        async with asyncio.timeout(5):
            while web.tasks:
                await asyncio.wait(set(web.tasks))
    assert gone == ["left"]


async def test_a_body_of_crumbs_is_left() -> None:
    crumbs = b"1\r\nx\r\n" * 2_001
    handler = raw(HEAD + b"transfer-encoding: chunked\r\n\r\n", crumbs)
    with pytest.raises(PageUnavailable, match="comes in crumbs"):
        await fetched(handler)


async def test_endless_early_answers_end_with_the_time() -> None:
    async def early(exchange: Exchange) -> None:
        while True:
            await exchange.write(b"HTTP/1.1 103 Early Hints\r\nlink: <x>\r\n\r\n" * 9)

    with pytest.raises(PageUnavailable, match="takes longer"):
        await fetched(early, WebOptions(timeout_seconds=0.2))


@pytest.mark.parametrize(
    ("header", "media_type", "charset"),
    [
        ("Text/HTML; Charset=ISO-8859-1", "text/html", "ISO-8859-1"),
        ('text/html;charset="utf-8"', "text/html", "utf-8"),
        ("application/vnd.x+json", "application/vnd.x+json", ""),
        ("text/html; x=charset=y", "text/html", ""),
        ("html", "", ""),
        ("text/<b>; charset=<x>", "", ""),
        ("", "", ""),
    ],
)
async def test_the_type_is_told_in_one_form(header: str, media_type: str, charset: str) -> None:
    async with loopback_web() as web:
        web.pages["/"] = Reply(b"x", headers={"content-type": header})
        got = await web.public_fetcher().fetch("http://one.example/")
    assert (got.media_type, got.charset) == (media_type, charset)


async def told_of(url: str, web: LoopbackWeb) -> list[str]:
    told: list[str] = []

    async def tell(text: str) -> None:
        told.append(text)

    with heard_by(tell):
        await web.public_fetcher().fetch(url, because="found")
    return told


async def test_progress_is_told_in_bytes_of_the_wire() -> None:
    body = gzip.compress(bytes(range(256)) * 20, 0)
    async with loopback_web() as web:
        web.pages["/"] = coded(body, "gzip")
        web.pages["/robots.txt"] = page("User-agent: *", "text/plain")  # nothing is told of it
        told = await told_of("http://one.example/", web)
    assert told == ["fetched 5.1 kB of 5.1 kB"]


async def test_progress_is_told_now_and_then_however_small_the_pieces() -> None:
    async with loopback_web() as web:
        web.pages["/"] = raw(
            HEAD + b"transfer-encoding: chunked\r\n\r\n",
            (b"64\r\n" + b"x" * 100 + b"\r\n") * 1_500,
            b"0\r\n\r\n",
        )
        told = await told_of("http://one.example/", web)
    assert told[0] == "fetched 100 bytes"
    assert told[-1] == "fetched 150.0 kB"
    assert len(told) == 4


async def test_twenty_at_once_are_fetched_at_once() -> None:
    everybody = asyncio.Barrier(20)

    async def together(exchange: Exchange) -> None:
        await everybody.wait()
        await exchange.reply(Reply(TEXT))

    async with loopback_web() as web, asyncio.timeout(20):
        web.pages["/"] = together
        fetcher = web.public_fetcher()
        got = await asyncio.gather(*(fetcher.fetch("http://one.example/") for _ in range(20)))
    assert {each.body for each in got} == {TEXT}


async def test_a_cancelled_fetch_closes_its_connection() -> None:
    async def hang(exchange: Exchange) -> None:
        await exchange.write(HEAD + b"\r\nx")
        reached.set()
        while True:
            await exchange.write(b"x")
            await asyncio.sleep(0.001)

    reached = asyncio.Event()
    async with loopback_web() as web, asyncio.timeout(5):
        web.pages["/"] = hang
        task = asyncio.create_task(web.public_fetcher().fetch("http://one.example/"))
        await reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        while web.tasks:
            await asyncio.wait(set(web.tasks))

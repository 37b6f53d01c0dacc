"""Event streams over HTTP that end too early, too late, or are too much."""

import asyncio

import pytest

from core.mcp.http import ASIDES_MAX, REQUESTS_OPEN_MAX
from tests.core.mcp.http_server import Exchange, Handler, http_server
from tests.core.mcp.http_session import (
    answer,
    in_session,
    notification,
    opened,
    progress,
    replying,
    request,
    served,
    silent,
    silent_stream,
    streaming,
    text_of,
)


async def test_a_stream_that_the_server_closes_is_resumed_when_and_where_it_says() -> None:
    async def primed(exchange: Exchange) -> None:
        await exchange.stream()
        await exchange.event(lines="id: p1\nretry: 120\n")
        await exchange.end()
        times.append(asyncio.get_running_loop().time())

    async def rest(exchange: Exchange) -> None:
        times.append(asyncio.get_running_loop().time())
        await exchange.stream()
        await exchange.event(progress(1), lines="id: p2\n")
        await exchange.event(answer(), lines="id: p3\n")
        await exchange.end()

    times: list[float] = []
    async with served(GET=replying(405), tools__call=primed) as server:
        async with in_session(server) as (session, inbox):
            await server.saw("GET")
            server.on["GET"] = rest
            await session.send(request())
            assert [await inbox.get(), await inbox.get()] == [progress(1), answer()]
        assert server.seen[-2].headers["last-event-id"] == "p1"
    assert times[1] - times[0] >= 0.12


async def test_a_stream_that_breaks_again_and_again_is_resumed_from_its_last_event() -> None:
    async def part(exchange: Exchange) -> None:
        after = int(exchange.seen.headers.get("last-event-id", "0"))
        await exchange.stream()
        if after < 5:
            await exchange.event(progress(after + 1), lines=f"id: {after + 1}\nretry: 0\n")
            exchange.cut()
        else:
            await exchange.event(answer())
            await exchange.end()

    async with (
        served(GET=replying(405), tools__call=part) as server,
        in_session(server) as (session, inbox),
    ):
        await server.saw("GET")
        server.on["GET"] = part
        await session.send(request())
        got = [await inbox.get() for _ in range(6)]
    assert got == [*(progress(n) for n in range(1, 6)), answer()]


def breaking_off(lines: str = "", *, cut: bool = True) -> Handler:
    async def handler(exchange: Exchange) -> None:
        await exchange.stream()
        await exchange.event(progress(1), lines=lines)
        exchange.cut() if cut else await exchange.end()

    return handler


@pytest.mark.parametrize(
    ("handler", "text"),
    [
        (breaking_off(), "broke off in the middle of its answer, and can't be asked for the rest"),
        (
            breaking_off(cut=False),
            "ended its event stream before the answer, and can't be asked for the rest",
        ),
        (
            breaking_off("id: 1\nretry: 1\n"),
            "broke off in the middle of its answer; asked for the rest, it answered HTTP 405 "
            "(Method Not Allowed): it keeps nothing of a stream that was cut",
        ),
        (
            breaking_off("id: 1\nretry: 3600000\n"),
            "asks to be left alone for 3600 s in the middle of its answer",
        ),
        (
            breaking_off("id:  a\nretry: 1\n"),
            "broke off in the middle of its answer; asked for the rest, it can't be sent this: "
            "HTTP does not allow it in a header",
        ),
    ],
    ids=["cut", "ended", "no resumption", "far too late", "an id that is no header"],
)
async def test_a_stream_that_cannot_be_resumed_fails_its_request(
    handler: Handler, text: str
) -> None:
    async with (
        served(GET=replying(405), tools__call=handler) as server,
        in_session(server) as (session, inbox),
    ):
        await session.send(request())
        assert await inbox.get() == progress(1)
        assert text_of(await inbox.get()) == text
        assert not session.lost.is_set()


async def test_a_stream_that_is_resumed_in_vain_fails_its_request_in_the_end() -> None:
    handler = breaking_off("id: 1\nretry: 1\n", cut=False)
    async with (
        served(GET=replying(405), tools__call=handler) as server,
        in_session(server) as (session, inbox),
    ):
        await server.saw("GET")
        server.on["GET"] = replying(502, b"bad gateway")
        await session.send(request())
        assert await inbox.get() == progress(1)
        assert text_of(await inbox.get()) == (
            "answered HTTP 502 (Bad Gateway): it says 'bad gateway'; asked for the rest, it "
            "answered HTTP 502 (Bad Gateway): it says 'bad gateway'"
        )


async def test_an_answer_that_comes_over_the_servers_own_stream_ends_the_wait() -> None:
    async def asking(exchange: Exchange) -> None:
        asked.set()
        await silent_stream(exchange)
        closed.set()

    async def own(exchange: Exchange) -> None:
        await exchange.stream()
        await asked.wait()
        await exchange.event(answer())
        await exchange.gone.wait()

    asked, closed = asyncio.Event(), asyncio.Event()
    async with (
        served(GET=own, tools__call=asking) as server,
        in_session(server) as (session, inbox),
    ):
        await session.send(request())
        assert await inbox.get() == answer()
        await closed.wait()


async def big_stream(exchange: Exchange) -> None:
    await exchange.stream()
    await exchange.event(answer(exchange.id, "x" * 300_000))
    await exchange.end()


async def big_body(exchange: Exchange) -> None:
    await exchange.json(answer(exchange.id, "x" * 300_000))


async def test_a_large_answer_arrives_whole_either_way() -> None:
    async with served(a=big_stream, b=big_body) as server, opened(server) as (session, inbox):
        for method in ("a", "b"):
            await session.send(request(method))
            assert await inbox.get() == answer(said="x" * 300_000)


async def test_an_answer_over_the_cap_fails_its_request_alone() -> None:
    async with (
        served(a=big_stream, b=big_body) as server,
        opened(server, bytes_max=100_000) as (session, inbox),
    ):
        await session.send(request("a"))
        assert text_of(await inbox.get()) == "sent an event of more than 100,000 bytes"
        await session.send(request("b"))
        assert text_of(await inbox.get()) == "sent an answer of more than 100,000 bytes"
        await session.send(request())
        assert await inbox.get() == answer()


async def test_more_requests_than_may_be_open_are_refused_at_once() -> None:
    async with served(tools__call=silent) as server, opened(server) as (session, inbox):
        for number in range(REQUESTS_OPEN_MAX + 1):
            await session.send(request(number=number))
        refused = await inbox.get()
        assert refused["id"] == REQUESTS_OPEN_MAX
        assert text_of(refused) == f"has {REQUESTS_OPEN_MAX} requests open already"


async def test_a_server_that_takes_no_answers_is_lost_in_the_end() -> None:
    async with served(note=silent) as server, opened(server) as (session, _):
        for _ in range(ASIDES_MAX + 1):
            await session.send(notification("note"))
        assert session.loss == "does not take the answers to what it asks"


async def test_a_jar_of_too_many_cookies_is_emptied() -> None:
    async def feed(exchange: Exchange) -> None:
        number = len(exchange.server.seen)
        cookies = "\r\nset-cookie: ".join(f"c{number}-{i}={i}" for i in range(20))
        await exchange.json(answer(exchange.id), headers={"set-cookie": cookies})

    async with served(tools__call=feed) as server, opened(server) as (session, inbox):
        for number in range(6):
            await session.send(request(number=number))
            await inbox.get()
        counts = [seen.headers.get("cookie", "").count("=") for seen in server.seen]
    assert counts == [0, 20, 40, 0, 20, 40]


async def test_stray_text_is_kept_for_the_error_message() -> None:
    chatty = streaming(lines="data: hello, user\n\n")
    async with served(tools__call=chatty) as server, opened(server) as (session, inbox):
        assert session.stray_text is None
        await session.send(request())
        assert await inbox.get() == answer()
        assert session.stray_text == "hello, user"


async def test_a_message_that_json_cannot_say_is_refused() -> None:
    async with http_server() as server, opened(server) as (session, _):
        with pytest.raises(ValueError, match="surrogates"):
            await session.send({"jsonrpc": "2.0", "id": 1, "method": "\ud800"})
        assert server.seen == []

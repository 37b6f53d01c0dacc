"""A server that is busy is asked again after a pause, and not for ever."""

import asyncio

import pytest

from servers.web.errors import PageUnavailable, RateLimited
from servers.web.fetching.fetcher import GuardedFetcher
from servers.web.options import WebOptions
from tests.doubles import HandClock
from tests.servers.web.loopback import (
    Exchange,
    Handler,
    LoopbackWeb,
    Reply,
    loopback_web,
    page,
)


def fetcher(web: LoopbackWeb, clock: HandClock) -> GuardedFetcher:
    return GuardedFetcher(
        WebOptions(),
        resolver=web.resolve,
        connector=web.connect,
        timing=clock.timing,
    )


def in_turn(*replies: Reply | Handler) -> Handler:
    """A handler that gives one reply after the other, the last one for good."""
    left = list(replies)

    async def handle(exchange: Exchange) -> None:
        reply = left.pop(0) if len(left) > 1 else left[0]
        await (exchange.reply(reply) if isinstance(reply, Reply) else reply(exchange))

    return handle


def busy(status: int = 503, **headers: str) -> Reply:
    return Reply(status=status, headers={key.replace("_", "-"): headers[key] for key in headers})


async def cut(exchange: Exchange) -> None:
    exchange.cut()


async def cut_within(exchange: Exchange) -> None:
    await exchange.write(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf")
    exchange.cut()


async def short(exchange: Exchange) -> None:
    await exchange.write(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf")


@pytest.mark.parametrize("trouble", [busy(503), busy(429), cut, cut_within, short])
async def test_trouble_that_passes_is_waited_out(trouble: Reply | Handler) -> None:
    clock = HandClock()
    async with loopback_web() as web:
        web.pages["/"] = in_turn(trouble, trouble, page("here"))
        assert (await fetcher(web, clock).fetch("http://one.example/")).body == b"here"
    assert clock.pauses == [0.5, 1.0]
    assert len(web.resolved) == 3  # each connection is checked anew


async def test_the_pauses_are_drawn_so_that_not_all_come_back_at_once() -> None:
    clock = HandClock(drawn=0.5)
    async with loopback_web() as web:
        web.pages["/"] = in_turn(busy(), busy(retry_after="4"), page("here"))
        await fetcher(web, clock).fetch("http://one.example/")
    assert clock.pauses == pytest.approx([0.375, 4.2])


@pytest.mark.parametrize(
    ("trouble", "told", "status"),
    [
        (busy(503), "status 503: the server is in trouble", 503),
        (cut, "breaks off", None),
        (short, "breaks off", None),
    ],
)
async def test_trouble_that_stays_is_told_after_three_tries(
    trouble: Reply | Handler, told: str, status: int | None
) -> None:
    async with loopback_web() as web:
        web.pages["/"] = trouble
        with pytest.raises(PageUnavailable, match=told) as error:
            await fetcher(web, HandClock()).fetch("http://one.example/")
    assert error.value.status == status
    assert len(web.asked) == 3


async def test_a_server_that_stays_too_busy_is_a_limit() -> None:
    async with loopback_web() as web:
        web.pages["/"] = busy(429)
        with pytest.raises(RateLimited, match="status 429"):
            await fetcher(web, HandClock()).fetch("http://one.example/")
    assert len(web.asked) == 3


DATE = "Sun, 22 Nov 2026 12:00:00 GMT"


@pytest.mark.parametrize(
    ("headers", "pause"),
    [
        ({"retry_after": "3"}, 3.3),
        ({"retry_after": "0"}, 0.5),
        ({"retry_after": "Sun, 22 Nov 2026 12:00:04 GMT", "date": DATE}, 4.4),
        ({"retry_after": "Sun, 22 Nov 2026 11:00:00 GMT", "date": DATE}, 0.5),
        ({"retry_after": "Sun, 22 Nov 2026 12:00:04 GMT"}, 0.5),
        ({"retry_after": "soon"}, 0.5),
        ({"retry_after": "-5"}, 0.5),
        ({"retry_after": "1e3"}, 0.5),
    ],
)
async def test_the_pause_is_the_one_that_the_server_wants(
    headers: dict[str, str], pause: float
) -> None:
    clock = HandClock()
    async with loopback_web() as web:
        web.pages["/"] = in_turn(busy(429, **headers), page("here"))
        await fetcher(web, clock).fetch("http://one.example/")
    assert clock.pauses == pytest.approx([pause])


@pytest.mark.parametrize("wanted", ["16", "120", "9" * 20])
@pytest.mark.parametrize("status", [429, 503])
async def test_a_pause_that_is_too_long_is_left_to_the_caller(status: int, wanted: str) -> None:
    clock = HandClock()
    async with loopback_web() as web:
        web.pages["/"] = busy(status, retry_after=wanted)
        with pytest.raises(RateLimited, match="asks for a pause of") as error:
            await fetcher(web, clock).fetch("http://one.example/")
    assert (clock.pauses, len(web.asked)) == ([], 1)
    assert len(str(error.value)) < 200


async def test_pauses_end_with_the_time_of_the_whole() -> None:
    clock = HandClock()

    async def slow(exchange: Exchange) -> None:
        clock.seconds += 16
        await exchange.reply(busy())

    async with loopback_web() as web:
        web.pages["/"] = slow
        with pytest.raises(PageUnavailable, match="status 503"):
            await fetcher(web, clock).fetch("http://one.example/")
    assert len(web.asked) == 3
    assert clock.seconds < 50


async def test_data_that_may_have_arrived_is_not_sent_twice() -> None:
    async with loopback_web() as web:
        web.pages["/"] = in_turn(cut, page("here"))
        web.pages["/busy"] = in_turn(busy(429), page("here"))
        with pytest.raises(PageUnavailable, match="breaks off"):
            await fetcher(web, HandClock()).fetch("http://one.example/", form={"q": "x"})
        await fetcher(web, HandClock()).fetch("http://one.example/busy", form={"q": "x"})
    assert web.paths == ["/", "/busy", "/busy"]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 451, 500, 502, 206, 304, 999])
async def test_any_other_status_is_told_at_once_with_what_to_try(status: int) -> None:
    async with loopback_web() as web:
        web.pages["/"] = Reply(b"secret" * 20, status)
        with pytest.raises(PageUnavailable, match=f"status {status}: .*") as error:
            await fetcher(web, HandClock()).fetch("http://one.example/")
    assert error.value.status == status
    assert len(web.asked) == 1
    assert "secret" not in str(error.value)


async def test_one_attempt_ends_in_time_however_the_answer_drips() -> None:
    async def drip(exchange: Exchange) -> None:
        await exchange.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            await exchange.write(b".")
            await asyncio.sleep(0.01)

    async with loopback_web() as web:
        web.pages["/"] = drip
        fetcher = web.public_fetcher(WebOptions(timeout_seconds=0.2))
        with pytest.raises(PageUnavailable, match=r"takes longer than 0\.2 s, or 0\.3 s with"):
            await fetcher.fetch("http://one.example/")


async def test_a_name_server_that_never_answers_is_given_up_too() -> None:
    async def silent(host: str, port: int) -> list[str]:
        await asyncio.Event().wait()
        return []

    fetcher = GuardedFetcher(WebOptions(timeout_seconds=0.05), resolver=silent)
    with pytest.raises(PageUnavailable, match="takes longer"):
        await fetcher.fetch("http://one.example/")

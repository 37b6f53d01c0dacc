"""The limiter lets so many through in any minute, in the order of asking."""

import asyncio

import pytest

from servers.web.errors import RateLimited
from servers.web.rate_limit import WINDOW_SECONDS, RateLimiter


class Hours:
    """A clock that moves only when it is waited for, by whoever waits least."""

    def __init__(self, now: float = 1_000_000.1) -> None:
        self.now = now
        self._alarms: list[tuple[float, asyncio.Event]] = []

    def clock(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        alarm = (self.now + seconds, asyncio.Event())
        self._alarms.append(alarm)
        try:
            await alarm[1].wait()
        finally:
            self._alarms.remove(alarm)

    async def pass_by(self, seconds: float) -> None:
        """Let time pass, and all who wait for it act."""
        self.now += seconds
        for until, event in list(self._alarms):
            if until <= self.now:
                event.set()
        await settle()


async def settle() -> None:
    for _ in range(8):
        await asyncio.sleep(0)


def asking(limiter: RateLimiter, names: str, told: list[str]) -> list[asyncio.Task[None]]:
    async def ask(name: str) -> None:
        await limiter.acquire()
        told.append(name)

    return [asyncio.create_task(ask(name)) for name in names]


async def test_a_minute_sees_no_more_than_was_said_and_the_window_slides() -> None:
    hours, told = Hours(), list[str]()
    limiter = RateLimiter(2, clock=hours.clock, sleep=hours.sleep)
    asking(limiter, "a", told)
    await settle()
    await hours.pass_by(20)
    tasks = asking(limiter, "bcd", told)
    await settle()
    assert told == ["a", "b"]
    await hours.pass_by(39)
    assert told == ["a", "b"]
    await hours.pass_by(1)
    assert told == ["a", "b", "c"]
    await hours.pass_by(19)
    assert told == ["a", "b", "c"]
    await hours.pass_by(1)
    assert told == ["a", "b", "c", "d"]
    await asyncio.gather(*tasks)


async def test_no_two_waiting_callers_share_a_slot() -> None:
    hours, told = Hours(), list[str]()
    limiter = RateLimiter(3, clock=hours.clock, sleep=hours.sleep)
    tasks = asking(limiter, "abcdefgh", told)
    for most in (3, 6, 8):
        await settle()
        assert told == list("abcdefgh")[:most]
        await hours.pass_by(WINDOW_SECONDS)
    await asyncio.gather(*tasks)


async def test_a_cancelled_caller_gives_its_place_up() -> None:
    hours, told = Hours(), list[str]()
    limiter = RateLimiter(1, clock=hours.clock, sleep=hours.sleep)
    tasks = asking(limiter, "abcd", told)
    await settle()
    assert limiter.wait_seconds == pytest.approx(4 * WINDOW_SECONDS)
    tasks[1].cancel()  # the one whose turn is next
    tasks[2].cancel()  # and one behind it
    await settle()
    assert limiter.wait_seconds == pytest.approx(2 * WINDOW_SECONDS)
    await hours.pass_by(WINDOW_SECONDS)
    assert told == ["a", "d"]


async def test_a_wait_that_is_too_long_is_refused_and_takes_nothing() -> None:
    hours = Hours()
    limiter = RateLimiter(1, wait_seconds_max=59, clock=hours.clock, sleep=hours.sleep)
    await limiter.acquire()
    for _ in range(2):
        with pytest.raises(RateLimited, match="try again in 60 s"):
            await limiter.acquire()
    await hours.pass_by(1)
    task = asyncio.create_task(limiter.acquire())
    await hours.pass_by(WINDOW_SECONDS - 1)
    await task


@pytest.mark.parametrize("now", [0.0, 0.1, 1e9 + 0.3, 12345.678901])
async def test_a_slot_comes_after_exactly_the_pause_that_was_told(now: float) -> None:
    hours = Hours(now)
    limiter = RateLimiter(1, clock=hours.clock, sleep=hours.sleep)
    await limiter.acquire()
    await hours.pass_by(0.7)
    pause = limiter.wait_seconds
    assert pause == pytest.approx(WINDOW_SECONDS - 0.7)
    told = list[str]()
    tasks = asking(limiter, "a", told)
    await settle()
    await hours.pass_by(pause - 0.01)
    assert told == []
    await hours.pass_by(0.02)
    await asyncio.gather(*tasks)


def test_a_limit_of_nothing_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="1 or more"):
        RateLimiter(0)

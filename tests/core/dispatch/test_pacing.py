"""Waits between restarts, turns on a busy server, and listings that are asked for too often."""

import asyncio
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.backoff import FIRST_WINDOW_SECONDS, LONGEST_WINDOW_SECONDS, Backoff
from core.dispatch.life import Relisting
from core.dispatch.pacing import Turns
from core.mcp.hooks import Question, Reply, SessionHooks


def longest_waits(failures: int) -> list[float]:
    backoff = Backoff(lambda: 1.0)
    waits: list[float] = []
    for _ in range(failures + 1):
        waits.append(backoff.seconds())
        backoff.failed()
    return waits


def test_the_window_begins_at_nothing_and_doubles_up_to_a_bound() -> None:
    waits = longest_waits(7)
    assert waits[:3] == [0.0, FIRST_WINDOW_SECONDS, 2 * FIRST_WINDOW_SECONDS]
    assert waits == sorted(waits)
    assert waits[-1] == LONGEST_WINDOW_SECONDS


@given(st.integers(0, 2000), st.floats(0, 1))
def test_every_wait_lies_in_its_window(failures: int, drawn: float) -> None:
    backoff = Backoff(lambda: drawn)
    for _ in range(failures):
        backoff.failed()
    window = longest_waits(min(failures, 10))[-1]
    assert backoff.seconds() == pytest.approx(drawn * window)
    backoff.reset()
    assert backoff.seconds() == 0.0


async def test_turns_come_in_the_order_of_asking_and_no_more_at_once_than_agreed() -> None:
    turns = Turns(2)
    began: list[int] = []
    done = asyncio.Event()

    async def work(number: int) -> None:
        await turns.take(10)
        began.append(number)
        if number < 2:
            await done.wait()
        turns.give_back()

    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        for number in range(6):
            group.create_task(work(number))
        await _settled(lambda: len(began) == 2)
        done.set()
    assert began == [0, 1, 2, 3, 4, 5]


async def test_a_turn_that_is_free_costs_no_time_and_one_that_was_waited_for_does() -> None:
    turns = Turns(1)
    assert await turns.take(10) == 10
    waiting = asyncio.create_task(turns.take(10))
    await asyncio.sleep(0.01)
    turns.give_back()
    assert 9 < await waiting < 10


async def test_a_wait_that_is_cancelled_or_too_long_takes_no_turn() -> None:
    turns = Turns(1)
    await turns.take(10)
    cancelled = asyncio.create_task(turns.take(10))
    await asyncio.sleep(0)
    with pytest.raises(TimeoutError):
        await turns.take(0.01)
    cancelled.cancel()
    await asyncio.wait({cancelled})
    turns.give_back()
    assert await turns.take(0.01) == 0.01


@pytest.mark.parametrize("answered_first", [True, False])
async def test_no_wait_for_a_turn_ends_while_the_user_is_asked(*, answered_first: bool) -> None:
    turns = Turns(1)
    answered = asyncio.Event()

    async def ask(question: Question) -> Reply:
        await answered.wait()
        return Reply("accept")

    hooks = turns.standing_still(SessionHooks(ask=ask))
    await turns.take(10)
    waiting = asyncio.create_task(turns.take(0.05))
    asking = asyncio.create_task(_reply(hooks))
    await asyncio.sleep(0.1)  # twice the time that it would have had
    assert not waiting.done()
    if answered_first:
        answered.set()
        await asking
    turns.give_back()
    assert 0 < await waiting <= 0.05
    answered.set()
    await asking


async def _reply(hooks: SessionHooks) -> Reply:
    return await hooks.ask(Question("s", "Sure?"))


async def test_many_changes_make_one_listing_at_a_time_and_none_is_missed() -> None:
    began: list[asyncio.Event] = []

    async def relist() -> None:
        began.append(asyncio.Event())
        await began[-1].wait()

    relisting = Relisting(relist, pause_seconds=0)
    relisting.request()
    await asyncio.sleep(0)
    assert not began, "nothing is listed before the session is open"
    relisting.begin()
    async with asyncio.timeout(5):
        await _settled(lambda: len(began) == 1)
        for _ in range(100):
            relisting.request()
        began[0].set()
        await _settled(lambda: len(began) == 2)
        began[1].set()
    await relisting.aclose()
    relisting.request()
    await asyncio.sleep(0)
    assert len(began) == 2


async def test_a_listing_waits_after_the_one_before_it() -> None:
    listed = 0

    async def relist() -> None:
        nonlocal listed
        listed += 1

    relisting = Relisting(relist, pause_seconds=60)
    relisting.begin()
    for _ in range(3):
        relisting.request()
        await asyncio.sleep(0)
    assert listed == 1
    await relisting.aclose()


async def _settled(is_so: Callable[[], bool]) -> None:
    while not is_so():  # noqa: ASYNC110 - what is waited for is a list's length
        await asyncio.sleep(0)

"""Calls that wait for a busy server."""

import asyncio
from collections.abc import Callable

import pytest

from core.dispatch.connections import CallSlots
from core.mcp.hooks import Question, Reply, SessionHooks


async def test_turns_come_in_the_order_of_asking_and_no_more_at_once_than_agreed() -> None:
    slots = CallSlots(2)
    began: list[int] = []
    done = asyncio.Event()

    async def work(number: int) -> None:
        await slots.take(10)
        began.append(number)
        if number < 2:
            await done.wait()
        slots.give_back()

    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        for number in range(6):
            group.create_task(work(number))
        await _settled(lambda: len(began) == 2)
        done.set()
    assert began == [0, 1, 2, 3, 4, 5]


async def test_a_turn_that_is_free_costs_no_time_and_one_that_was_waited_for_does() -> None:
    slots = CallSlots(1)
    assert await slots.take(10) == 10
    waiting = asyncio.create_task(slots.take(10))
    await asyncio.sleep(0.01)
    slots.give_back()
    assert 9 < await waiting < 10


async def test_a_wait_that_is_cancelled_or_too_long_takes_no_turn() -> None:
    slots = CallSlots(1)
    await slots.take(10)
    cancelled = asyncio.create_task(slots.take(10))
    await asyncio.sleep(0)
    with pytest.raises(TimeoutError):
        await slots.take(0.01)
    cancelled.cancel()
    await asyncio.wait({cancelled})
    slots.give_back()
    assert await slots.take(0.01) == 0.01


async def test_no_wait_for_a_turn_ends_while_the_user_is_asked() -> None:
    slots = CallSlots(1)
    asked, answered = asyncio.Event(), asyncio.Event()

    async def ask(question: Question) -> Reply:
        asked.set()
        await answered.wait()
        return Reply("accept")

    hooks = slots.standing_still(SessionHooks(ask=ask))
    await slots.take(10)
    asking = asyncio.create_task(_reply(hooks))
    await asked.wait()
    waiting = asyncio.create_task(slots.take(0.2))
    await asyncio.sleep(0.25)
    assert not waiting.done()
    slots.give_back()
    assert 0 < await waiting <= 0.2
    answered.set()
    assert await asking == Reply("accept")


async def _reply(hooks: SessionHooks) -> Reply:
    return await hooks.ask(Question("s", "Sure?"))


async def _settled(is_so: Callable[[], bool]) -> None:
    while not is_so():  # noqa: ASYNC110 - what is waited for is a list's length
        await asyncio.sleep(0)

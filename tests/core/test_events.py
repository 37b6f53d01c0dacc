"""The rendezvous between a task and the reader of its events."""

import asyncio

import pytest

from core.events import Emit, Event, EventChannel, Notice


async def test_events_come_in_the_order_of_emission() -> None:
    async def work(emit: Emit) -> None:
        for number in range(3):
            await emit(Notice("loop", str(number)))

    seen = [event async for event in EventChannel().stream(work)]
    assert seen == [Notice("loop", "0"), Notice("loop", "1"), Notice("loop", "2")]


async def test_parallel_emitters_lose_nothing() -> None:
    async def work(emit: Emit) -> None:
        async with asyncio.TaskGroup() as group:
            for number in range(50):
                group.create_task(_emit(emit, number))

    seen = [event async for event in EventChannel().stream(work)]
    assert {e.text for e in seen if isinstance(e, Notice)} == {str(n) for n in range(50)}


async def _emit(emit: Emit, number: int) -> None:
    await emit(Notice("loop", str(number)))


async def test_what_the_work_raises_comes_out_after_its_events() -> None:
    async def work(emit: Emit) -> None:
        await emit(Notice("loop", "before"))
        raise ValueError("broken")

    seen: list[Event] = []

    async def read() -> None:
        async for event in EventChannel().stream(work):
            seen.append(event)

    with pytest.raises(ValueError, match="broken"):
        await read()
    assert seen == [Notice("loop", "before")]


async def test_work_without_events_ends() -> None:
    async def work(emit: Emit) -> None:
        return

    assert [event async for event in EventChannel().stream(work)] == []


async def test_work_that_tells_how_it_was_cancelled_does_not_wait_for_a_reader_that_has_left() -> (
    None
):
    begun, ended = asyncio.Event(), asyncio.Event()

    async def work(emit: Emit) -> None:
        try:
            begun.set()
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await emit(Notice("loop", "interrupted"))
        ended.set()

    async def read() -> None:
        async for _ in EventChannel().stream(work):
            raise AssertionError("there is no event")

    reader = asyncio.create_task(read())
    await begun.wait()
    reader.cancel()
    async with asyncio.timeout(5):
        await asyncio.wait({reader})
        await ended.wait()


async def test_a_reader_that_leaves_lets_work_go_on_that_ends_in_its_own_time() -> None:
    told: list[str] = []

    async def work(emit: Emit) -> None:
        async def all_of_it() -> None:
            for number in range(3):
                await emit(Notice("loop", str(number)))
                told.append(str(number))

        inner = asyncio.create_task(all_of_it())
        try:
            await asyncio.wait({inner})
        finally:
            async with asyncio.timeout(5):
                await asyncio.wait({inner})

    events = EventChannel().stream(work)
    async for _ in events:
        break
    await events.aclose()
    assert told == ["0", "1", "2"]

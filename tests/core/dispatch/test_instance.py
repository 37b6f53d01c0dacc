"""Listings that are asked for too often; for the rest see `tests/processes/test_restarts.py`."""

import asyncio
from collections.abc import Callable

from core.dispatch.instance import Relisting


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

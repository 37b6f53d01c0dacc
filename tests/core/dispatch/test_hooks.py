"""What servers log, handed on in order and without end to no one's harm."""

import asyncio

from core.dispatch.hooks import WAITING_MAX, LogPump


async def test_messages_arrive_in_order_however_slow_the_listener_is() -> None:
    heard: list[str] = []
    done = asyncio.Event()

    async def tell(server: str, level: str, text: str) -> None:
        await asyncio.sleep(0)
        heard.append(f"{server} {level} {text}")
        if text == "4":
            done.set()

    pump = LogPump(tell)
    for number in range(5):
        pump.put("box", "info", str(number))
    async with asyncio.timeout(5):
        await done.wait()
    await pump.aclose()
    assert heard == [f"box info {number}" for number in range(5)]


async def test_a_server_that_logs_too_fast_loses_messages_and_that_is_told() -> None:
    heard: list[tuple[str, str, str]] = []
    told = asyncio.Event()

    async def tell(server: str, level: str, text: str) -> None:
        heard.append((server, level, text))
        if "more log messages" in text:
            told.set()

    pump = LogPump(tell)
    for number in range(WAITING_MAX + 7):
        pump.put("box", "info", str(number))
    async with asyncio.timeout(5):
        await told.wait()
    await pump.aclose()
    assert heard[-1] == ("box", "warning", "7 more log messages came too fast")
    assert len(heard) == WAITING_MAX + 1


async def test_a_pump_that_was_closed_tells_no_more() -> None:
    async def tell(server: str, level: str, text: str) -> None:
        await asyncio.Event().wait()

    pump = LogPump(tell)
    pump.put("box", "info", "x")
    async with asyncio.timeout(5):
        await pump.aclose()
    await LogPump(tell).aclose()

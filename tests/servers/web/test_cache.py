"""What is kept is bounded in number and size, and a request lives as long as one waits for it."""

import asyncio

import pytest

from servers.web.cache import SharedCache


class Asked:
    """Answers with its key, once it is let; counts."""

    def __init__(self) -> None:
        self.count = 0
        self.begun, self.gate = asyncio.Event(), asyncio.Event()
        self.gate.set()

    async def __call__(self) -> str:
        self.count += 1
        self.begun.set()
        await self.gate.wait()
        return "answer"


async def test_the_ones_used_longest_ago_go_when_there_are_too_many_or_too_large_ones() -> None:
    asked = Asked()
    cache = SharedCache[str, str](lambda answer: 60, 3, size=len, size_max=12)
    for key in "abacb":  # 6 characters each: two fit
        await cache.get(key, asked)
    assert asked.count == 4
    await cache.get("b", asked)
    assert asked.count == 4


async def test_an_answer_is_kept_for_its_own_time() -> None:
    now = [0.0]
    asked = Asked()
    cache = SharedCache[str, str](lambda answer: len(answer), 3, clock=lambda: now[0])
    await cache.get("a", asked)
    now[0] = 5.9
    await cache.get("a", asked)
    assert asked.count == 1
    now[0] = 6.0
    await cache.get("a", asked)
    assert asked.count == 2


async def test_a_request_ends_with_the_last_who_waits() -> None:
    asked = Asked()
    asked.gate.clear()
    cache = SharedCache[str, str](lambda answer: 60, 3)
    tasks = [asyncio.create_task(cache.get("a", asked)) for _ in range(3)]
    await asked.begun.wait()
    tasks[0].cancel()
    await asyncio.wait(tasks[:1])
    asked.gate.set()
    assert await asyncio.gather(*tasks[1:]) == ["answer", "answer"]
    assert asked.count == 1
    asked.gate.clear()
    asked.begun.clear()
    last = asyncio.create_task(cache.get("b", asked))
    await asked.begun.wait()
    last.cancel()
    with pytest.raises(asyncio.CancelledError):
        await last
    asked.gate.set()
    assert await cache.get("b", asked) == "answer"
    assert asked.count == 3

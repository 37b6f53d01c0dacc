"""Answers that are kept for a while, and shared by those who ask for the same at once."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from core.base.clock import Clock

KeyT = TypeVar("KeyT", bound=Hashable)
ValueT = TypeVar("ValueT")


@dataclass(slots=True)
class _Running(Generic[ValueT]):
    """A request, and how many wait for it."""

    task: asyncio.Task[ValueT]
    waiting: int = 0


class SharedCache(Generic[KeyT, ValueT]):
    """Keeps answers by key; the ones used last stay. Belongs to one event loop.

    Who asks for what is being asked already waits for that one request, which goes on as long as
    one of them waits. Its error reaches all of them, and is not kept.
    """

    def __init__(
        self,
        seconds: Callable[[ValueT], float],
        entries_max: int,
        *,
        clock: Clock = time.monotonic,
        size: Callable[[ValueT], int] = lambda value: 1,
        size_max: int | None = None,
    ) -> None:
        """An answer is kept for its `seconds`; all of them together within `size_max`."""
        self._seconds = seconds
        self._entries_max = entries_max
        self._clock = clock
        self._size = size
        self._size_max = size_max
        self._kept: OrderedDict[KeyT, tuple[float, ValueT]] = OrderedDict()
        self._running: dict[KeyT, _Running[ValueT]] = {}

    async def get(
        self,
        key: KeyT,
        ask: Callable[[], Awaitable[ValueT]],
        is_enough: Callable[[ValueT], bool] = lambda value: True,
    ) -> ValueT:
        """The answer that is kept or on its way, if it is enough, else that of `ask`."""
        kept = self._fresh(key)
        if kept is not None and is_enough(kept):
            return kept
        if (running := self._running.get(key)) is not None:
            value = await self._awaited(key, running)
            if is_enough(value):
                return value
        started = _Running(asyncio.create_task(self._asked(key, ask)))
        self._running[key] = started
        return await self._awaited(key, started)

    def _fresh(self, key: KeyT) -> ValueT | None:
        until, value = self._kept.get(key, (0.0, None))
        if value is None or until <= self._clock():
            self._kept.pop(key, None)
            return None
        self._kept.move_to_end(key)
        return value

    async def _awaited(self, key: KeyT, running: _Running[ValueT]) -> ValueT:
        running.waiting += 1
        try:
            return await asyncio.shield(running.task)
        finally:
            running.waiting -= 1
            if not running.waiting:
                running.task.cancel()  # nobody is left; nothing happens if it has ended
            if (running.task.done() or not running.waiting) and self._running.get(key) is running:
                del self._running[key]

    async def _asked(self, key: KeyT, ask: Callable[[], Awaitable[ValueT]]) -> ValueT:
        value = await ask()
        if (seconds := self._seconds(value)) > 0:
            self._kept.pop(key, None)
            self._kept[key] = (self._clock() + seconds, value)
            while self._is_too_full():
                self._kept.popitem(last=False)
        return value

    def _is_too_full(self) -> bool:
        if len(self._kept) > self._entries_max:
            return True
        sizes = sum(self._size(value) for _, value in self._kept.values())
        return self._size_max is not None and sizes > self._size_max

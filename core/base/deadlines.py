"""Deadlines that stand still while the user is asked something."""

import asyncio
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager


class Deadlines:
    """The deadlines of all that may have to wait for a user; none runs while a question is open."""

    def __init__(self) -> None:
        """Nothing is bounded yet."""
        self._running: set[asyncio.Timeout] = set()
        self._seconds_left: dict[asyncio.Timeout, float] = {}
        self._questions = 0

    @asynccontextmanager
    async def within(self, seconds: float | None) -> AsyncGenerator[asyncio.Timeout]:
        """Bound what is inside; raises `TimeoutError` when the time is over."""
        async with asyncio.timeout(seconds) as deadline:
            if seconds is None:
                yield deadline
                return
            self._running.add(deadline)
            if self._questions:
                self._stop(deadline)
            try:
                yield deadline
            finally:
                self._running.discard(deadline)
                self._seconds_left.pop(deadline, None)

    @contextmanager
    def standing_still(self) -> Generator[None]:
        """Let no time pass for any of them while inside."""
        self._questions += 1
        if self._questions == 1:
            for deadline in self._running:
                self._stop(deadline)
        try:
            yield
        finally:
            self._questions -= 1
            if not self._questions:
                self._go_on()

    def _stop(self, deadline: asyncio.Timeout) -> None:
        if (when := deadline.when()) is not None and not deadline.expired():
            self._seconds_left[deadline] = when - asyncio.get_running_loop().time()
            deadline.reschedule(None)

    def _go_on(self) -> None:
        now = asyncio.get_running_loop().time()
        for deadline, left in self._seconds_left.items():
            deadline.reschedule(now + left)
        self._seconds_left.clear()

"""How long is waited: between tries, and by deadlines that stand still while the user is asked."""

import asyncio
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

from core.base.clock import Clock
from core.base.frozen import frozen

FIRST_WINDOW_SECONDS: Final = 0.5
"""The wait after one failure is drawn from between zero and this, hence a quarter second."""

LONGEST_WINDOW_SECONDS: Final = 8.0
"""The window doubles with each further failure in a row, up to this."""


@frozen
class Timing:
    """What time and chance waits go by; tests bring their own.

    `now` counts seconds, `sleep` waits for some, `draw` gives a number from 0 to 1.
    """

    now: Clock = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    draw: Callable[[], float] = random.random


JITTER_SHARE: Final = 0.25
"""So much of a pause is added by chance."""


def jittered(seconds: float, draw: Callable[[], float]) -> float:
    """A pause with some chance on top, so that many who were refused at once don't come back so."""
    return seconds * (1.0 + JITTER_SHARE * draw())


class Backoff:
    """Exponential backoff with full jitter (Brooker, "Exponential Backoff and Jitter", AWS, 2015).

    The wait is uniform between zero and a window that doubles: many who share a machine or a
    service don't try again in step. After a success there is none.
    """

    def __init__(self, draw: Callable[[], float]) -> None:
        """Nothing has failed yet; `draw` gives numbers from 0 to 1."""
        self._draw = draw
        self._failures = 0

    def failed(self) -> None:
        """Count one more failure in a row."""
        self._failures += 1

    def reset(self) -> None:
        """Begin at zero again."""
        self._failures = 0

    def seconds(self) -> float:
        """The wait before the next try; drawn anew each time."""
        if not self._failures:
            return 0.0
        # The exponent is bounded too: a float has room for a thousand doublings only.
        window = FIRST_WINDOW_SECONDS * 2.0 ** min(self._failures - 1, 32)
        return self._draw() * min(window, LONGEST_WINDOW_SECONDS)


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

    def seconds_left(self, deadline: asyncio.Timeout) -> float:
        """How much of its time one of them has left; 0 where it is over."""
        if deadline in self._seconds_left:
            return max(0.0, self._seconds_left[deadline])
        when = deadline.when()
        return 0.0 if when is None else max(0.0, when - asyncio.get_running_loop().time())

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

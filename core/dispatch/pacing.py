"""How many calls a server works on at once, and how long to wait before it is started again."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from core.base.deadlines import Deadlines
from core.mcp.hooks import Question, Reply, SessionHooks


class Turns:
    """The turns of one server. A caller takes one, and gives it back whatever happens.

    Waiting counts against the call's own time, but for the time in which the user is asked
    something: whoever works on the question holds up the others.
    """

    def __init__(self, at_once: int) -> None:
        """So many calls at once."""
        self._free = asyncio.Semaphore(at_once)
        self._deadlines = Deadlines()
        self._questions = 0
        self._asked_seconds = 0.0
        self._asked_since = 0.0

    async def take(self, seconds: float) -> float:
        """Wait for a turn; how much of the time is left. Costs nothing where nobody waits.

        Raises:
            TimeoutError: the time was over before the turn came.
        """
        if not self._free.locked():
            await self._free.acquire()
            return seconds
        began = self._passed()
        async with self._deadlines.within(seconds):
            await self._free.acquire()
        return max(0.0, seconds - (self._passed() - began))

    def give_back(self) -> None:
        """Let the next one in."""
        self._free.release()

    def standing_still(self, hooks: SessionHooks) -> SessionHooks:
        """The same hooks, with no time passing for those who wait while the user is asked."""

        async def ask(question: Question) -> Reply:
            with self._deadlines.standing_still(), self._asking():
                return await hooks.ask(question)

        return replace(hooks, ask=ask)

    @contextmanager
    def _asking(self) -> Generator[None]:
        self._questions += 1
        if self._questions == 1:
            self._asked_since = time.monotonic()
        try:
            yield
        finally:
            self._questions -= 1
            if not self._questions:
                self._asked_seconds += time.monotonic() - self._asked_since

    def _passed(self) -> float:
        """A clock that stands still while the user is asked."""
        now = self._asked_since if self._questions else time.monotonic()
        return now - self._asked_seconds


FIRST_WINDOW_SECONDS = 0.5
"""The wait after one failure is drawn from between zero and this, hence a quarter second."""

LONGEST_WINDOW_SECONDS = 8.0
"""The window doubles with each further failure in a row, up to this."""


@dataclass(frozen=True, slots=True)
class Pace:
    """What time and chance restarts go by; tests bring their own.

    `now` counts seconds, `sleep` waits for some, `draw` gives a number from 0 to 1.
    """

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    draw: Callable[[], float] = random.random


class Backoff:
    """Exponential backoff with full jitter (Brooker, "Exponential Backoff and Jitter", AWS, 2015).

    The wait is uniform between zero and a window that doubles: many agents that share a machine
    don't restart their servers in step. After a healthy life there is none.
    """

    def __init__(self, draw: Callable[[], float]) -> None:
        """Nothing has failed yet."""
        self._draw = draw
        self._failures = 0

    def failed(self) -> None:
        """Count one more failure in a row."""
        self._failures += 1

    def reset(self) -> None:
        """Begin at zero again."""
        self._failures = 0

    def seconds(self) -> float:
        """The wait before the next start; drawn anew each time."""
        if not self._failures:
            return 0.0
        # The exponent is bounded too: a float has room for a thousand doublings only.
        window = FIRST_WINDOW_SECONDS * 2.0 ** min(self._failures - 1, 32)
        return self._draw() * min(window, LONGEST_WINDOW_SECONDS)

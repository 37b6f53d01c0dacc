"""So many requests a minute, in the order in which they were asked for."""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable

from core.base.clock import Clock
from servers.web.errors import RateLimited
from servers.web.progress import tell

WINDOW_SECONDS = 60.0

TURN_SECONDS_MAX = 20.0
"""How long a tool's call waits for its turn: what is left of the minute that a call usually has is
for fetching and reading."""


class RateLimiter:
    """A sliding window: any 60 seconds see at most `requests_per_minute` starts.

    Callers wait in a row: the first sleeps until there is room and takes it, so no two share a
    slot, and when a waiting caller is cancelled, those behind move up. It belongs to one event
    loop.
    """

    def __init__(
        self,
        requests_per_minute: int = 30,
        *,
        wait_seconds_max: float | None = None,
        clock: Clock = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """A slot is waited for at most so long, if a bound is given.

        `clock` counts seconds, and `sleep` waits by it.

        Raises:
            ValueError: it would let nothing through.
        """
        if requests_per_minute < 1:
            raise ValueError(f"requests_per_minute must be 1 or more, not {requests_per_minute}")
        self._most = requests_per_minute
        self._wait_seconds_max = wait_seconds_max
        self._clock = clock
        self._sleep = sleep
        self._starts: deque[float] = deque()
        self._waiting: deque[object] = deque()
        self._turn = asyncio.Lock()

    async def acquire(self) -> None:
        """Wait for a slot.

        Raises:
            RateLimited: the slot would come too late; nothing is taken, and nobody is held up.
        """
        wait = self.wait_seconds
        if self._wait_seconds_max is not None and wait > self._wait_seconds_max:
            raise RateLimited(
                f"more than {self._most} requests a minute are not made; try again in {wait:.0f} s"
            )
        if wait >= 1:
            await tell(f"waiting {wait:.0f} s for its turn")
        place = object()
        self._waiting.append(place)
        try:
            async with self._turn:  # first come, first served
                while (pause := self._until_free(0)) > 0:
                    await self._sleep(pause)
                self._starts.append(self._clock())
        finally:
            self._waiting.remove(place)

    @property
    def wait_seconds(self) -> float:
        """How long one who asks now would wait, behind all who do already."""
        return self._until_free(len(self._waiting))

    def _until_free(self, ahead: int) -> float:
        """Seconds until there is room, once so many others have taken theirs."""
        now = self._clock()
        while self._starts and self._starts[0] + WINDOW_SECONDS <= now:
            self._starts.popleft()
        return max(0.0, self._slot(ahead, now) - now)

    def _slot(self, ahead: int, now: float) -> float:
        """When a request may start that has so many before it, given those of the window."""
        rounds, place = divmod(ahead + len(self._starts), self._most)
        if rounds == 0:
            return now
        # Each further round of `_most` starts lies a window behind the one before it.
        first = self._starts[place] if place < len(self._starts) else now
        return first + WINDOW_SECONDS * rounds

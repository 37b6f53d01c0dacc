"""How much of the event loop the messages of one server may take.

The bounds on a message (`core.mcp.density`) keep each short; this one keeps many of them apart.
"""

import asyncio
import time
from collections.abc import Callable

SLICE_SECONDS = 0.01
"""After so much work the other tasks have their turn, however much a server has sent at once."""

SHARE = 0.5
"""What one server may take of the time that passes; its messages wait in the pipe meanwhile."""

BURST_SECONDS = 0.25
"""What it may take at once before that counts."""


class ReadingBudget:
    """The time that the messages of one server take, in CPU seconds of the thread.

    The work is done inside of it, as of a context; between its steps whoever does it asks
    `is_turn_over`, and then waits for what `end_turn` says.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        cpu_clock: Callable[[], float] = time.thread_time,
    ) -> None:
        """Have the burst to spend."""
        self._clock = clock
        self._cpu_clock = cpu_clock
        self._left = BURST_SECONDS
        self._counted_at = clock()
        self._turn_seconds = self._began = 0.0

    @property
    def is_turn_over(self) -> bool:
        """Whether others must have their turn now."""
        return self._turn_seconds >= SLICE_SECONDS or self._left < 0

    def __enter__(self) -> None:
        """Count what is done from here on."""
        self._began = self._cpu_clock()

    def __exit__(self, *_: object) -> None:
        """Count no more."""
        spent = self._cpu_clock() - self._began
        self._turn_seconds += spent
        self._left -= spent

    def end_turn(self) -> float:
        """Begin a new turn; the seconds to wait before it."""
        now = self._clock()
        self._left = min(BURST_SECONDS, self._left + (now - self._counted_at) * SHARE)
        self._counted_at = now
        self._turn_seconds = 0.0
        return max(0.0, -self._left / SHARE)

    async def rest(self) -> None:
        """Let others have their turn, if it is over."""
        if self.is_turn_over:
            await asyncio.sleep(self.end_turn())

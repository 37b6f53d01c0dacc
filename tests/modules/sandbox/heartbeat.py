"""A timer that beats as often as the event loop lets it, and so sees what holds the loop up."""

import asyncio
import time
from types import TracebackType
from typing import Self

BEAT_SECONDS = 0.005


class Heartbeat:
    """Beats while it is entered.

    Attributes:
        beats: How often so far.
        longest_gap_seconds: How much later than due a beat came, at worst. Only time in which this
            process computed counts, in whatever thread: what else the machine does is not ours.
    """

    def __init__(self) -> None:
        """Don't beat yet."""
        self.beats = 0
        self.longest_gap_seconds = 0.0
        self._due = 0.0
        self._computed = 0.0
        self._next: asyncio.TimerHandle | None = None

    async def __aenter__(self) -> Self:
        """Begin, or begin again."""
        self._plan_next()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End; the gap that is open now counts too."""
        self._look()
        if self._next is not None:
            self._next.cancel()

    def _plan_next(self) -> None:
        self._due = time.perf_counter() + BEAT_SECONDS
        self._computed = time.process_time()
        self._next = asyncio.get_running_loop().call_later(BEAT_SECONDS, self._beat)

    def _beat(self) -> None:
        self.beats += 1
        self._look()
        self._plan_next()

    def _look(self) -> None:
        late = time.perf_counter() - self._due
        computed = time.process_time() - self._computed
        self.longest_gap_seconds = max(self.longest_gap_seconds, min(late, computed))

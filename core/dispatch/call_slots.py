"""How many calls a server works on at once; the others wait in the order in which they came."""

import asyncio
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace

from core.base.timing import Deadlines
from core.mcp.hooks import Question, Reply, SessionHooks


class CallSlots:
    """The slots of one server. A caller takes one, and gives it back whatever happens.

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
        """Wait for a slot; how much of the time is left. Costs nothing where nobody waits.

        Raises:
            TimeoutError: the time was over before one was free.
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

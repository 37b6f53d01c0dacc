"""How many calls a server works on at once; the others wait in the order in which they came."""

import asyncio
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

    async def take(self, seconds: float) -> float:
        """Wait for a slot; how much of the time is left. Costs nothing where nobody waits.

        Raises:
            TimeoutError: the time was over before one was free.
        """
        if not self._free.locked():
            await self._free.acquire()
            return seconds
        async with self._deadlines.within(seconds) as deadline:
            await self._free.acquire()
            return self._deadlines.seconds_left(deadline)

    def give_back(self) -> None:
        """Let the next one in."""
        self._free.release()

    def standing_still(self, hooks: SessionHooks) -> SessionHooks:
        """The same hooks, with no time passing for those who wait while the user is asked."""

        async def ask(question: Question) -> Reply:
            with self._deadlines.standing_still():
                return await hooks.ask(question)

        return replace(hooks, ask=ask)

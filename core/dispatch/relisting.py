"""Listing a server's tools again when it says that they have changed."""

import asyncio
from collections.abc import Awaitable, Callable

PAUSE_SECONDS = 1.0
"""After a listing the next one waits so long, whatever the server says meanwhile."""


class Relisting:
    """One listing at a time and about one a second at most, however many changes are told."""

    def __init__(
        self, relist: Callable[[], Awaitable[None]], pause_seconds: float = PAUSE_SECONDS
    ) -> None:
        """`relist` lists once and does not raise. Nothing is listed before `begin`."""
        self._relist = relist
        self._pause_seconds = pause_seconds
        self._wanted = False
        self._may_list = False
        self._task: asyncio.Task[None] | None = None

    def request(self) -> None:
        """The tools may have changed since the last listing began; never waits."""
        self._wanted = True
        if self._may_list and (self._task is None or self._task.done()):
            self._task = asyncio.create_task(self._run())

    def begin(self) -> None:
        """List from now on, and at once if a change was told already."""
        self._may_list = True
        if self._wanted:
            self.request()

    async def aclose(self) -> None:
        """List no more."""
        self._may_list = False
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def _run(self) -> None:
        while self._wanted:
            self._wanted = False
            await self._relist()
            await asyncio.sleep(self._pause_seconds)

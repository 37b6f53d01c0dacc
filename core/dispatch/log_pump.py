"""Hands on what servers log, in order, and no faster than it is dealt with."""

import asyncio
from collections.abc import Awaitable, Callable

WAITING_MAX = 200
"""So many messages wait to be told; a server that logs faster loses the rest, and that is told."""


class LogPump:
    """From the callbacks of sessions to a listener that takes its time."""

    def __init__(self, tell: Callable[[str, str, str], Awaitable[None]]) -> None:
        """`tell` gets server, level and text of each message."""
        self._tell = tell
        self._waiting: asyncio.Queue[tuple[str, str, str]] = asyncio.Queue(WAITING_MAX)
        self._dropped: dict[str, int] = {}
        self._pump: asyncio.Task[None] | None = None

    def put(self, server: str, level: str, text: str) -> None:
        """Take one message; never waits."""
        try:
            self._waiting.put_nowait((server, level, text))
        except asyncio.QueueFull:
            self._dropped[server] = self._dropped.get(server, 0) + 1
        if self._pump is None or self._pump.done():
            self._pump = asyncio.create_task(self._run())

    async def aclose(self) -> None:
        """Tell no more."""
        if self._pump is not None:
            self._pump.cancel()
            await asyncio.wait({self._pump})

    async def _run(self) -> None:
        """Tell what waits; ends when nothing does."""
        while not self._waiting.empty():
            await self._tell(*self._waiting.get_nowait())
        dropped, self._dropped = self._dropped, {}
        for server, count in dropped.items():
            await self._tell(server, "warning", f"{count:,} more log messages came too fast")

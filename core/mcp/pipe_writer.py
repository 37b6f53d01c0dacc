"""Writing lines to a server's stdin without ever blocking the event loop."""

import asyncio
import os
from collections.abc import Callable

from core.mcp.transport import TransportDown

UNSENT_BYTES_MAX = 64 * 1024
"""A request waits while more than this is waiting for room in the pipe."""

UNSENT_BYTES_CAP = 64 * 1024 * 1024
"""Answers to a server's own requests don't wait; if it asks and never reads, it is given up."""


class PipeWriter:
    """Lines go to the pipe at once while it has room, else when it has."""

    def __init__(self, descriptor: int, on_broken: Callable[[str], None]) -> None:
        """`on_broken` is told why the pipe takes no more, as a sentence's end after the server."""
        self._descriptor = descriptor
        self._on_broken = on_broken
        self._loop = asyncio.get_running_loop()
        self._unsent = bytearray()
        self._broken = False
        self._room = asyncio.Event()

    def write(self, line: bytes) -> None:
        """Send a line, or keep what the pipe has no room for yet.

        Raises:
            TransportDown: the server does not read any more, or the pipe was given up.
        """
        if self._broken:
            raise TransportDown("closed its input")
        if self._unsent:
            if len(self._unsent) > UNSENT_BYTES_CAP:
                self._break("stopped reading what it is sent")
                raise TransportDown("stopped reading what it is sent")
            self._unsent += line
            return
        sent = self._try_write(line)
        if self._broken:
            raise TransportDown("closed its input")
        if sent < len(line):
            self._unsent += memoryview(line)[sent:]
            self._loop.add_writer(self._descriptor, self._flush)

    async def wait_for_room(self) -> None:
        """Wait while too much is unsent, and no longer than the pipe is whole."""
        while len(self._unsent) > UNSENT_BYTES_MAX:
            self._room.clear()
            await self._room.wait()

    def break_off(self) -> None:
        """Send no more; what the pipe had no room for is dropped. Safe to call twice."""
        self._broken = True
        if self._unsent:
            self._unsent.clear()
            self._loop.remove_writer(self._descriptor)
        self._room.set()

    def _flush(self) -> None:
        del self._unsent[: self._try_write(self._unsent)]
        if len(self._unsent) <= UNSENT_BYTES_MAX:
            self._room.set()
        if not self._unsent:
            self._loop.remove_writer(self._descriptor)

    def _try_write(self, data: bytes | bytearray) -> int:
        try:
            return os.write(self._descriptor, data)
        except BlockingIOError:
            return 0
        except OSError:
            self._break("closed its input")
            return 0

    def _break(self, why: str) -> None:
        self.break_off()
        self._on_broken(why)

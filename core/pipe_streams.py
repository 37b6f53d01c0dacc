"""The pair of streams between the MCP SDK's session and a server's pipes.

Heavy: imports the SDK's types. They satisfy the SDK's `ReadStream` and `WriteStream`, and do
without the locks and the hand-over of anyio's memory streams: one reader, one event loop.
"""

import asyncio
import os
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Self

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCRequest

from core.wire import encode

UNREAD_MESSAGES_MAX = 1000
"""The pipe is not read while so many messages wait for the session."""

UNSENT_BYTES_MAX = 64 * 1024
"""A request waits while more than this is waiting for room in the pipe."""

UNSENT_BYTES_CAP = 64 * 1024 * 1024
"""Answers to a server's own requests don't wait; if it asks and never reads, it is given up."""


class Inbox:
    """The read stream: messages that have arrived, for one reader."""

    def __init__(self) -> None:
        self.closed = False
        self._ended = False
        self._items: deque[SessionMessage] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self.on_room: Callable[[], None] | None = None

    @property
    def waiting(self) -> int:
        """How many messages have arrived and were not taken."""
        return len(self._items)

    def put(self, message: SessionMessage) -> bool:
        """Add a message; false when no more should be read for now."""
        self._items.append(message)
        self._wake()
        return len(self._items) < UNREAD_MESSAGES_MAX

    def end(self) -> None:
        """No message will follow."""
        self._ended = True
        self._wake()

    async def receive(self) -> SessionMessage:
        """The next message; raises `anyio.EndOfStream` after the last."""
        try:
            return await self.__anext__()
        except StopAsyncIteration:
            raise anyio.EndOfStream from None

    async def aclose(self) -> None:
        """The session reads no more; what still comes is thrown away."""
        self.closed = True
        self._items.clear()
        self._tell_room()
        self.end()

    def __aiter__(self) -> Self:
        """The messages, until the end."""
        return self

    async def __anext__(self) -> SessionMessage:
        """The next message, waited for."""
        while not self._items:
            if self._ended:
                raise StopAsyncIteration
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        message = self._items.popleft()
        if len(self._items) == UNREAD_MESSAGES_MAX // 2:
            self._tell_room()
        return message

    async def __aenter__(self) -> Self:
        """Nothing to open."""
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        """Close."""
        await self.aclose()

    def _tell_room(self) -> None:
        if self.on_room is not None:
            self.on_room()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class Outbox:
    """The write stream: lines go to the pipe at once while it has room, else when it has."""

    def __init__(self, descriptor: int, on_broken: Callable[[str], None]) -> None:
        """`on_broken` is told why the pipe takes no more, as a sentence's end after the server."""
        self._descriptor = descriptor
        self._on_broken = on_broken
        self._loop = asyncio.get_running_loop()
        self._unsent = bytearray()
        self._broken = False
        self._closed = False
        self._room = asyncio.Event()

    async def send(self, item: SessionMessage, /) -> None:
        """Send one message; a request waits while the pipe is stuck.

        Other messages don't: a cancellation must not wait behind the call it cancels.

        Raises:
            anyio.ClosedResourceError: the stream was closed.
            anyio.BrokenResourceError: the server does not read any more.
            ValueError: the message is not expressible (`core.wire.encode`).
        """
        if self._closed:
            raise anyio.ClosedResourceError
        self._write(encode(item))
        if isinstance(item.message, JSONRPCRequest):
            while len(self._unsent) > UNSENT_BYTES_MAX:
                self._room.clear()
                await self._room.wait()
        if self._broken:
            raise anyio.BrokenResourceError

    async def aclose(self) -> None:
        """Send no more; what the pipe had no room for is dropped."""
        self._closed = True
        self.break_off()

    def break_off(self) -> None:
        """The other end is gone."""
        self._broken = True
        self._forget_unsent()

    async def __aenter__(self) -> Self:
        """Nothing to open."""
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        """Close."""
        await self.aclose()

    def _write(self, line: bytes) -> None:
        if self._broken:
            raise anyio.BrokenResourceError
        if self._unsent:
            if len(self._unsent) > UNSENT_BYTES_CAP:
                self._break("stopped reading what it is sent")
                raise anyio.BrokenResourceError
            self._unsent += line
            return
        sent = self._try_write(line)
        if sent < len(line) and not self._broken:
            self._unsent += memoryview(line)[sent:]
            self._loop.add_writer(self._descriptor, self._flush)

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

    def _forget_unsent(self) -> None:
        if self._unsent:
            self._unsent.clear()
            self._loop.remove_writer(self._descriptor)
        self._room.set()

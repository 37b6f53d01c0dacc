"""The stdio transport: JSON-RPC lines over the pipes of a server process, linear in their size.

The MCP Python SDK's own needs time quadratic in the size of a message (25 s for 50 MB) and goes
deaf after one byte of invalid UTF-8. This one reads the pipe in the event loop's callback, parses
each line there, in turns if it is long, and hands it over at once; writes go straight to the pipe
while it has room.
"""

import asyncio
import logging
import os
from collections import deque
from collections.abc import Callable, Generator
from contextlib import suppress

from core.mcp.peer import STRAY_TEXT_CHARACTERS_KEPT, Deliver, Transport, TransportDown
from core.mcp.wire import (
    MESSAGE_BYTES_MAX,
    SLICE_SECONDS,
    LineSplitter,
    MessageTooLong,
    ReadingBudget,
    encode,
    read_messages,
)
from core.process.server import ExitWatch, SpawnedServer, release, stop_server
from core.process.watchdog import StopGrace
from core.values import JsonObject

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


READ_BYTES = 256 * 1024
"""Read at once; a pipe holds 64 KiB by default on Linux, more where its size was raised."""

EXIT_DRAIN_SECONDS = 0.2
"""How long output may still arrive after the process ended, from a child that holds the pipe."""

_log = logging.getLogger(__name__)


class StdioTransport(Transport):
    """Speaks to a spawned server; closing it ends the server in order (`core.process.server`)."""

    def __init__(
        self,
        spawned: SpawnedServer,
        grace: StopGrace | None = None,
        message_bytes_max: int = MESSAGE_BYTES_MAX,
        budget: ReadingBudget | None = None,
    ) -> None:
        """Take over the process; nothing is read before the transport is opened."""
        super().__init__()
        self.spawned = spawned
        self.stray_lines = 0
        """How many lines were no JSON-RPC."""
        self._ended = False
        self._grace = grace or StopGrace()
        self._watch = ExitWatch(spawned)
        self._splitter = LineSplitter(message_bytes_max)
        self._lines: deque[bytes] = deque()
        """What was read and not yet dealt with; nothing more is read meanwhile."""
        self._reading: Generator[None, None, list[JsonObject]] | None = None
        """The first of them, read in part."""
        self._budget = budget or ReadingBudget()
        self._resumption: asyncio.Handle | None = None
        self._deliver: Deliver | None = None
        self._writer: PipeWriter | None = None
        self._after_exit: asyncio.Task[None] | None = None
        self._stdout = spawned.stdout.fileno()

    async def open(self, deliver: Deliver) -> None:
        """Begin to read what the server writes."""
        stdin = self.spawned.stdin.fileno()
        os.set_blocking(stdin, False)
        os.set_blocking(self._stdout, False)
        self._deliver = deliver
        self._writer = PipeWriter(stdin, on_broken=self._on_write_refused)
        await self._watch.__aenter__()
        self._after_exit = asyncio.create_task(self._end_after_exit())
        self._read_on()

    async def send(self, message: JsonObject) -> None:
        """Write one message; a request waits while the pipe is stuck.

        Others don't: a cancellation must not wait behind the call that it cancels.

        Raises:
            TransportDown: the server does not read any more, or the transport is closed.
            ValueError: the message can't be said in JSON.
        """
        line = encode(message)
        if self.is_down or self._writer is None:
            raise TransportDown(self.loss or "was closed")
        self._writer.write(line)
        if "method" in message and "id" in message:
            await self._writer.wait_for_room()

    def negotiated(self, protocol_version: str) -> None:
        """Take no notice: over stdio every version looks alike."""

    async def aclose(self) -> None:
        """End the server; what it still writes is read and thrown away meanwhile."""
        if self._closing:
            return
        self._closing = True
        was_lost = self.lost.is_set()
        self._deliver = None
        if self._writer is not None:
            self._writer.break_off()
        if self._after_exit is not None:
            self._after_exit.cancel()
        if self._resumption is not None:
            self._drop_lines()
            self._read_on()
        try:
            willing = await stop_server(self.spawned, self._watch, self._grace, lost=was_lost)
        finally:
            self._stop_reading()
            await self._watch.__aexit__(None, None, None)
            release(self.spawned)
        if (
            was_lost
            and self._ended
            and willing
            and (ending := _ending(self.spawned.process.returncode))
        ):
            self.loss = ending

    def _read_on(self) -> None:
        asyncio.get_running_loop().add_reader(self._stdout, self._on_readable)

    def _stop_reading(self) -> None:
        self._drop_lines()
        asyncio.get_running_loop().remove_reader(self._stdout)

    def _on_readable(self) -> None:
        try:
            chunk = os.read(self._stdout, READ_BYTES)
        except BlockingIOError:
            return
        except OSError as error:
            self._lose(f"can't be read from any more ({error.strerror})")
            return
        if not chunk:
            self._ended = True
            self._lose("closed its output")
        elif not self._closing:
            self._take(chunk)

    def _take(self, chunk: bytes) -> None:
        try:
            with self._budget:
                self._lines.extend(self._splitter.feed(chunk))
                if self._lines:
                    self._deal_with_line()
            while self._lines and not self._budget.is_turn_over:
                with self._budget:
                    self._deal_with_line()
        except MessageTooLong as cap:
            self._lose(f"sent a message {cap}")
            return
        pause_seconds = self._budget.end_turn()
        if not self.is_down and (self._lines or pause_seconds):
            loop = asyncio.get_running_loop()
            loop.remove_reader(self._stdout)
            self._resumption = loop.call_later(pause_seconds, self._resume)

    def _resume(self) -> None:
        """Deal with some more lines; read on once there are none."""
        self._resumption = None
        self._take(b"")
        if self._resumption is None and not self.is_down:
            self._read_on()

    def _deal_with_line(self) -> None:
        """Read a slice of the first line, and deliver what it holds once it is read."""
        if self._reading is None:
            self._reading = read_messages(self._lines[0])
        try:
            next(self._reading)
        except StopIteration as done:
            messages: list[JsonObject] = done.value
        else:
            return
        line, self._reading = self._lines.popleft(), None
        if not messages:
            self._note_stray(line)
        for message in messages:
            if self._deliver is not None:
                self._deliver(message)

    def _drop_lines(self) -> None:
        self._lines.clear()
        self._reading = None
        if self._resumption is not None:
            self._resumption.cancel()
            self._resumption = None

    def _note_stray(self, line: bytes) -> None:
        text = line[: STRAY_TEXT_CHARACTERS_KEPT * 4].decode("utf-8", "replace").strip()
        text = text[:STRAY_TEXT_CHARACTERS_KEPT]
        if text:
            self.stray_lines += 1
            self.stray_text = self.stray_text or text
            _log.debug("server '%s' wrote no JSON-RPC: %s", self.spawned.spec.id, text)

    def _lose(self, why: str) -> None:
        """End the session: every open call fails as soon as the session sees it."""
        self._stop_reading()
        if self._closing:
            return  # the end of its pipes is what we asked for
        if self.loss is None:
            self.loss = why
        self._deliver = None
        self.lost.set()
        if self._writer is not None:
            self._writer.break_off()

    def _on_write_refused(self, why: str) -> None:
        self._ended = True
        self._lose(why)

    async def _end_after_exit(self) -> None:
        with suppress(asyncio.CancelledError):
            await self._watch.exited.wait()
            await asyncio.sleep(EXIT_DRAIN_SECONDS)
            while self._lines:  # noqa: ASYNC110 - they end soon: none is added any more
                await asyncio.sleep(SLICE_SECONDS)
            self._ended = True
            self._lose("ended")


def _ending(returncode: int | None) -> str | None:
    """How a process ended, as the end of a sentence that begins with the server."""
    if returncode is None:
        return None
    if returncode >= 0:
        return f"exited with code {returncode}"
    return f"was ended by signal {-returncode}"

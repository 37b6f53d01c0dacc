"""Our stdio transport for the MCP SDK's `Client`: linear in the size of a message.

Heavy: imports the MCP SDK. The SDK's own stdio client needs time quadratic in the size of a
message (5 s for 10 MB) and goes deaf after one byte of invalid UTF-8. This one reads the pipe
in the event loop's callback, parses each line there, and hands it over without a lock; writes go
straight to the pipe while it has room (`core.pipe_streams`).

The session on top sees a pair of streams. When the server dies, closes its pipe or breaks the
size cap, the read stream ends, whereupon the SDK fails every open call at once; `lost` is set
and `loss` says why.
"""

import asyncio
import logging
import os
from contextlib import suppress
from types import TracebackType

from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage

from core.pipe_streams import Inbox, Outbox
from core.shutdown import ExitWatch, stop_server
from core.spawn import SpawnedServer, StopGrace, release
from core.wire import MESSAGE_BYTES_MAX, LineSplitter, MessageTooLong, parse_line

READ_BYTES = 256 * 1024
"""Read at once; a pipe holds 64 KiB by default on Linux, more where its size was raised."""

EXIT_DRAIN_SECONDS = 0.2
"""How long output may still arrive after the process ended, from a child that holds the pipe."""

STRAY_TEXT_CHARACTERS_KEPT = 120
"""How much of the first line that was no JSON-RPC is kept for error messages."""

_log = logging.getLogger(__name__)


class StdioTransport:
    """Speaks to a spawned server; leaving it ends the server in order (see `core.shutdown`).

    Enter and leave it in one task, once.
    """

    def __init__(
        self,
        spawned: SpawnedServer,
        grace: StopGrace | None = None,
        message_bytes_max: int = MESSAGE_BYTES_MAX,
    ) -> None:
        """Take over the process; nothing is read before the transport is entered."""
        self.spawned = spawned
        self.lost = asyncio.Event()
        self.loss: str | None = None
        """Why the session broke down: the end of a sentence that begins with the server."""
        self.stray_lines = 0
        """How many lines were no JSON-RPC."""
        self.stray_text: str | None = None
        """The beginning of the first of them."""
        self._ended = False
        self._grace = grace or StopGrace()
        self._watch = ExitWatch(spawned)
        self._splitter = LineSplitter(message_bytes_max)
        self._inbox = Inbox()
        self._outbox: Outbox | None = None
        self._after_exit: asyncio.Task[None] | None = None
        self._stdout = spawned.stdout.fileno()

    @property
    def is_down(self) -> bool:
        """Whether no call can be answered any more: lost, or being closed."""
        return self.lost.is_set() or self._inbox.closed

    async def __aenter__(self) -> TransportStreams:
        """The streams that the SDK's `Client` talks through."""
        stdin = self.spawned.stdin.fileno()
        os.set_blocking(stdin, False)
        os.set_blocking(self._stdout, False)
        self._outbox = Outbox(stdin, on_broken=self._on_write_refused)
        await self._watch.__aenter__()
        self._inbox.on_room = self._read_on
        self._after_exit = asyncio.create_task(self._end_after_exit())
        self._read_on()
        return self._inbox, self._outbox

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the server; what it still writes is read and thrown away meanwhile."""
        was_lost = self.lost.is_set()
        await self._inbox.aclose()
        if self._outbox is not None:
            await self._outbox.aclose()
        if self._after_exit is not None:
            self._after_exit.cancel()
        try:
            willing = await stop_server(self.spawned, self._watch, self._grace, lost=was_lost)
        finally:
            self._inbox.on_room = None
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
        if self.loss is None:
            asyncio.get_running_loop().add_reader(self._stdout, self._on_readable)

    def _stop_reading(self) -> None:
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
        elif not self._inbox.closed:
            self._take(chunk)

    def _take(self, chunk: bytes) -> None:
        try:
            for line in self._splitter.feed(chunk):
                message = parse_line(line)
                if message is None:
                    self._note_stray(line)
                elif not self._inbox.put(SessionMessage(message)):
                    self._stop_reading()
        except MessageTooLong as cap:
            self._lose(f"sent a message of more than {cap}")

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
        if self._inbox.closed:
            return  # it is being closed; the end of its pipes is what we asked for
        if self.loss is None:
            self.loss = why
        self.lost.set()
        self._inbox.end()
        if self._outbox is not None:
            self._outbox.break_off()

    def _on_write_refused(self, why: str) -> None:
        self._ended = True
        self._lose(why)

    async def _end_after_exit(self) -> None:
        with suppress(asyncio.CancelledError):
            await self._watch.exited.wait()
            await asyncio.sleep(EXIT_DRAIN_SECONDS)
            self._ended = True
            self._lose("ended")


def _ending(returncode: int | None) -> str | None:
    """How a process ended, as the end of a sentence that begins with the server."""
    if returncode is None:
        return None
    if returncode >= 0:
        return f"exited with code {returncode}"
    return f"was ended by signal {-returncode}"

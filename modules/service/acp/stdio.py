"""The lines of our own stdin and stdout, for a client that has started this process.

Whatever else is printed goes to stderr: stdout carries the protocol alone.
"""

import asyncio
import errno
import json
import os
import re
import sys
from contextlib import suppress
from typing import Final

from pydantic_core import from_json

from core.base.json_text import excess
from core.mcp.peer import Deliver, Transport, TransportDown
from core.mcp.stdio import READ_BYTES, PipeWriter
from core.mcp.wire import (
    INVALID_REQUEST,
    MESSAGE_BYTES_MAX,
    LineSplitter,
    MessageTooLong,
    encode,
    error_reply,
)
from core.values import Json, JsonObject

PARSE_ERROR: Final = -32700
"""JSON-RPC's code for what is no JSON."""

_ID_BYTES_SEARCHED: Final = 200
_ID: Final = re.compile(
    rb'\A\s*\{(?:\s*"jsonrpc"\s*:\s*"2\.0"\s*,)?\s*"id"\s*:\s*(\d{1,18}|"[^"\\]{1,100}")\s*,'
)
"""The id of a message that can't be read as a whole, where it stands at the beginning."""


class OwnStdio(Transport):
    """Speaks to the client at the other end of two descriptors, which it owns.

    A line that can't be used is answered, and costs nothing else. `lost` is set when the client
    closes its end.
    """

    def __init__(
        self, reading: int, writing: int, message_bytes_max: int = MESSAGE_BYTES_MAX
    ) -> None:
        """Read nothing yet."""
        super().__init__()
        self._reading = reading
        self._writing = writing
        self._bytes_max = message_bytes_max
        self._splitter = LineSplitter(message_bytes_max)
        self._is_skipping = False
        self._deliver: Deliver | None = None
        self._writer: PipeWriter | None = None
        self._reader: asyncio.Task[None] | None = None

    async def open(self, deliver: Deliver) -> None:
        """Begin to read."""
        os.set_blocking(self._writing, False)
        self._deliver = deliver
        self._writer = PipeWriter(self._writing, on_broken=self._lose)
        self._reader = asyncio.create_task(self._read())

    async def send(self, message: JsonObject) -> None:
        """Write one message; waits while the pipe is stuck, so that nothing piles up here.

        Answers don't wait: there are no more of them than requests.

        Raises:
            TransportDown: nobody reads any more, or the transport is closed.
            ValueError: the message can't be said in JSON.
        """
        line = encode(message)
        if self.is_down or self._writer is None:
            raise TransportDown(self.loss or "was closed")
        self._writer.write(line)
        if "method" in message:
            await self._writer.wait_for_room()

    def negotiated(self, protocol_version: str) -> None:
        """Take no notice: every version looks alike."""

    async def aclose(self) -> None:
        """Read and write no more; what stdout had no room for is dropped."""
        if self._closing:
            return
        self._closing = True
        self._deliver = None
        if self._reader is not None:
            self._reader.cancel()
            await asyncio.wait({self._reader})
        if self._writer is not None:
            self._writer.break_off()
        os.set_blocking(self._writing, True)  # the descriptor may be the terminal's, too
        for descriptor in (self._reading, self._writing):
            os.close(descriptor)

    async def _read(self) -> None:
        try:
            while chunk := await _next_chunk(self._reading):
                for line in self._lines(chunk):
                    await self._take(line)
        except OSError as error:
            self._lose(f"can't be read from any more ({error.strerror})")
        else:
            self._lose("closed its output")

    def _lines(self, chunk: bytes) -> list[bytes]:
        """The lines that a chunk completes; one that is too long is answered and passed over."""
        if self._is_skipping:
            _, end, chunk = chunk.partition(b"\n")
            if not end:
                return []
            self._is_skipping = False
        try:
            return self._splitter.feed(chunk)
        except MessageTooLong as cap:
            self._splitter = LineSplitter(self._bytes_max)
            self._refuse(None, f"a message {cap} is not read; send less", INVALID_REQUEST)
            _, end, rest = chunk.partition(b"\n")
            self._is_skipping = not end
            return self._lines(rest) if end else []

    async def _take(self, line: bytes) -> None:
        """Deliver what a line holds; others have their turn while it is counted."""
        surplus: str | None = None
        counting = excess(line)
        while True:
            try:
                next(counting)
            except StopIteration as done:
                surplus = done.value
                break
            await asyncio.sleep(0)
        if surplus is not None:
            self._refuse(_id_of(line), f"the message holds {surplus}; send less", INVALID_REQUEST)
        elif line.strip():
            self._deal_with(line)

    def _deal_with(self, line: bytes) -> None:
        try:
            message: Json = from_json(line, allow_inf_nan=False)
        except ValueError as error:
            why = f"a line is one JSON-RPC message, and this one is no JSON: {error}"
            self._refuse(_id_of(line), why, PARSE_ERROR)
            return
        if not isinstance(message, dict):
            kind = "a batch" if isinstance(message, list) else "no object"
            self._refuse(None, f"a line is one JSON-RPC message, and this one is {kind}")
        elif "method" in message and not isinstance(message["method"], str):
            self._refuse(_plain_id(message), "'method' is the name of a method")
        elif "method" not in message and "result" not in message and "error" not in message:
            self._refuse(_plain_id(message), "a message has 'method', 'result' or 'error'")
        elif "id" in message and "method" in message and _plain_id(message) is None:
            self._refuse(None, "'id' is a text or a whole number")
        elif self._deliver is not None:
            self._deliver(message)

    def _refuse(self, reply_to: int | str | None, why: str, code: int = INVALID_REQUEST) -> None:
        with suppress(TransportDown):
            if self._writer is not None:
                self._writer.write(encode(error_reply(reply_to, why, code)))

    def _lose(self, why: str) -> None:
        if self.loss is None:
            self.loss = why
        self._deliver = None
        self.lost.set()


def take_stdio() -> OwnStdio:
    """Our stdin and stdout as a transport; in their places stand /dev/null and stderr.

    So nothing that prints can break into the protocol, and no child reads from it.
    """
    sys.stdout.flush()
    transport = OwnStdio(os.dup(0), os.dup(1))
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    return transport


async def _next_chunk(descriptor: int) -> bytes:
    """What comes next from a pipe, a terminal or a file; empty at its end.

    Read in the loop's own callback: a second wake-up for the same bytes would block the loop.

    Raises:
        OSError: nothing can be read any more.
    """
    loop = asyncio.get_running_loop()
    chunk: asyncio.Future[bytes] = loop.create_future()

    def read() -> None:
        loop.remove_reader(descriptor)
        try:
            chunk.set_result(os.read(descriptor, READ_BYTES))
        except OSError as error:
            # a terminal whose other end is gone has ended
            chunk.set_result(b"") if error.errno == errno.EIO else chunk.set_exception(error)

    try:
        loop.add_reader(descriptor, read)
    except PermissionError:  # a file, which epoll does not take, and which never blocks
        await asyncio.sleep(0)
        return os.read(descriptor, READ_BYTES)
    try:
        return await chunk
    finally:
        loop.remove_reader(descriptor)


def _id_of(line: bytes) -> int | str | None:
    """The id of a message that is not read, where it stands at its beginning."""
    found = _ID.match(line[:_ID_BYTES_SEARCHED])
    return None if found is None else json.loads(found[1])


def _plain_id(message: JsonObject) -> int | str | None:
    """The id of a message; None where it is none that can be answered to."""
    reply_to = message.get("id")
    is_one = isinstance(reply_to, int | str) and not isinstance(reply_to, bool)
    return reply_to if is_one and isinstance(reply_to, int | str) else None

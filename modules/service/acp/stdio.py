"""The lines of our own stdin and stdout as a transport. A line that can't be used is answered."""

import asyncio
import os
from contextlib import suppress
from typing import BinaryIO, Final

from anyio import to_thread
from pydantic_core import from_json

from core.base.json_text import at_once, excess
from core.mcp.peer import Deliver, RpcError, Transport, TransportDown
from core.mcp.stdio import PipeWriter
from core.mcp.wire import INVALID_REQUEST, MESSAGE_BYTES_MAX, encode
from core.tools.json_schema import as_object
from core.values import Json, JsonObject
from modules.service.own_stdio import next_line

PARSE_ERROR: Final = -32700
"""JSON-RPC's code for what is no JSON."""

_KINDS: Final = ("method", "result", "error")

_FORM: Final = (
    "a line is one JSON-RPC message: an object with the name of a 'method', a 'result' or an "
    "'error', whose 'id' is a text or a whole number"
)


class OwnStdio(Transport):
    """Speaks to the client that started this process; `lost` is set when that closes its end."""

    def __init__(
        self, stdin: BinaryIO, stdout: BinaryIO, line_bytes_max: int = MESSAGE_BYTES_MAX
    ) -> None:
        """Read nothing yet."""
        super().__init__()
        self._stdin = stdin
        self._stdout = stdout
        self._is_one = os.path.sameopenfile(stdin.fileno(), stdout.fileno())  # as a terminal is
        self._bytes_max = line_bytes_max
        self._writer: PipeWriter | None = None
        self._reader: asyncio.Task[None] | None = None

    async def open(self, deliver: Deliver) -> None:
        """Begin to read."""
        if not self._is_one:  # else reading would not wait any more either
            os.set_blocking(self._stdout.fileno(), False)
        self._writer = PipeWriter(self._stdout.fileno(), on_broken=self._lose)
        self._reader = asyncio.create_task(self._read(deliver))

    async def send(self, message: JsonObject) -> None:
        """Write one message; waits while the pipe is stuck, so that nothing piles up here.

        Answers don't wait: there are no more of them than requests.

        Raises:
            TransportDown: nobody reads any more, or the transport is closed.
            ValueError: the message can't be said in JSON.
        """
        writer = self._put(message)
        if "method" in message:
            await writer.wait_for_room()

    def negotiated(self, protocol_version: str) -> None:
        """Take no notice: every version looks alike."""

    async def aclose(self) -> None:
        """Read and write no more; what stdout had no room for is dropped.

        A thread that waits for stdin is left behind: the process ends soon after.
        """
        self._closing = True
        if self._reader is not None:
            self._reader.cancel()
        if self._writer is not None:
            self._writer.break_off()
            os.set_blocking(self._stdout.fileno(), True)  # it may be the terminal's, too

    async def _read(self, deliver: Deliver) -> None:
        while True:
            try:
                message = await to_thread.run_sync(self._next, abandon_on_cancel=True)
            except RpcError as error:
                fault: JsonObject = {"code": error.code, "message": str(error)}
                with suppress(TransportDown):
                    self._put({"jsonrpc": "2.0", "id": error.data, "error": fault})
            except OSError as error:  # such as a terminal whose other end is gone
                return self._lose(f"can't be read from any more ({error.strerror})")
            else:
                if message is None:
                    return self._lose("closed its output")
                deliver(message)

    def _next(self) -> JsonObject | None:
        """The next message; None where there are no more. Blocks."""
        while line := next_line(self._stdin, self._bytes_max):
            if line.strip():
                return message_on(line, self._bytes_max)
        return None

    def _put(self, message: JsonObject) -> PipeWriter:
        line = encode(message)
        if self.is_down or self._writer is None:
            raise TransportDown(self.loss or "was closed")
        self._writer.write(line)
        return self._writer

    def _lose(self, why: str) -> None:
        self.loss = self.loss or why
        self.lost.set()


def message_on(line: bytes, bytes_max: int) -> JsonObject:
    """The JSON-RPC message on a line; what it holds is counted before it is read.

    Raises:
        RpcError: there is none, or it holds too much; `data` is its id if that can be told.
    """
    if len(line) > bytes_max:
        told = f"a message of more than {bytes_max:,} bytes is not read; send less"
        raise RpcError(INVALID_REQUEST, told)
    if (surplus := at_once(excess(line))) is not None:
        raise RpcError(INVALID_REQUEST, f"the message holds {surplus}; send less")
    try:
        message: Json = from_json(line, allow_inf_nan=False)
    except ValueError as error:
        raise RpcError(PARSE_ERROR, f"the line is no JSON: {error}") from None
    fields = as_object(message)
    id_ = fields.get("id")
    reply_to = id_ if isinstance(id_, int | str) and not isinstance(id_, bool) else None
    has_kind = isinstance(fields.get("method", ""), str) and not fields.keys().isdisjoint(_KINDS)
    if not has_kind or ("id" in fields and reply_to is None):
        raise RpcError(INVALID_REQUEST, _FORM, reply_to)
    return fields

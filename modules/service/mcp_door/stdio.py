"""The door over stdin and stdout, as MCP clients start it: one JSON-RPC message a line.

The SDK's own transport can't be cancelled while it waits for stdin, and takes lines of any length.
"""

import logging
import time
from contextlib import suppress
from functools import partial
from typing import BinaryIO, Final

import anyio
from anyio import to_thread
from anyio.streams.memory import MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter
from pydantic import ValidationError

from modules.service.agents import AgentSetting
from modules.service.mcp_door.door import McpDoor
from modules.service.own_stdio import next_line, take_stdio
from modules.service.pool import AgentPool
from modules.service.served.runs import Runs

log = logging.getLogger(__name__)

LINE_BYTES_MAX: Final = 4 * 1024 * 1024
"""A longer message is passed over; a request may be some 400,000 bytes long."""

WRITE_SECONDS: Final = 5.0
"""So long a client that has closed stdin may take to read its last answers."""


async def serve_agent(setting: AgentSetting) -> None:
    """Serve the client that started this process with agents made like this."""
    async with AgentPool(setting, time.monotonic) as pool, McpDoor(Runs(pool)) as door:
        await serve_stdio(door)


async def serve_stdio(door: McpDoor) -> None:
    """Serve the client that started this process, until it closes stdin or goes away."""
    server, is_written = door.server, anyio.Event()
    sends_in, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    sends_out, written = anyio.create_memory_object_stream[SessionMessage](0)

    async def write(stdout: BinaryIO) -> None:
        with suppress(BrokenPipeError):  # the client went away without closing stdin first
            async with written:
                async for message in written:
                    line = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                    out = partial(_put, stdout, f"{line}\n".encode())
                    await to_thread.run_sync(out, abandon_on_cancel=True)
            is_written.set()
            return
        both.cancel_scope.cancel()

    stdin, stdout = take_stdio()
    async with anyio.create_task_group() as both:
        both.start_soon(_read, stdin, sends_in)
        both.start_soon(write, stdout)
        await server.run(received, sends_out, server.create_initialization_options())
        with anyio.move_on_after(WRITE_SECONDS):
            await is_written.wait()
        both.cancel_scope.cancel()


async def _read(
    stdin: BinaryIO, messages: MemoryObjectSendStream[SessionMessage | Exception]
) -> None:
    """Hand on what the client writes; a thread that waits for it is left behind at the end."""
    async with messages:
        while line := await to_thread.run_sync(_line_of, stdin, abandon_on_cancel=True):
            try:
                message = SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
            except ValidationError as error:
                await messages.send(error)
                continue
            await messages.send(message)


def _line_of(stdin: BinaryIO) -> bytes:
    """The next line that is not too long; empty at the end."""
    while len(line := next_line(stdin, LINE_BYTES_MAX)) > LINE_BYTES_MAX:
        log.warning("a message of over %d bytes is passed over", LINE_BYTES_MAX)
    return line


def _put(stdout: BinaryIO, line: bytes) -> None:
    stdout.write(line)
    stdout.flush()

"""Clients of MCP servers, each by its name: ours, the SDK's two, and the floor in an event loop.

A client is imported when it is opened: of a start, its imports are a part.
"""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, cast

from tests.benchmarks.drivers.turns import HANDSHAKE, INITIALIZED, Call, Target, take_turns

if TYPE_CHECKING:
    from mcp import ClientSession

    from config.servers import ServerSpec
    from core.values import JsonObject

RESULT_BYTES_MAX = 64 * 1024 * 1024
"""Results of 50 MB are measured too; by default ours would be cut at 16 MiB."""

OpenClient: TypeAlias = Callable[[Target], AbstractAsyncContextManager[Call]]
"""Holds one session with the server, its tools listed; gives what calls them."""


def spec_of(target: Target, name: str = "bench") -> "ServerSpec":
    """The server as our configuration would name it."""
    from config.servers import ServerSpec

    return ServerSpec(
        name,
        tuple(target.command),
        Path(target.cwd),
        url=target.url or None,
        result_bytes=RESULT_BYTES_MAX,
    )


@asynccontextmanager
async def multi_mcp(target: Target) -> AsyncGenerator[Call]:
    """Ours: the dispatcher, as the agent uses it."""
    from core.session import MultiMCP

    async with MultiMCP([spec_of(target)]) as multi:
        await multi.initialize()
        if multi.failures:
            raise multi.failures["bench"]

        async def call(tool: str, arguments: dict[str, object]) -> object:
            return await multi.call_tool(tool, cast("JsonObject", arguments))

        yield call


@asynccontextmanager
async def open_session(target: Target) -> "AsyncGenerator[ClientSession]":
    """An initialized `ClientSession`, over stdio or HTTP."""
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client
    from mcp.client.streamable_http import streamable_http_client

    command = target.command or [""]
    parameters = StdioServerParameters(command=command[0], args=command[1:], cwd=target.cwd)
    streams = streamable_http_client(target.url) if target.url else stdio_client(parameters)
    async with streams as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        yield session


@asynccontextmanager
async def client_session(target: Target) -> AsyncGenerator[Call]:
    """The yardstick, 1.0 by definition: `ClientSession` of the MCP SDK."""
    async with open_session(target) as session:
        await session.list_tools()
        yield session.call_tool


@asynccontextmanager
async def sdk_client(target: Target) -> AsyncGenerator[Call]:
    """The SDK's newer `Client`, as it comes: its handshake first asks for a newer one."""
    from mcp import StdioServerParameters
    from mcp.client.client import Client
    from mcp.client.stdio import stdio_client

    parameters = StdioServerParameters(
        command=target.command[0], args=target.command[1:], cwd=target.cwd
    )
    async with Client(stdio_client(parameters)) as client:
        await client.list_tools()
        yield client.call_tool


@asynccontextmanager
async def pipes(target: Target) -> AsyncGenerator[Call]:
    """The floor inside an event loop: JSON-RPC lines over asyncio's own pipes, with no checks."""
    process = await asyncio.create_subprocess_exec(
        *target.command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=RESULT_BYTES_MAX,
        cwd=target.cwd,
    )
    stdin = cast("asyncio.StreamWriter", process.stdin)
    stdout = cast("asyncio.StreamReader", process.stdout)
    last_id = 0

    async def request(method: str, params: Mapping[str, object]) -> object:
        nonlocal last_id
        last_id += 1
        asked = {"jsonrpc": "2.0", "id": last_id, "method": method, "params": params}
        stdin.write(json.dumps(asked).encode() + b"\n")
        while True:
            message = json.loads(await stdout.readline())
            if message.get("id") == last_id and "method" not in message:
                return message["result"]

    async def call(tool: str, arguments: dict[str, object]) -> object:
        return await request("tools/call", {"name": tool, "arguments": arguments})

    await request("initialize", HANDSHAKE)
    stdin.write(json.dumps(INITIALIZED).encode() + b"\n")
    await request("tools/list", {})
    yield call
    stdin.close()
    await process.wait()


CLIENTS: dict[str, OpenClient] = {
    "multi_mcp": multi_mcp,
    "client_session": client_session,
    "sdk_client": sdk_client,
    "pipes": pipes,
}


async def serve(clients: Mapping[str, OpenClient]) -> None:
    """Hold one session by the client that the second argument names, and call its tools."""
    async with clients[sys.argv[2]](Target.from_command_line()) as call:
        await take_turns(call)


if __name__ == "__main__":
    asyncio.run(serve(CLIENTS))

"""The yardstick, 1.0 by definition: `ClientSession` of the MCP SDK, over stdio or HTTP."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from tests.benchmarks.drivers.turns import Target, take_turns


@asynccontextmanager
async def open_session(target: Target) -> AsyncGenerator[ClientSession]:
    """An initialized session, with what it listed thrown away."""
    command = target.command or [""]
    parameters = StdioServerParameters(command=command[0], args=command[1:], cwd=target.cwd)
    streams = streamable_http_client(target.url) if target.url else stdio_client(parameters)
    async with streams as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        await session.list_tools()
        yield session


async def main() -> None:
    """Hold one session and call its tools."""
    async with open_session(Target.from_command_line()) as session:
        await take_turns(session.call_tool)


if __name__ == "__main__":
    asyncio.run(main())

"""The SDK's newer high-level `Client`, as it comes: its handshake first asks for a newer one."""

import asyncio

from mcp import StdioServerParameters
from mcp.client.client import Client
from mcp.client.stdio import stdio_client

from tests.benchmarks.drivers.turns import Target, take_turns


async def main() -> None:
    """Hold one session and call its tools."""
    target = Target.from_command_line()
    parameters = StdioServerParameters(
        command=target.command[0], args=target.command[1:], cwd=target.cwd
    )
    async with Client(stdio_client(parameters)) as client:
        await client.list_tools()
        await take_turns(client.call_tool)


if __name__ == "__main__":
    asyncio.run(main())

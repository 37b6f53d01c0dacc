"""FastMCP's `Client` over its stdio transport."""

import asyncio

from fastmcp import Client
from fastmcp.client.transports import StdioTransport

from tests.benchmarks.drivers.turns import Target, take_turns


async def main() -> None:
    """Hold one session and call its tools."""
    target = Target.from_command_line()
    transport = StdioTransport(
        command=target.command[0], args=target.command[1:], cwd=target.cwd, keep_alive=False
    )
    async with Client(transport) as client:
        await client.list_tools()
        await take_turns(client.call_tool)


if __name__ == "__main__":
    asyncio.run(main())

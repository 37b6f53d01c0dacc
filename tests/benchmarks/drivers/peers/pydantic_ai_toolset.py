"""Pydantic AI's `MCPToolset`: the call that its agent makes, with its mapping of results."""

import asyncio

from fastmcp.client.transports import StdioTransport
from pydantic_ai.mcp import MCPToolset

from tests.benchmarks.drivers.turns import Target, take_turns


async def main() -> None:
    """Hold one session and call its tools."""
    target = Target.from_command_line()
    transport = StdioTransport(
        command=target.command[0], args=target.command[1:], cwd=target.cwd, keep_alive=False
    )
    async with MCPToolset(transport) as toolset:
        await toolset.list_tools()
        await take_turns(toolset.direct_call_tool)


if __name__ == "__main__":
    asyncio.run(main())

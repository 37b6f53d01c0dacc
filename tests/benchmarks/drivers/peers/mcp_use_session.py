"""A session of mcp-use's `MCPClient`."""

import asyncio

from mcp_use import MCPClient

from tests.benchmarks.drivers.turns import Target, take_turns


async def main() -> None:
    """Hold one session and call its tools."""
    target = Target.from_command_line()
    server = {"command": target.command[0], "args": target.command[1:]}
    client = MCPClient.from_dict({"mcpServers": {"bench": server}})
    session = await client.create_session("bench")
    await session.list_tools()
    await take_turns(session.call_tool)
    await client.close_all_sessions()


if __name__ == "__main__":
    asyncio.run(main())

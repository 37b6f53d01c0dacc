"""`MCPServerStdio` of the OpenAI Agents SDK, with its tool list cached."""

import asyncio

from agents.mcp import MCPServerStdio

from tests.benchmarks.drivers.turns import Target, take_turns

CALL_TIMEOUT_SECONDS = 120


async def main() -> None:
    """Hold one session and call its tools."""
    target = Target.from_command_line()
    parameters = {"command": target.command[0], "args": target.command[1:], "cwd": target.cwd}
    async with MCPServerStdio(
        params=parameters,
        cache_tools_list=True,
        client_session_timeout_seconds=CALL_TIMEOUT_SECONDS,
    ) as server:
        await server.list_tools()
        await take_turns(server.call_tool)


if __name__ == "__main__":
    asyncio.run(main())

"""LangChain's MCP adapters with a session that is held open, as their documentation advises."""

import asyncio

from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools

from tests.benchmarks.drivers.turns import Target, take_turns


async def main() -> None:
    """Hold one session and call its tools."""
    client = MultiServerMCPClient({"bench": connection(Target.from_command_line())})
    async with client.session("bench") as session:
        tools = {tool.name: tool for tool in await load_mcp_tools(session)}

        async def call(tool: str, arguments: dict[str, object]) -> object:
            return await tools[tool].ainvoke(arguments)

        await take_turns(call)


def connection(target: Target) -> dict[str, object]:
    """The server as these adapters are told of it."""
    command = target.command
    return {
        "transport": "stdio",
        "command": command[0],
        "args": command[1:],
        "cwd": target.cwd,
    }


if __name__ == "__main__":
    asyncio.run(main())

"""LangChain's MCP adapters as they come: tools of `get_tools` start the server at every call."""

import asyncio

from langchain_mcp_adapters.client import MultiServerMCPClient

from tests.benchmarks.drivers.peers.langchain_session import connection
from tests.benchmarks.drivers.turns import Target, take_turns


async def main() -> None:
    """Call tools that hold no session."""
    client = MultiServerMCPClient({"bench": connection(Target.from_command_line())})
    tools = {tool.name: tool for tool in await client.get_tools()}

    async def call(tool: str, arguments: dict[str, object]) -> object:
        return await tools[tool].ainvoke(arguments)

    await take_turns(call)


if __name__ == "__main__":
    asyncio.run(main())

"""Google ADK's `McpToolset`: its tools, run as its agent runs them, without an agent around."""

import asyncio

from google.adk.tools.mcp_tool import McpToolset, StdioConnectionParams
from mcp import StdioServerParameters

from tests.benchmarks.drivers.turns import Target, take_turns

CALL_TIMEOUT_SECONDS = 120


async def main() -> None:
    """Hold one session and call its tools."""
    target = Target.from_command_line()
    parameters = StdioServerParameters(
        command=target.command[0], args=target.command[1:], cwd=target.cwd
    )
    toolset = McpToolset(
        connection_params=StdioConnectionParams(
            server_params=parameters, timeout=CALL_TIMEOUT_SECONDS
        )
    )
    tools = {tool.name: tool for tool in await toolset.get_tools()}

    async def call(tool: str, arguments: dict[str, object]) -> object:
        return await tools[tool].run_async(args=arguments, tool_context=None)

    await take_turns(call)
    await toolset.close()


if __name__ == "__main__":
    asyncio.run(main())

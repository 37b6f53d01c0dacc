"""Other people's clients of MCP servers, each by its name and in the environment of its peer."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from tests.benchmarks.drivers.clients import OpenClient, serve
from tests.benchmarks.drivers.turns import Call, Target

CALL_TIMEOUT_SECONDS = 120


@asynccontextmanager
async def google_adk(target: Target) -> AsyncGenerator[Call]:
    """Google ADK's `McpToolset`: its tools, run as its agent runs them, without an agent around."""
    from google.adk.tools.mcp_tool import McpToolset, StdioConnectionParams
    from mcp import StdioServerParameters

    parameters = StdioServerParameters(**_process(target))
    toolset = McpToolset(
        connection_params=StdioConnectionParams(
            server_params=parameters, timeout=CALL_TIMEOUT_SECONDS
        )
    )
    tools = {tool.name: tool for tool in await toolset.get_tools()}

    async def call(tool: str, arguments: dict[str, object]) -> object:
        return await tools[tool].run_async(args=arguments, tool_context=None)

    yield call
    await toolset.close()


@asynccontextmanager
async def openai_agents(target: Target) -> AsyncGenerator[Call]:
    """`MCPServerStdio` of the OpenAI Agents SDK, with its tool list cached."""
    from agents.mcp import MCPServerStdio

    async with MCPServerStdio(
        params=_process(target),
        cache_tools_list=True,
        client_session_timeout_seconds=CALL_TIMEOUT_SECONDS,
    ) as server:
        await server.list_tools()
        yield server.call_tool


@asynccontextmanager
async def fastmcp(target: Target) -> AsyncGenerator[Call]:
    """FastMCP's `Client` over its stdio transport."""
    from fastmcp import Client
    from fastmcp.client.transports import StdioTransport

    async with Client(StdioTransport(**_process(target), keep_alive=False)) as client:
        await client.list_tools()
        yield client.call_tool


@asynccontextmanager
async def pydantic_ai(target: Target) -> AsyncGenerator[Call]:
    """Pydantic AI's `MCPToolset`: the call that its agent makes, with its mapping of results."""
    from fastmcp.client.transports import StdioTransport
    from pydantic_ai.mcp import MCPToolset

    async with MCPToolset(StdioTransport(**_process(target), keep_alive=False)) as toolset:
        await toolset.list_tools()
        yield toolset.direct_call_tool


@asynccontextmanager
async def mcp_use(target: Target) -> AsyncGenerator[Call]:
    """A session of mcp-use's `MCPClient`."""
    from mcp_use import MCPClient

    server = {"command": target.command[0], "args": target.command[1:]}
    client = MCPClient.from_dict({"mcpServers": {"bench": server}})
    session = await client.create_session("bench")
    await session.list_tools()
    yield session.call_tool
    await client.close_all_sessions()


@asynccontextmanager
async def langchain(target: Target) -> AsyncGenerator[Call]:
    """LangChain's MCP adapters with a session held open, as their documentation advises."""
    from langchain_mcp_adapters.client import MultiServerMCPClient
    from langchain_mcp_adapters.tools import load_mcp_tools

    client = MultiServerMCPClient({"bench": {"transport": "stdio", **_process(target)}})
    async with client.session("bench") as session:
        yield _invoking(await load_mcp_tools(session))


@asynccontextmanager
async def langchain_default(target: Target) -> AsyncGenerator[Call]:
    """The same as they come: tools of `get_tools` start the server at every call."""
    from langchain_mcp_adapters.client import MultiServerMCPClient

    client = MultiServerMCPClient({"bench": {"transport": "stdio", **_process(target)}})
    yield _invoking(await client.get_tools())


def _invoking(tools) -> Call:
    by_name = {tool.name: tool for tool in tools}

    async def call(tool: str, arguments: dict[str, object]) -> object:
        return await by_name[tool].ainvoke(arguments)

    return call


def _process(target: Target) -> dict[str, object]:
    return {"command": target.command[0], "args": target.command[1:], "cwd": target.cwd}


CLIENTS: dict[str, OpenClient] = {
    "google_adk": google_adk,
    "openai_agents": openai_agents,
    "fastmcp": fastmcp,
    "pydantic_ai": pydantic_ai,
    "mcp_use": mcp_use,
    "langchain": langchain,
    "langchain_default": langchain_default,
}

if __name__ == "__main__":
    asyncio.run(serve(CLIENTS))

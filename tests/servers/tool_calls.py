"""Calls of tools as a client makes them, for servers in memory."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp import Client


async def call(client: "Client", tool: str, **arguments: object) -> str:
    """The text that a tool gives, or its error."""
    result = await client.call_tool(tool, {"input": arguments})
    if result.is_error:
        return str(getattr(result.content[0], "text", ""))
    assert result.structured_content is not None
    assert list(result.structured_content) == ["result"]
    return str(result.structured_content["result"])

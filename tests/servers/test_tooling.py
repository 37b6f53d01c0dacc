"""What callers read when a tool fails, in-process.

The SDK is imported where a test runs: it takes a second, and every worker collects every file.
"""

from typing import TYPE_CHECKING, Annotated

import pytest
from pydantic import BaseModel, Field

from servers.shared.errors import ToolInputError

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer


class Positive(BaseModel):
    each: list[Annotated[int, Field(gt=0)]]


async def picky(input: Positive) -> int:
    """Refuse everything."""
    raise ToolInputError(f"don't want {len(input.each)} numbers; give none")


async def broken(input: Positive) -> int:
    """Fail by a bug."""
    return input.each[10**6]


@pytest.fixture
def server() -> "MCPServer":
    from mcp.server.mcpserver import MCPServer

    from servers.tooling import read_only_tools

    return MCPServer("failing", tools=read_only_tools([picky, broken]), log_level="WARNING")


async def test_the_message_of_a_refusal_arrives_word_for_word(server: "MCPServer") -> None:
    from mcp.server.mcpserver.exceptions import ToolError

    with pytest.raises(ToolError, match=r"^picky: don't want 1 numbers; give none$"):
        await server.call_tool("picky", {"input": {"each": [1]}})


async def test_a_key_that_a_service_quotes_is_not_told(
    server: "MCPServer", monkeypatch: pytest.MonkeyPatch
) -> None:
    from mcp.server.mcpserver.exceptions import ToolError

    monkeypatch.setenv("A_SEARCH_KEY", "give none")
    with pytest.raises(ToolError, match=r"numbers; \[redacted A_SEARCH_KEY\]$"):
        await server.call_tool("picky", {"input": {"each": [1]}})


async def test_many_wrong_arguments_are_counted_and_not_all_listed(server: "MCPServer") -> None:
    from mcp.server.mcpserver.exceptions import ToolError

    with pytest.raises(ToolError, match=r"^picky: each.0: .*; each.2: .*; and 7 more$"):
        await server.call_tool("picky", {"input": {"each": [0] * 10}})


async def test_a_bug_is_kept_from_the_caller_and_stays_a_bug_for_the_log(
    server: "MCPServer",
) -> None:
    from mcp.server.mcpserver.exceptions import UnexpectedToolError

    with pytest.raises(UnexpectedToolError, match=r"^Error executing tool broken$") as caught:
        await server.call_tool("broken", {"input": {"each": [1]}})
    assert isinstance(caught.value.__cause__, IndexError)


async def test_the_math_server_works_without_a_process() -> None:
    from mcp_types import CallToolResult

    from servers.math_tools import build_server

    result = await build_server().call_tool("multiply", {"input": {"a": 6, "b": 7}})
    assert isinstance(result, CallToolResult)
    assert result.structured_content == {"result": 42}

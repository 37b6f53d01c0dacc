"""One MCP session with one server process: handshake, tool pages, calls, results as our values.

Heavy: imports the MCP SDK, so `core.connection` imports this in a thread when a server is first
needed. Enter and leave a `StdioClient` in one task (anyio's rule); calls come from any task.
"""

import math
from collections.abc import Iterable
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Self, assert_never, cast

from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import (
    AudioContent,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    Implementation,
    ResourceLink,
    TextContent,
    TextResourceContents,
    Tool,
)
from mcp_types import ContentBlock as SdkBlock
from pydantic_core import PydanticSerializationError

from core.catalog import ContentBlock, ToolResult, ToolSpec
from core.errors import CallRefused, ServerStartError
from core.output_check import is_cheap_to_check, steps_to_check
from core.spawn import SpawnedServer, StopGrace
from core.transport import StdioTransport
from core.values import Json, JsonObject
from core.version import __version__

TOOL_PAGES_MAX = 100
"""A server whose tool list has more pages is taken to be paging in circles."""

TOOL_NAME_CHARACTERS_MAX = 256
"""A tool with a longer name is left out; the protocol asks for 128 at most."""

SCHEMA_ERROR_CHARACTERS_SHOWN = 500
"""How much of the SDK's report on a result that breaks its schema is passed on."""


class StdioClient:
    """An MCP session over `StdioTransport`; `transport` tells whether and why it was lost."""

    def __init__(self, spawned: SpawnedServer, grace: StopGrace) -> None:
        """Take over the process; speak to it when entered."""
        self.transport = StdioTransport(spawned, grace)
        self._server = spawned.spec.id
        who = Implementation(name="cortex-r", version=__version__)
        # "legacy" is the handshake that every server knows; the default first probes for a newer
        # one, at which old servers fail and silent ones cost ten seconds.
        self._client = Client(self.transport, mode="legacy", cache=None, client_info=who)
        self._scopes = AsyncExitStack()
        self._steps_to_check: dict[str, int] = {}

    async def __aenter__(self) -> Self:
        """Shake hands.

        Raises:
            Exception: of many kinds, from the SDK; the server is no use then, and has been ended.
        """
        await self._scopes.enter_async_context(self._client)
        self._session = self._client.session
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the session and end the server."""
        await self._scopes.aclose()

    async def list_tools(self) -> list[ToolSpec]:
        """All tools of the server, all pages; of two with the same name the first.

        Tools whose name nobody could write down are left out.

        Raises:
            ServerStartError: the list has no last page.
        """
        if self._client.server_capabilities.tools is None:
            return []
        found: dict[str, ToolSpec] = {}
        cursor: str | None = None
        for _ in range(TOOL_PAGES_MAX):
            page = await self._client.list_tools(cursor=cursor)
            for tool in page.tools:
                if _can_be_named(tool.name):
                    found.setdefault(tool.name, _tool_spec(self._server, tool))
            cursor = page.next_cursor
            if not cursor:
                self._learn_schemas(found.values())
                return list(found.values())
        raise ServerStartError(
            self._server,
            f"server '{self._server}' did not start: its tool list has more than "
            f"{TOOL_PAGES_MAX} pages",
        )

    async def call(self, tool: str, arguments: JsonObject) -> ToolResult | None:
        """Call one tool; whatever a living server answers is a value, errors too.

        None when the session broke down or was closed before an answer came. Cancelling the
        caller cancels the request at the server.

        Raises:
            CallRefused: the arguments can't be said in JSON; nothing was sent.
        """
        _refuse_non_finite(arguments)
        try:
            # Not `call_tool`: beyond what protocols from 2026 on ask for, it adds only a check
            # against the output schema, in which a hostile server could trap us for ever.
            params = CallToolRequestParams(name=tool, arguments=arguments)
            result = await self._session.send_request(
                CallToolRequest(params=params), CallToolResult
            )
        except MCPError as error:
            if self.transport.is_down:
                return None
            return _failure(error.error.message)
        except PydanticSerializationError as error:
            raise CallRefused(f"the arguments of '{tool}' are not valid text: {error}") from error
        except (RuntimeError, ValueError) as error:
            return _broken_promise(error)
        return await self._breach(tool, result) or _tool_result(result)

    def _learn_schemas(self, tools: Iterable[ToolSpec]) -> None:
        """Note which output schemas can be checked, and how many steps each takes a value."""
        self._steps_to_check = {
            tool.name: steps
            for tool in tools
            if (steps := steps_to_check(tool.output_schema)) is not None
        }

    async def _breach(self, tool: str, result: CallToolResult) -> ToolResult | None:
        """What a result breaks of its tool's output schema, where that can be told quickly."""
        steps = self._steps_to_check.get(tool)
        content: Json = result.structured_content
        if result.is_error or steps is None or not is_cheap_to_check(content, steps):
            return None
        try:
            await self._session.validate_tool_result(tool, result)
        except Exception as error:  # noqa: BLE001 - a foreign schema can make the checker raise all
            return _broken_promise(error)
        return None


def _tool_spec(server: str, tool: Tool) -> ToolSpec:
    hints = tool.annotations
    return ToolSpec(
        server=server,
        name=tool.name,
        description=tool.description or tool.title or "",
        input_schema=cast("JsonObject", tool.input_schema),
        output_schema=cast("JsonObject | None", tool.output_schema),
        read_only=bool(hints and hints.read_only_hint),
        idempotent=bool(hints and hints.idempotent_hint),
    )


def _can_be_named(name: str) -> bool:
    """Whether a tool's name can stand in a prompt and on a line of the terminal."""
    return 0 < len(name) <= TOOL_NAME_CHARACTERS_MAX and name.isprintable()


def _broken_promise(error: Exception) -> ToolResult:
    report = str(error)[:SCHEMA_ERROR_CHARACTERS_SHOWN]
    return _failure(f"the server's answer does not fit what it promised: {report}")


def _failure(text: str) -> ToolResult:
    return ToolResult((ContentBlock("text", text=text),), is_error=True)


def _tool_result(result: CallToolResult) -> ToolResult:
    content = tuple(map(_content_block, result.content))
    return ToolResult(content, _as_object(result.structured_content), result.is_error)


def _as_object(structured: Json) -> JsonObject | None:
    if structured is None or isinstance(structured, dict):
        return structured
    return {"result": structured}


def _content_block(block: SdkBlock) -> ContentBlock:
    match block:
        case TextContent():
            return ContentBlock("text", text=block.text)
        case ImageContent() | AudioContent():
            return ContentBlock(block.type, data=block.data, mime_type=block.mime_type)
        case ResourceLink():
            return ContentBlock(
                "resource_link",
                text=block.description,
                mime_type=block.mime_type,
                uri=block.uri,
            )
        case EmbeddedResource():
            inner = block.resource
            is_text = isinstance(inner, TextResourceContents)
            return ContentBlock(
                "resource",
                text=inner.text if is_text else None,
                data=None if is_text else inner.blob,
                mime_type=inner.mime_type,
                uri=inner.uri,
            )
        case _:
            assert_never(block)


def _refuse_non_finite(arguments: JsonObject) -> None:
    """Refuse infinities and NaN, which JSON lacks and the SDK would send as null."""
    rest: list[Json] = [arguments]
    while rest:
        value = rest.pop()
        if isinstance(value, float) and not math.isfinite(value):
            raise CallRefused(f"an argument is {value}, which JSON can't carry")
        if isinstance(value, dict):
            rest.extend(value.values())
        elif isinstance(value, list):
            rest.extend(value)

"""One MCP session with one server: handshake, tool pages, calls, and what the server asks of us.

Follows MCP 2025-11-25 and speaks to servers of every revision since 2024-11-05. Light: no SDK,
whose client costs a second of import and a part of every call.
"""

import asyncio
from dataclasses import dataclass, field

from config.servers import ServerSpec
from core.base.frozen import frozen
from core.base.json_text import json_start
from core.base.timing import Deadlines
from core.errors import CallRefused
from core.mcp.decode import Malformed, definition_bytes, tool_result, tool_spec
from core.mcp.hooks import OnProgress, Question, Reply, SessionHooks
from core.mcp.peer import NotDelivered, Peer, RpcError, Transport
from core.mcp.wire import METHOD_NOT_FOUND
from core.run.execution import current
from core.tools.content import TextBlock, ToolResult
from core.tools.json_schema import is_larger
from core.tools.schema_check import SchemaCheck
from core.tools.spec import ToolSpec
from core.values import Json, JsonObject
from core.version import __version__

PROTOCOL_VERSION = "2025-11-25"
"""The revision that we ask for."""

PROTOCOL_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", PROTOCOL_VERSION)
"""The revisions that we understand when a server offers another."""

TOOL_PAGES_MAX = 100
"""A server whose tool list has more pages is taken to be paging in circles."""

TOOLS_MAX = 10_000
"""A server with more tools is refused; nobody could choose among them."""

TOOLS_AT_ONCE = 500
"""So many tools of a page are read in one turn of the event loop, in a few milliseconds."""

LISTING_BYTES_MAX = 16 * 1024 * 1024
"""A server whose tool definitions are longer, all together, is refused; they stay in memory."""

LOG_TEXT_CHARACTERS_MAX = 4_000
"""How much of one log message is handed on."""

QUICK_VALUES_MAX = 5_000
"""Values in a result that is read and checked in one turn of the event loop."""

QUESTION_CHARACTERS_MAX = 1_000_000
"""A question with a longer message is declined unseen."""

QUESTIONS_PER_CALL = 3
"""So many questions may be put to the user for one call; further ones are declined unseen."""


class SessionRefused(Exception):
    """The session is no use; the text is the end of a sentence that begins with the server."""


@frozen
class ServerInfo:
    """What a server said of itself in the handshake."""

    name: str
    version: str
    protocol_version: str
    has_tools: bool


@dataclass(eq=False, slots=True)
class _OpenCall:
    """A call that waits for its answer."""

    questions_left: int = QUESTIONS_PER_CALL
    asking: set[asyncio.Task[Reply]] = field(default_factory=set[asyncio.Task[Reply]])
    """The questions that the user has not answered yet."""


class McpClient:
    """A session over a transport; `open` and `aclose` it in one task, once, call from any."""

    def __init__(
        self, transport: Transport, spec: ServerSpec, hooks: SessionHooks | None = None
    ) -> None:
        """Say nothing yet."""
        self.transport = transport
        self.info: ServerInfo | None = None
        self.skipped: list[str] = []
        """What the last listing left out because it was malformed."""
        self._spec = spec
        self._hooks = hooks or SessionHooks()
        self._peer = Peer(transport, self._on_request, self._on_notification)
        self._output_checks: dict[str, SchemaCheck] = {}
        self._deadlines = Deadlines()
        self._open_calls: list[_OpenCall] = []
        self._told_of_questions = False

    async def open(self) -> None:
        """Shake hands.

        Raises:
            SessionRefused: the server does not speak MCP, or no revision that we know.
            SessionLost: it broke off.
            TransportDown: it can't be reached.
        """
        await self._peer.open()
        reply = await self._asked(
            "initialize",
            {
                "protocolVersion": PROTOCOL_VERSION,
                "capabilities": {"elicitation": {"form": {}, "url": {}}},
                "clientInfo": {"name": "cortex-r", "version": __version__},
            },
        )
        self.info = _server_info(reply)
        self.transport.negotiated(self.info.protocol_version)
        await self._peer.notify("notifications/initialized")

    async def aclose(self) -> None:
        """Close the session, and the server with it where it is ours to end."""
        await self._peer.aclose()

    async def list_tools(self) -> list[ToolSpec]:
        """All tools of the server, all pages; of two with the same name the first.

        A tool that is malformed is left out (`skipped`), the others stay.

        Raises:
            SessionRefused: the list has no last page, no end, or an error in its place.
            SessionLost: the server broke off.
        """
        self.skipped = []
        if self.info is None or not self.info.has_tools:
            return []
        found: dict[str, ToolSpec] = {}
        cursor: Json = None
        size = 0
        for _ in range(TOOL_PAGES_MAX):
            page = await self._asked("tools/list", {"cursor": cursor} if cursor else {})
            size += await self._add_page(page, found)
            if size > LISTING_BYTES_MAX:
                raise SessionRefused(f"has tool definitions of over {LISTING_BYTES_MAX:,} bytes")
            cursor = page.get("nextCursor")
            if not isinstance(cursor, str) or not cursor:
                self._output_checks = {
                    name: SchemaCheck(tool.output_schema)
                    for name, tool in found.items()
                    if tool.output_schema is not None
                }
                return list(found.values())
        raise SessionRefused(f"has a tool list of more than {TOOL_PAGES_MAX} pages")

    async def call(
        self,
        tool: str,
        arguments: JsonObject,
        seconds: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> ToolResult:
        """Call one tool; whatever a living server answers is a value, errors too.

        While the server has a question open to the user, `seconds` do not run. A call that is
        given up is cancelled at the server.

        Raises:
            CallRefused: the arguments can't be said in JSON; nothing was sent.
            SessionLost: the session broke down or was closed before an answer came.
            NotDelivered: the transport failed this call, and the session goes on.
            TimeoutError: no answer in time.
        """
        params: JsonObject = {"name": tool, "arguments": arguments}
        if (work := current()) is not None:
            params["_meta"] = {**work.carried}  # bare keys, as in SEP-414
        open_call = _OpenCall()
        self._open_calls.append(open_call)
        self._told_of_questions = False
        try:
            async with self._deadlines.within(seconds):
                raw = await self._peer.request("tools/call", params, on_progress)
        except RpcError as error:
            return _failure(str(error))
        except ValueError as error:
            raise CallRefused(f"the arguments of '{tool}' can't be said in JSON: {error}") from None
        finally:
            self._open_calls.remove(open_call)
            for question in tuple(open_call.asking):
                question.cancel()  # whoever ended the call is not to answer for it any more
        try:
            is_promised = tool in self._output_checks
            result = tool_result(raw, self._spec.result_bytes, is_promised=is_promised)
        except Malformed as error:
            return _broken_promise(f"it has {error}")
        if is_larger(result.structured, QUICK_VALUES_MAX):
            await asyncio.sleep(0)  # the check is a turn of its own
        breach = self._breach(tool, result)
        return result if breach is None else _broken_promise(breach)

    def _breach(self, tool: str, result: ToolResult) -> str | None:
        """What a result breaks of its tool's promise, as far as that can be told quickly."""
        check = self._output_checks.get(tool)
        if check is None or result.is_error or result.omitted_bytes or not check.is_usable:
            return None
        if result.structured is None:
            return "it has no structured content"
        return check.breach(result.structured)

    async def ping(self) -> None:
        """Wait until the server answers a ping.

        Raises:
            SessionLost: it will not.
            RpcError: it answered with an error, which shows that it lives.
            NotDelivered: it may live, and did not answer.
        """
        await self._peer.request("ping", {})

    async def _asked(self, method: str, params: JsonObject) -> JsonObject:
        """A reply of the handshake or the listing, which must be one."""
        try:
            return await self._peer.request(method, params, cancellable=method != "initialize")
        except NotDelivered as error:
            raise SessionRefused(str(error)) from error
        except RpcError as error:
            raise SessionRefused(f"answered {method} with an error ({error})") from error

    async def _add_page(self, page: JsonObject, found: dict[str, ToolSpec]) -> int:
        """Add a page's tools; about how many bytes their definitions have."""
        tools = page.get("tools")
        if not isinstance(tools, list):
            raise SessionRefused("answered tools/list with no list of tools")
        if len(found) + len(self.skipped) + len(tools) > TOOLS_MAX:
            raise SessionRefused(f"has more than {TOOLS_MAX:,} tools")
        size = 0
        for number, raw in enumerate(tools, start=1):
            if number % TOOLS_AT_ONCE == 0:
                await asyncio.sleep(0)
            try:
                tool = tool_spec(self._spec.id, raw)
            except Malformed as error:
                self.skipped.append(str(error))
            else:
                found.setdefault(tool.name, tool)
                size += definition_bytes(tool)
        return size

    async def _on_request(self, method: str, params: JsonObject) -> JsonObject:
        match method:
            case "ping":
                return {}
            case "elicitation/create":
                return await self._put_question(params)
            case _:
                raise RpcError(METHOD_NOT_FOUND, f"this client has no {method}")

    async def _put_question(self, params: JsonObject) -> JsonObject:
        """Ask the user, with every deadline of this session stopped meanwhile.

        Only for a call that is open (MCP 2025-11-25, "Elicitation": questions are nested in other
        requests), and only `QUESTIONS_PER_CALL` times; which call it is, no server says.
        """
        message, fields, url = (params.get(k) for k in ("message", "requestedSchema", "url"))
        if not isinstance(message, str) or len(message) > QUESTION_CHARACTERS_MAX:
            return {"action": "decline"}
        asking = next((call for call in self._open_calls if call.questions_left), None)
        if asking is None:
            self._tell_of_questions()
            return {"action": "decline"}
        asking.questions_left -= 1
        question = Question(
            self._spec.id,
            message,
            fields if isinstance(fields, dict) else {},
            url if isinstance(url, str) else None,
        )
        answering = asyncio.create_task(self._hooks.ask(question))
        asking.asking.add(answering)
        try:
            with self._deadlines.standing_still():
                await asyncio.wait({answering})
        finally:
            answering.cancel()
            asking.asking.discard(answering)
        reply = Reply("cancel") if answering.cancelled() else answering.result()
        answer: JsonObject = {"action": reply.action}
        if reply.action == "accept" and reply.content is not None:
            answer["content"] = reply.content
        return answer

    def _tell_of_questions(self) -> None:
        """Say once a call that questions are declined unseen."""
        if not self._told_of_questions:
            self._told_of_questions = True
            most = f"at most {QUESTIONS_PER_CALL} may be asked for one call"
            self._hooks.on_log(self._spec.id, "warning", f"its questions are declined: {most}")

    def _on_notification(self, method: str, params: JsonObject) -> None:
        match method:
            case "notifications/tools/list_changed":
                self._hooks.on_tools_changed()
            case "notifications/message":
                level, data = params.get("level"), params.get("data")
                text = data if isinstance(data, str) else json_start(data, LOG_TEXT_CHARACTERS_MAX)
                if source := _short(params.get("logger")):
                    text = f"{source}: {text}"
                level = level if isinstance(level, str) else "info"
                self._hooks.on_log(self._spec.id, level[:20], text[:LOG_TEXT_CHARACTERS_MAX])
            case _:
                pass  # resources and prompts, which we don't use, and what is yet to be invented


def _server_info(reply: JsonObject) -> ServerInfo:
    version = reply.get("protocolVersion")
    if version not in PROTOCOL_VERSIONS:
        raise SessionRefused(
            f"speaks version {str(version)[:40]!r} of the protocol; "
            f"understood are {', '.join(PROTOCOL_VERSIONS)}"
        )
    about, capabilities = reply.get("serverInfo"), reply.get("capabilities")
    about = about if isinstance(about, dict) else {}
    return ServerInfo(
        _short(about.get("title")) or _short(about.get("name")),
        _short(about.get("version")),
        str(version),
        isinstance(capabilities, dict) and isinstance(capabilities.get("tools"), dict),
    )


def _short(value: Json) -> str:
    return value[:200] if isinstance(value, str) else ""


def _broken_promise(report: str) -> ToolResult:
    return _failure(f"the server's answer does not fit what it promised: {report}")


def _failure(text: str) -> ToolResult:
    return ToolResult((TextBlock(text),), is_error=True)

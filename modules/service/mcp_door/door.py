"""The MCP server that an agent is: what it offers to each caller, and each call from start to end.

Both eras of the protocol: revisions up to 2025-11-25, which begin with a handshake, and from
2026-07-28 on, where each request stands for itself. The SDK speaks them; what differs for us is how
questions are put (`work`) and how changed tools are told (`_Listeners`).
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Final
from weakref import WeakKeyDictionary

import anyio
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    InputRequiredResult,
    ListToolsResult,
    PaginatedRequestParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
    Tool,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from typing_extensions import override

from config.settings import SettingsError
from core.errors import CortexError
from core.run.execution import ExecutionContext, begin
from core.values import JsonObject
from core.version import __version__
from modules.service.agents import Agent
from modules.service.mcp_door.gateway import JOINT, Gateway
from modules.service.mcp_door.own_tools import OWN_TOOLS, call_own
from modules.service.mcp_door.work import Call, Caller, Request, Work, failure
from modules.service.pool import Busy
from modules.service.served.problems import problem_of
from modules.service.served.runs import Runs

log = logging.getLogger(__name__)

CALLER: Final = "cortex_r.caller"
"""Where in the scope of an HTTP request its `Caller` stands; over stdio it is the owner."""

WORKS_MAX: Final = 32
"""So many calls are worked on at once, of all callers."""

PARKED_MAX: Final = 16
"""So many of them may wait for answers that their clients have yet to bring."""

LISTENERS_MAX: Final = 256
"""So many connections are told of changed tools; of more, the newest."""

LIST_SECONDS: Final = 10.0
"""So long a list of tools waits for servers that start."""

_INSTRUCTIONS: Final = (
    "An agent that answers requests by planning in Python and calling tools of its own. Ask it in "
    "whole sentences; give session_id back to go on with a conversation."
)


class _Listeners:
    """Those who are told when the tools of one caller change."""

    def __init__(self) -> None:
        self.bus = InMemorySubscriptionBus()
        self.listen = ListenHandler(self.bus, max_subscriptions=LISTENERS_MAX)
        self._sessions: dict[str, ServerSession] = {}
        self._listed: list[Tool] | None = None

    def note(self, request: Request, tools: list[Tool]) -> None:
        """A client has been given this list."""
        self._listed = tools
        if request.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return  # it subscribes
        id_ = "" if request.request is None else request.request.headers.get("mcp-session-id", "")
        self._sessions.pop(id_, None)
        self._sessions[id_] = request.session
        while len(self._sessions) > LISTENERS_MAX:
            del self._sessions[next(iter(self._sessions))]

    async def tell(self, tools: list[Tool]) -> None:
        """Tell all, if the tools are not those that were listed."""
        if self._listed is None or self._listed == tools:
            return
        self._listed = tools
        await self.bus.publish(ToolsListChanged())
        for session in [*self._sessions.values()]:
            with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError, MCPError):
                await session.send_tool_list_changed()


class McpDoor(AbstractAsyncContextManager["McpDoor"]):
    """Answers MCP clients with agents of a pool; `server` is run by a transport.

    `async with` bounds the calls that are worked on; runs and their pool end after it.
    """

    def __init__(
        self,
        runs: Runs,
        *,
        list_seconds: float = LIST_SECONDS,
        works_max: int = WORKS_MAX,
        parked_max: int = PARKED_MAX,
    ) -> None:
        """Start nothing; requests become `runs`, and other calls take agents of its pool."""
        self._list_seconds = list_seconds
        self._works_max = works_max
        self._parked_max = parked_max
        self._runs, self._pool = runs, runs.pool
        self._works: set[Work] = set()
        self._parked: dict[str, Work] = {}
        self._gateways: WeakKeyDictionary[Agent, Gateway] = WeakKeyDictionary()
        self._listeners: dict[Caller, _Listeners] = {}
        self.server = _AgentServer(
            "cortex-r",
            version=__version__,
            title="Cortex-R",
            instructions=_INSTRUCTIONS,
            lifespan=_nothing_to_open,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_subscriptions_listen=self._listen,
        )

    @override
    async def __aexit__(self, *_: object) -> None:
        """Stop every call, also those that wait for answers."""
        for listeners in self._listeners.values():
            listeners.listen.close()
        await asyncio.gather(*(work.stop() for work in [*self._works]))

    async def _list_tools(
        self, request: Request, params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        caller, tools = _caller(request), [*OWN_TOOLS]
        try:
            if await self._has_gateway(caller):
                async with self._pool.agent(caller.user, caller.profile) as agent:
                    tools += await self._gateway(agent, caller).tools()
        except (CortexError, SettingsError, Busy) as error:
            # The agent's own tools are there all the same; asked, they say what is wrong.
            log.warning("the tools of the servers can't be listed: %s", error)
        self._listeners.setdefault(caller, _Listeners()).note(request, tools)
        return ListToolsResult(tools=tools)

    async def _listen(
        self, request: Request, params: SubscriptionsListenRequestParams
    ) -> SubscriptionsListenResult:
        listeners = self._listeners.setdefault(_caller(request), _Listeners())
        return await listeners.listen(request, params)

    async def _call_tool(
        self, request: Request, params: CallToolRequestParams
    ) -> CallToolResult | InputRequiredResult:
        call = Call(_caller(request), params.name, params.arguments or {})
        if params.request_state is not None:
            work = self._parked.get(params.request_state)
            if work is None or work.call != call:
                return failure("nothing waits for this answer any more; call the tool again")
            del self._parked[work.token]
            work.answer(params.input_responses or {})
        elif len(self._works) >= self._works_max:
            told = f"{self._works_max} calls are open, as many as may be; try again in a while"
            return failure(told)
        else:
            execution = _execution(request, call.caller)
            work = Work(lambda work: self._result(work, execution), call, request)
            self._works.add(work)
            work.task.add_done_callback(lambda _: self._forget(work))
        result = await work.attend(request)
        if isinstance(result, InputRequiredResult):
            self._parked[work.token] = work
            while len(self._parked) > self._parked_max:
                await self._parked.pop(next(iter(self._parked))).stop()
        return result

    def _forget(self, work: Work) -> None:
        self._works.discard(work)
        self._parked.pop(work.token, None)

    async def _result(self, work: Work, execution: ExecutionContext) -> CallToolResult:
        """What a call gives; what is wrong with it is a result too."""
        caller = work.call.caller
        try:
            if JOINT in work.call.name and await self._has_gateway(caller):
                async with self._pool.agent(caller.user, caller.profile) as agent:
                    return await self._gateway(agent, caller).call(work)
            return await call_own(self._runs, work, execution)
        except Exception as error:
            problem = problem_of(error)
            if problem.kind == "bug":
                log.exception("a bug in Cortex-R; trace %s", execution.trace_id)
                return failure(f"a bug in Cortex-R; its log tells of trace {execution.trace_id}")
            return failure(self._pool.setting.redactor.text(problem.detail))

    async def _has_gateway(self, caller: Caller) -> bool:
        setting = await asyncio.to_thread(self._pool.setting_of, caller.user, caller.profile)
        return setting.profile.service.gateway

    def _gateway(self, agent: Agent, caller: Caller) -> Gateway:
        if (known := self._gateways.get(agent)) is not None:
            return known
        gateway = self._gateways[agent] = Gateway(agent, self._list_seconds)

        async def tell(server: str) -> None:
            if (listeners := self._listeners.get(caller)) is not None:
                await listeners.tell([*OWN_TOOLS, *gateway.known_tools()])

        agent.on_tools = tell
        return gateway


class _AgentServer(Server[None]):
    """Says over every transport that its list of tools may change."""

    @override
    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, JsonObject] | None = None,
        extensions: dict[str, JsonObject] | None = None,
    ) -> InitializationOptions:
        return super().create_initialization_options(
            notification_options or NotificationOptions(tools_changed=True),
            experimental_capabilities,
            extensions,
        )


@asynccontextmanager
async def _nothing_to_open(server: Server[None]) -> AsyncGenerator[None]:
    yield


def _caller(request: Request) -> Caller:
    if request.request is None:
        return Caller()
    found: Caller = request.request.scope[CALLER]
    return found


def _execution(request: Request, caller: Caller) -> ExecutionContext:
    """The context of a call: part of the client's trace, where `_meta` or a header names one."""
    named: Mapping[str, object] = request.meta or {}
    if "traceparent" not in named and request.request is not None:
        named = request.request.headers
    parent, state = named.get("traceparent"), named.get("tracestate")
    return begin(
        parent if isinstance(parent, str) else None,
        state if isinstance(state, str) else None,
        request_id=str(request.request_id),
        user=caller.user.name,
        profile=caller.profile,
    )

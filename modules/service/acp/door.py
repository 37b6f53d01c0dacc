"""The connection with an editor: what is answered at once, and what sessions answer.

`initialize` needs nothing of the engine, which is imported only when it has been answered: no
server, sandbox or model is there before the first prompt.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, Protocol, TypeAlias

from config.settings import SettingsError
from core.base.frozen import frozen
from core.base.redaction import Redactor
from core.errors import UserError, WorldError
from core.mcp.peer import Peer, RpcError, Transport
from core.run.execution import begin, working
from core.values import JsonObject
from core.version import __version__
from modules.service.acp.messages import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    PROTOCOL_VERSION,
    Abilities,
    OfSession,
    abilities_in,
    read,
    trace_in,
)

Ask: TypeAlias = Callable[[str, JsonObject], Awaitable[JsonObject]]
"""Sends a request of ours to the editor, and gives its answer; raises as `Peer.request`."""

Tell: TypeAlias = Callable[[str, JsonObject], Awaitable[None]]
"""Sends a notification; waits while the editor does not read."""


@frozen
class Editor:
    """The other end of the connection."""

    abilities: Callable[[], Abilities]
    ask: Ask
    tell: Tell


class Sessions(Protocol):
    """What answers all that is about sessions."""

    async def answer(self, method: str, params: JsonObject) -> JsonObject:
        """The result of a request.

        Raises:
            RpcError: it can't be answered, for a reason that the protocol has a code for.
            CortexError, SettingsError, Busy: it can't be answered.
        """
        ...

    def cancel(self, session_id: str) -> None:
        """End what a session works on, if it does."""
        ...

    async def aclose(self) -> None:
        """End all sessions, with their servers."""
        ...


OpenSessions: TypeAlias = Callable[[Editor], Sessions]
"""Makes them for an editor; starts nothing."""

LoadEngine: TypeAlias = Callable[[], OpenSessions]
"""Imports what answers requests; called in a thread, once."""

CAPABILITIES: Final[JsonObject] = {
    "loadSession": True,
    "promptCapabilities": {"image": True, "audio": False, "embeddedContext": True},
    "mcpCapabilities": {"http": True, "sse": False},
    "sessionCapabilities": {"list": {}, "delete": {}, "resume": {}, "close": {}},
}

log = logging.getLogger(__name__)


class AcpDoor:
    """Answers one editor until it goes away."""

    def __init__(self, transport: Transport, load: LoadEngine, redactor: Redactor) -> None:
        """Say nothing yet."""
        self._transport = transport
        self._load = load
        self._redactor = redactor
        self._abilities = Abilities()
        self._peer = Peer(transport, self._answer, self._hear)
        self._opening: asyncio.Task[Sessions] | None = None

    async def serve(self) -> None:
        """Answer until the editor closes our stdin, or this is cancelled; ends all that runs."""
        await self._peer.open()
        try:
            await self._transport.lost.wait()
        finally:
            if self._opening is not None:
                self._opening.cancel()
                await asyncio.wait({self._opening})
            if self._sessions is not None:
                await self._sessions.aclose()
            await self._peer.aclose()

    @property
    def _sessions(self) -> Sessions | None:
        """What is there of them."""
        opening = self._opening
        if opening is None or not opening.done() or opening.cancelled():
            return None
        return opening.result() if opening.exception() is None else None

    async def _answer(self, method: str, params: JsonObject) -> JsonObject:
        """The result of a request (`core.mcp.peer.OnRequest`); its trace is the editor's.

        Raises:
            RpcError: there is none; the text says why, the data names the trace.
        """
        parent, state = trace_in(params)
        about = {"door": "acp", "client": self._abilities.name}
        with working(begin(parent, state, metadata=about)) as execution:
            try:
                return await self._result(method, params)
            except RpcError as error:
                code, told, data = error.code, str(error), error.data
            except (UserError, SettingsError) as error:
                code, told, data = INVALID_PARAMS, str(error), None
            except WorldError as error:
                code, told, data = INTERNAL_ERROR, str(error), None
            except Exception as error:
                log.exception("a request of the editor failed: %s", method[:80])
                told = f"a bug in Cortex-R: {type(error).__name__}; its log has the details"
                code, data = INTERNAL_ERROR, None
            traced: JsonObject = {"traceId": execution.trace_id}
            raise RpcError(code, self._redactor.text(told), data or traced)

    async def _result(self, method: str, params: JsonObject) -> JsonObject:
        match method:
            case "initialize":
                return self._initialize(params)
            case "authenticate":
                return {}
            case _:
                return await (await asyncio.shield(self._opened())).answer(method, params)

    def _initialize(self, params: JsonObject) -> JsonObject:
        """What we can do; our only version of the protocol is answered, whichever is asked for."""
        self._abilities = abilities_in(params)
        asyncio.get_running_loop().call_soon(self._opened)  # behind the answer
        return {
            "protocolVersion": PROTOCOL_VERSION,
            "agentCapabilities": CAPABILITIES,
            "agentInfo": {"name": "cortex-r", "title": "Cortex-R", "version": __version__},
            "authMethods": [],
        }

    def _opened(self) -> asyncio.Task[Sessions]:
        has_failed = self._opening is not None and self._opening.done() and self._sessions is None
        if self._opening is None or has_failed:  # what failed may be mended by now
            self._opening = asyncio.create_task(self._open())
        return self._opening

    async def _open(self) -> Sessions:
        open_sessions = await asyncio.to_thread(self._load)
        # An editor hears by `session/cancel` of its own that a question is withdrawn.
        ask = partial(self._peer.request, cancellable=False)
        return open_sessions(Editor(lambda: self._abilities, ask, self._peer.notify))

    def _hear(self, method: str, params: JsonObject) -> None:
        """Take a notification (`core.mcp.peer.OnNotification`)."""
        if method == "session/cancel" and self._sessions is not None:
            try:
                self._sessions.cancel(read(OfSession, params).session_id)
            except RpcError as error:
                log.warning("session/cancel: %s", error)

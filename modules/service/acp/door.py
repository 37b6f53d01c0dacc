"""The connection with an editor: what is answered at once, and what sessions answer.

`initialize` needs nothing of the engine, which is imported only when it has been answered: no
server, sandbox or model is there before the first prompt.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import Final, Protocol, TypeAlias

from config.settings import SettingsError
from core.base.redaction import Redactor
from core.errors import UserError, WorldError
from core.mcp.peer import Peer, RpcError, Transport
from core.run.execution import begin, working
from core.tools.json_schema import as_object
from core.values import JsonObject
from core.version import __version__
from modules.service.acp.messages import INTERNAL_ERROR, INVALID_PARAMS, Meta, Params, read

INTRODUCTION: Final[JsonObject] = {
    "protocolVersion": 1,
    "agentCapabilities": {
        "loadSession": True,
        "promptCapabilities": {"image": True, "audio": False, "embeddedContext": True},
        "mcpCapabilities": {"http": True, "sse": False},
        "sessionCapabilities": {"list": {}},
    },
    "agentInfo": {"name": "cortex-r", "title": "Cortex-R", "version": __version__},
    "authMethods": [],
}
"""What we can do: the answer to `initialize`, whichever version of the protocol is asked for."""

log = logging.getLogger(__name__)


class Sessions(Protocol):
    """What answers all that is about sessions."""

    async def answer(self, method: str, params: Params) -> JsonObject:
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


class Editor:
    """The other end of the connection; `has_forms`: its user can fill in a form."""

    def __init__(self, peer: Peer) -> None:
        """Say nothing yet."""
        self._peer = peer
        self.has_forms = False

    async def ask(self, method: str, params: JsonObject) -> JsonObject:
        """The answer to a request of ours; raises as `Peer.request`."""
        # An editor hears by `session/cancel` of its own that a question is withdrawn.
        return await self._peer.request(method, params, cancellable=False)

    async def tell(self, session_id: str, update: JsonObject) -> None:
        """Send an update of a session; waits while the editor does not read."""
        await self._peer.notify("session/update", {"sessionId": session_id, "update": update})


OpenSessions: TypeAlias = Callable[[Editor], Sessions]
"""Imports the engine, and makes what answers for an editor; starts nothing. Called in a thread."""


class AcpDoor:
    """Answers one editor until it goes away."""

    def __init__(self, transport: Transport, open_: OpenSessions, redactor: Redactor) -> None:
        """Say nothing yet."""
        self._transport = transport
        self._open = open_
        self._redactor = redactor
        self._peer = Peer(transport, self._answer, self._hear)
        self._editor = Editor(self._peer)
        self._client = ""
        self._sessions: Sessions | None = None
        self._opening = asyncio.Lock()
        self._ahead: asyncio.Task[None] | None = None

    async def serve(self) -> None:
        """Answer until the editor closes our stdin, or this is cancelled; ends all that runs."""
        await self._peer.open()
        try:
            await self._transport.lost.wait()
        finally:
            await self._peer.aclose()
            if self._ahead is not None:
                await asyncio.wait({self._ahead})  # what is being imported can't be stopped
            if self._sessions is not None:
                await self._sessions.aclose()

    async def _answer(self, method: str, given: JsonObject) -> JsonObject:
        """The result of a request (`core.mcp.peer.OnRequest`); its trace is the editor's.

        Raises:
            RpcError: there is none; the text says why, the data names the trace.
        """
        params = read(given)
        meta, about = params.meta or Meta(), {"door": "acp", "client": self._client}
        with working(begin(meta.traceparent, meta.tracestate, metadata=about)) as execution:
            try:
                match method:
                    case "initialize":
                        return self._introduce(params)
                    case "authenticate":
                        return {}
                    case _:
                        return await (await self._opened()).answer(method, params)
            except RpcError as error:
                code, told = error.code, str(error)
            except (UserError, SettingsError) as error:
                code, told = INVALID_PARAMS, str(error)
            except WorldError as error:
                code, told = INTERNAL_ERROR, str(error)
            except Exception as error:
                log.exception("a request of the editor failed: %s", method[:80])
                told = f"a bug in Cortex-R: {type(error).__name__}; its log has the details"
                code = INTERNAL_ERROR
            raise RpcError(code, self._redactor.text(told), {"traceId": execution.trace_id})

    def _hear(self, method: str, given: JsonObject) -> None:
        """Take a notification (`core.mcp.peer.OnNotification`)."""
        if method == "session/cancel" and self._sessions is not None:
            with contextlib.suppress(RpcError):  # one that can't be read cancels nothing
                self._sessions.cancel(read(given).session_id)

    def _introduce(self, params: Params) -> JsonObject:
        asking = as_object((params.client_capabilities or {}).get("elicitation"))
        self._editor.has_forms = asking.get("form") is not None
        self._client = str((params.client_info or {}).get("name", ""))
        self._ahead = asyncio.create_task(self._open_ahead())  # behind the answer
        return INTRODUCTION

    async def _open_ahead(self) -> None:
        with contextlib.suppress(UserError, SettingsError):  # it is told to the first request
            await self._opened()

    async def _opened(self) -> Sessions:
        async with self._opening:
            if self._sessions is None:  # what failed may be mended by now
                self._sessions = await asyncio.to_thread(self._open, self._editor)
            return self._sessions

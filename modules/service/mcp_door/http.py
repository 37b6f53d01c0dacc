"""The door over Streamable HTTP: a route for a web server, `/mcp` say.

Who calls, and whether it may, is the web server's to know; so are Host, Origin and CORS.
"""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Final, Self

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from core.base.frozen import frozen
from modules.service.mcp_door.asking import Caller
from modules.service.mcp_door.door import CALLER, McpDoor
from modules.service.served.runs import Draining

BODY_BYTES_MAX: Final = 4 * 1024 * 1024
"""A larger request gets 413."""

CONNECTIONS_MAX: Final = 1_000
"""So many connections with a handshake are kept; one more gets 503."""

IDLE_SECONDS: Final = 30 * 60.0
"""One that is not used for so long ends; its client begins anew."""

LAST_WORDS_SECONDS: Final = 2.0
"""So long the ends of calls may take to be sent."""


class McpHttp:
    """Requests to `/mcp`; `async with` bounds the connections, and the door's calls."""

    def __init__(self, door: McpDoor) -> None:
        """Open nothing."""
        self._door = door
        self._manager = StreamableHTTPSessionManager(
            door.server,
            session_idle_timeout=IDLE_SECONDS,
            max_request_body_size=BODY_BYTES_MAX,
            max_sessions=CONNECTIONS_MAX,
        )
        self._stack = AsyncExitStack()
        self._requests: set[asyncio.Task[object]] = set()
        self._has_ended = False

    async def __aenter__(self) -> Self:
        """Take requests from now on; ends in the task that it was entered in."""
        await self._stack.enter_async_context(self._manager.run())
        self._stack.push_async_callback(self._answered)
        await self._stack.enter_async_context(self._door)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End what is answered, and when that is told, all connections."""
        self._has_ended = True
        await self._stack.aclose()

    async def _answered(self) -> None:
        if self._requests:
            await asyncio.wait(self._requests, timeout=LAST_WORDS_SECONDS)

    def route(self, path: str, caller_of: Callable[[Scope], Caller]) -> Route:
        """What answers below a path; `caller_of` says who calls, who may."""
        return Route(path, _Endpoint(self, caller_of))

    async def handle(self, caller: Caller, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request of somebody who may call; one user never gets at another's session.

        Raises:
            Draining: it comes too late.
        """
        if self._has_ended:
            raise Draining("the service ends; try again in a while")
        token = AccessToken(token="", client_id=f"{caller.user.name}/{caller.profile}", scopes=[])
        named = {**scope, "user": AuthenticatedUser(token), CALLER: caller}
        task = asyncio.current_task()
        if task is not None and scope["method"] == "POST":  # GET waits for what may never come
            self._requests.add(task)
            task.add_done_callback(self._requests.discard)
        await self._manager.handle_request(named, receive, send)


@frozen
class _Endpoint:
    """Takes requests of every method, which an ASGI application does and a function does not."""

    http: McpHttp
    caller_of: Callable[[Scope], Caller]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.http.handle(self.caller_of(scope), scope, receive, send)

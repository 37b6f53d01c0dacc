"""The door over Streamable HTTP: what a web server has at a path, `/mcp` say.

Who calls, and whether it may, is the web server's to know; so are Host, Origin and CORS.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Final

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.types import Receive, Scope, Send

from modules.service.mcp_door.door import CALLER, McpDoor
from modules.service.mcp_door.work import Caller
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
    """An ASGI application; `caller_of` says who calls, who may."""

    def __init__(self, door: McpDoor, caller_of: Callable[[Scope], Caller]) -> None:
        """Open nothing."""
        self._door = door
        self._caller_of = caller_of
        self._manager = StreamableHTTPSessionManager(
            door.server,
            session_idle_timeout=IDLE_SECONDS,
            max_request_body_size=BODY_BYTES_MAX,
            max_sessions=CONNECTIONS_MAX,
        )
        self._requests: set[asyncio.Task[object]] = set()
        self._has_ended = False

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Within the `with`, requests are taken.

        With it the door's calls end, and when that is told, all connections.
        """
        async with self._manager.run():
            try:
                async with self._door:
                    try:
                        yield
                    finally:
                        self._has_ended = True
            finally:
                if self._requests:
                    await asyncio.wait(self._requests, timeout=LAST_WORDS_SECONDS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request of somebody who may call; one user never gets at another's session.

        Raises:
            Draining: it comes too late.
        """
        if self._has_ended:
            raise Draining("the service ends; try again in a while")
        caller = self._caller_of(scope)
        token = AccessToken(token="", client_id=f"{caller.user.name}/{caller.profile}", scopes=[])
        named = {**scope, "user": AuthenticatedUser(token), CALLER: caller}
        task = asyncio.current_task()
        if task is not None and scope["method"] == "POST":  # GET waits for what may never come
            self._requests.add(task)
            task.add_done_callback(self._requests.discard)
        await self._manager.handle_request(named, receive, send)

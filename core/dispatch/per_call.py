"""A connection that is made anew for every call, as the seed has it."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace

from config.servers import ServerSpec
from core.content import ToolResult
from core.dispatch import call_errors
from core.dispatch.life import Check, ConnectionSettings, OnTools
from core.dispatch.persistent import ServerConnection, allow_all, ignore_tools
from core.dispatch.status import ServerStatus
from core.dispatch.turns import Turns
from core.errors import ServerError
from core.mcp.hooks import OnProgress
from core.process.spawn import SpawnedServer
from core.tool_spec import ToolSpec
from core.values import JsonObject


class PerCallConnection:
    """A fresh process for each call: clean state at a thousandfold cost."""

    def __init__(
        self,
        spec: ServerSpec,
        settings: ConnectionSettings,
        spawned: SpawnedServer | None = None,
        on_tools: OnTools = ignore_tools,
        check: Check = allow_all,
    ) -> None:
        """As `ServerConnection`; `spawned` serves the first use."""
        self.spec = spec
        self._turns = Turns(spec.concurrent_calls)
        self._settings = replace(settings, hooks=self._turns.standing_still(settings.hooks))
        self._on_tools = on_tools
        self._check = check
        self._spare = self._new(spawned) if spawned else None
        self._running: set[ServerConnection] = set()
        self._last = ServerStatus(spec.id, "down")
        self._closed = False

    async def start(self) -> list[ToolSpec]:
        """List the tools with a process of its own; raises as `ServerConnection.start`."""
        async with self._one() as connection:
            return await connection.start()

    async def call(
        self, tool: ToolSpec | str, arguments: JsonObject, on_progress: OnProgress | None = None
    ) -> ToolResult:
        """Call a tool with a process of its own; raises as `ServerConnection.call`.

        So many processes run at once as the server may have calls.
        """
        name = tool if isinstance(tool, str) else tool.name
        try:
            left = await self._turns.take(self.spec.timeout_of(name))
        except TimeoutError:
            raise call_errors.never_sent_in_time(self.spec, name, "") from None
        try:
            async with self._one() as connection:
                return await connection.call(tool, arguments, on_progress, seconds=left)
        finally:
            self._turns.give_back()

    async def ping(self) -> float:
        """Seconds that a process of its own takes to answer; raises as `ServerConnection.ping`."""
        async with self._one() as connection:
            return await connection.ping()

    def status(self) -> ServerStatus:
        """How its last process was; it is `up` only while one runs."""
        running = (connection.status() for connection in self._running)
        return next((status for status in running if status.state == "up"), self._last)

    async def aclose(self) -> None:
        """End all processes; safe to call twice."""
        self._closed = True
        spare, self._spare = self._spare, None
        everyone = [*self._running, *([spare] if spare else [])]
        await asyncio.gather(*(connection.aclose() for connection in everyone))

    def _new(self, spawned: SpawnedServer | None = None) -> ServerConnection:
        return ServerConnection(self.spec, self._settings, spawned, self._on_tools, self._check)

    @asynccontextmanager
    async def _one(self) -> AsyncGenerator[ServerConnection]:
        if self._closed:
            raise call_errors.closed(self.spec)
        spare, self._spare = self._spare, None
        connection = spare or self._new()
        self._running.add(connection)
        try:
            yield connection
        except ServerError as error:
            self._last = replace(self._last, state="failed", problem=str(error))
            raise
        else:
            self._last = replace(connection.status(), state="down", pid=None)
        finally:
            await connection.aclose()
            self._running.discard(connection)

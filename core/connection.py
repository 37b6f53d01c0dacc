"""Connections to servers: one that lasts, and one that is made anew for every call.

Light, as `core.life` is: nothing here imports the MCP SDK.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TypeAlias

from config.servers import ServerSpec
from core.catalog import ToolResult, ToolSpec
from core.errors import ServerLost, ToolTimeout
from core.life import ConnectionSettings, Life, OnTools, OpenSession
from core.shutdown import discard_server
from core.spawn import SpawnedServer
from core.values import JsonObject


def _ignore_tools(tools: list[ToolSpec]) -> None:
    """Do nothing with a new listing."""


class ServerConnection:
    """A long-lived session with one server: started on first use, and again after a crash."""

    def __init__(
        self,
        spec: ServerSpec,
        settings: ConnectionSettings,
        spawned: SpawnedServer | None = None,
        on_tools: OnTools = _ignore_tools,
    ) -> None:
        """Start nothing yet.

        `spawned` is a process to adopt at the first start; `on_tools` hears what each new
        session lists, before any call goes out on it.
        """
        self.spec = spec
        self._settings = settings
        self._spawned = spawned
        self._on_tools = on_tools
        self._life: Life | None = None
        self._closed = False

    async def start(self) -> list[ToolSpec]:
        """Start the server unless it runs; the tools that its session listed.

        Cancelling the caller leaves the start to go on.

        Raises:
            ServerStartError: it did not start, or not in time.
        """
        _, session = await self._session()
        return session.tools

    async def call(self, tool: str, arguments: JsonObject) -> ToolResult:
        """Call a tool, on a server that is started or restarted if need be.

        Raises:
            CallRefused: the arguments can't be sent.
            ServerStartError: the server did not start.
            ServerLost: it died or closed its pipe during the call.
            ToolTimeout: no answer within `call_timeout_seconds`; the request was cancelled.
        """
        life, session = await self._session()
        server, seconds = self.spec.id, self.spec.call_timeout_seconds
        try:
            async with asyncio.timeout(seconds):
                result = await session.client.call(tool, arguments)
        except TimeoutError:
            raise ToolTimeout(
                server,
                f"server '{server}' did not answer '{tool}' within {seconds:g} s "
                "(call_timeout_seconds in the profile); the call was cancelled, and whether it "
                f"took effect is unknown{life.evidence()}",
            ) from None
        if result is None:
            how = await life.loss()
            raise ServerLost(
                server,
                f"server '{server}' {how} before it answered '{tool}'; whether the call took "
                f"effect is unknown{life.evidence()}",
            )
        return result

    async def aclose(self) -> None:
        """End the server, in order and in bounded time; safe to call twice."""
        self._closed = True
        if self._life is not None:
            await self._life.end()
        if (spawned := self._take_spawned()) is not None:
            await discard_server(spawned, self._settings.grace)

    async def _session(self) -> tuple[Life, OpenSession]:
        while True:
            if self._closed:
                raise ServerLost(self.spec.id, f"server '{self.spec.id}' was closed")
            life = self._life
            if life is None or life.owner.done():
                life = Life(self.spec, self._settings, self._take_spawned(), self._on_tools)
                self._life = life
            elif life.is_ending:
                # Never two processes at a time: the last one is on its way out.
                await asyncio.wait({life.owner})
                continue
            return life, await asyncio.shield(life.opened)

    def _take_spawned(self) -> SpawnedServer | None:
        spawned, self._spawned = self._spawned, None
        return spawned


class PerCallConnection:
    """A fresh process for each call, as the seed has it: clean state at a thousandfold cost."""

    def __init__(
        self,
        spec: ServerSpec,
        settings: ConnectionSettings,
        spawned: SpawnedServer | None = None,
        on_tools: OnTools = _ignore_tools,
    ) -> None:
        """As `ServerConnection`; `spawned` serves the first use."""
        self.spec = spec
        self._settings = settings
        self._spare = ServerConnection(spec, settings, spawned, on_tools) if spawned else None
        self._on_tools = on_tools
        self._running: set[ServerConnection] = set()

    async def start(self) -> list[ToolSpec]:
        """List the tools with a process of its own; raises as `ServerConnection.start`."""
        async with self._one() as connection:
            return await connection.start()

    async def call(self, tool: str, arguments: JsonObject) -> ToolResult:
        """Call a tool with a process of its own; raises as `ServerConnection.call`."""
        async with self._one() as connection:
            return await connection.call(tool, arguments)

    async def aclose(self) -> None:
        """End all processes; safe to call twice."""
        spare, self._spare = self._spare, None
        everyone = [*self._running, *([spare] if spare else [])]
        await asyncio.gather(*(connection.aclose() for connection in everyone))

    @asynccontextmanager
    async def _one(self) -> AsyncGenerator[ServerConnection]:
        spare, self._spare = self._spare, None
        connection = spare or ServerConnection(self.spec, self._settings, on_tools=self._on_tools)
        self._running.add(connection)
        try:
            yield connection
        finally:
            await connection.aclose()
            self._running.discard(connection)


Connection: TypeAlias = ServerConnection | PerCallConnection

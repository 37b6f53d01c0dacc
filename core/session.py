"""The dispatcher: every tool of every MCP server behind one `call_tool`.

`MultiMCP` keeps one long-lived session a server, started when it is first needed; with cached tool
lists it can say what is on offer with no server up. `MCP` is the one-shot client for debugging.
Light: importing this imports no SDK (see `core.life`).
"""

import asyncio
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from config.servers import ServerSpec
from core.catalog import ToolCatalog, ToolResult, ToolSpec
from core.connection import Connection, PerCallConnection, ServerConnection
from core.errors import ConfigurationError, ServerError
from core.life import ConnectionSettings, SdkLoader
from core.spawn import SpawnedServer, StopGrace
from core.tool_cache import ToolCache
from core.values import JsonObject

CLOSE_SECONDS = 10.0
"""Bound on ending all servers, above the sum of one server's graces."""

SLOW_START_SECONDS = 3.0
"""After so long the user is told which server is being waited for."""


class MultiMCP:
    """Long-lived sessions with many servers; use with `async with`, or call `aclose`."""

    def __init__(
        self,
        server_configs: Sequence[ServerSpec],
        *,
        cache: ToolCache | None = None,
        log_folder: Path | None = None,
        spawned: Mapping[str, SpawnedServer] | None = None,
        on_notice: Callable[[str], Awaitable[None]] | None = None,
        on_waiting: Callable[[str], Awaitable[None]] | None = None,
        stop_grace: StopGrace | None = None,
        slow_start_seconds: float = SLOW_START_SECONDS,
    ) -> None:
        """Start nothing.

        Processes in `spawned` (by server id) are adopted: used when their server is needed,
        ended in any case. `on_notice` hears of servers that failed, `on_waiting` of those that
        are still waited for after `slow_start_seconds`.

        Raises:
            ConfigurationError: two servers have the same id.
        """
        self.server_tools: dict[str, list[ToolSpec]] = {}
        """The known tools by server id, in the order of the configuration."""
        self.tool_map: dict[str, ToolSpec] = {}
        """The known tools by bare name, or by `server.tool` where a name is shared."""
        self.catalog = ToolCatalog(())
        self.failures: dict[str, ServerError] = {}
        """Why a server is left out, by id."""
        self._specs = {spec.id: spec for spec in server_configs}
        if len(self._specs) < len(server_configs):
            ids = [spec.id for spec in server_configs]
            twice = sorted({name for name in ids if ids.count(name) > 1})
            raise ConfigurationError(
                f"mcp_servers in the profile has several servers with the id {', '.join(twice)}; "
                "give each its own"
            )
        self._cache = cache
        self._on_notice = on_notice
        self._on_waiting = on_waiting
        self._slow_start_seconds = slow_start_seconds
        settings = ConnectionSettings(SdkLoader(), log_folder, stop_grace or StopGrace())
        self._connections = {
            spec.id: self._connection(spec, settings, (spawned or {}).get(spec.id))
            for spec in server_configs
        }
        self._background: set[asyncio.Task[None]] = set()
        self._closing: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        """Nothing to wait for: servers start when needed."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End all servers."""
        await self.aclose()

    async def initialize(self, server_ids: Collection[str] | None = None) -> None:
        """Learn the tools of the given servers, by default of all.

        From the cache where it knows them, with nothing started; else those servers start
        together. One that fails is noted (`failures`, `on_notice`) and left out. Servers whose
        tools are known already are not asked again. Unknown ids are passed over.
        """
        wanted = self._wanted(server_ids)
        unknown = [name for name in wanted if name not in self.server_tools]
        for name in unknown:
            if self._cache and (tools := self._cache.load(self._specs[name])) is not None:
                self._learn(name, tools)
        silent = [name for name in unknown if name not in self.server_tools]
        await asyncio.gather(*(self._start(name) for name in silent))

    async def start(self, server_ids: Collection[str] | None = None) -> None:
        """Start in the background what a run will need; returns at once.

        A server that fails is noted like in `initialize`, and tried again when a call needs it.
        """
        for name in self._wanted(server_ids):
            if self._specs[name].connection == "persistent":
                task = asyncio.create_task(self._start(name))
                self._background.add(task)
                task.add_done_callback(self._background.discard)

    async def prepare(self, tool_name: str) -> None:
        """Have the tool's server running, so that a call after this takes only its own time.

        Raises:
            CallRefused: no such tool, or several.
            ServerError: the server did not start.
        """
        server = self.catalog.resolve(tool_name).server
        connection = self._connections[server]
        if isinstance(connection, ServerConnection):
            async with self._telling_when_slow(server):
                await connection.start()

    async def call_tool(self, tool_name: str, arguments: JsonObject) -> ToolResult:
        """Call `server.tool`, or a bare name that only one server has.

        The server is started if need be. An error of the tool is a value (`is_error`).

        Raises:
            CallRefused: no such tool, or several, or arguments that JSON can't carry.
            ServerError: the server did not start, died, or did not answer in time.
        """
        tool = self.catalog.resolve(tool_name)
        result = await self._connections[tool.server].call(tool.name, arguments)
        self.failures.pop(tool.server, None)
        return result

    def get_tools_from_servers(self, selected: Collection[str]) -> list[ToolSpec]:
        """The known tools of these servers, in the order given."""
        return [tool for name in selected for tool in self.server_tools.get(name, [])]

    async def list_all_tools(self) -> list[str]:
        """The names of all known tools: bare where unique, else `server.tool`."""
        return list(self.tool_map)

    def get_all_tools(self) -> list[ToolSpec]:
        """All known tools."""
        return list(self.catalog)

    def server_descriptions(self) -> dict[str, str]:
        """What each usable server is for, by id; its tools' names where nothing else is said."""
        return {
            name: self._specs[name].description or f"tools: {', '.join(t.name for t in tools)}"
            for name, tools in self.server_tools.items()
        }

    async def aclose(self) -> None:
        """End all servers at once, those never used too; safe to call twice.

        A cancellation is delivered after the end, which is bounded.
        """
        if self._closing is None:
            self._closing = asyncio.create_task(self._close_all())
        try:
            await asyncio.shield(self._closing)
        except asyncio.CancelledError:
            await asyncio.wait({self._closing}, timeout=CLOSE_SECONDS)
            raise

    async def _close_all(self) -> None:
        for task in self._background:
            task.cancel()
        ends = [asyncio.create_task(one.aclose()) for one in self._connections.values()]
        pending: set[asyncio.Task[None]] = set()
        if tasks := {*ends, *self._background}:
            _, pending = await asyncio.wait(tasks, timeout=CLOSE_SECONDS)
        for task in pending:
            task.cancel()

    def _connection(
        self, spec: ServerSpec, settings: ConnectionSettings, spawned: SpawnedServer | None
    ) -> Connection:
        def on_tools(tools: list[ToolSpec]) -> None:
            self._listed(spec, tools)

        kind = PerCallConnection if spec.connection == "per_call" else ServerConnection
        return kind(spec, settings, spawned, on_tools)

    def _wanted(self, server_ids: Collection[str] | None) -> list[str]:
        return [name for name in self._specs if server_ids is None or name in server_ids]

    async def _start(self, name: str) -> None:
        try:
            async with self._telling_when_slow(name):
                await self._connections[name].start()
        except ServerError as error:
            self.failures[name] = error
            if self._on_notice is not None:
                await self._on_notice(str(error))

    @asynccontextmanager
    async def _telling_when_slow(self, name: str) -> AsyncGenerator[None]:
        """Say who is waited for, should it take long."""

        async def tell() -> None:
            await asyncio.sleep(self._slow_start_seconds)
            if self._on_waiting is not None:
                bound = self._specs[name].start_timeout_seconds
                text = f"server '{name}' is still starting; it has {bound:g} s for it"
                await self._on_waiting(text)

        telling = asyncio.create_task(tell())
        try:
            yield
        finally:
            telling.cancel()

    def _listed(self, spec: ServerSpec, tools: list[ToolSpec]) -> None:
        """A session has listed its server's tools: believe it over the cache."""
        self.failures.pop(spec.id, None)
        if self.server_tools.get(spec.id) != tools:
            self._learn(spec.id, tools)
            if self._cache is not None:
                self._cache.store(spec, tools)

    def _learn(self, name: str, tools: list[ToolSpec]) -> None:
        known = {**self.server_tools, name: tools}
        self.server_tools = {spec: known[spec] for spec in self._specs if spec in known}
        self.catalog = ToolCatalog(tool for tools in self.server_tools.values() for tool in tools)
        self.tool_map = {
            tool.qualified_name if self.catalog.is_ambiguous(tool) else tool.name: tool
            for tool in self.catalog
        }


class MCP:
    """One server script, with a process of its own for every use."""

    def __init__(
        self,
        server_script: str,
        working_dir: str | None = None,
        server_command: str | None = None,
        *,
        log_folder: Path | None = None,
    ) -> None:
        """`server_command` runs the script: by default this interpreter, in this directory."""
        spec = ServerSpec(
            id=Path(server_script).stem,
            command=(server_command or sys.executable, server_script),
            cwd=Path(working_dir) if working_dir else Path.cwd(),
            connection="per_call",
        )
        self._connection = PerCallConnection(
            spec, ConnectionSettings(SdkLoader(), log_folder, StopGrace())
        )

    async def list_tools(self) -> list[ToolSpec]:
        """The server's tools.

        Raises:
            ServerStartError: it did not start.
        """
        return await self._connection.start()

    async def call_tool(self, tool_name: str, arguments: JsonObject) -> ToolResult:
        """Call one tool; an error of the tool is a value.

        Raises:
            CallRefused: the arguments can't be sent.
            ServerError: the server did not start, died, or did not answer in time.
        """
        return await self._connection.call(tool_name, arguments)

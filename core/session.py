"""The dispatcher: every tool of every MCP server behind one `call_tool`.

`MultiMCP` keeps one long-lived session a server, started when it is first needed; with cached tool
lists it can say what is on offer with no server up. `MCP` is the one-shot client for debugging.
"""

import asyncio
import sys
from collections.abc import AsyncGenerator, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from config.server_list import redactor_of
from config.servers import FIRST_FETCH_SECONDS, START_TIMEOUT_SECONDS, ServerSpec
from core.base.text import clause
from core.dispatch.connections import PerCallConnection, ServerConnection
from core.dispatch.definitions import SHOWN_KEYS, tool_with_texts
from core.dispatch.hooks import DispatcherHooks, LogPump, RunQuestions, ServerStatus
from core.dispatch.instance import ConnectionSettings
from core.dispatch.known_tools import ToolCache, ToolRegistry
from core.dispatch.start_failures import RunFailures, StartFailures
from core.dispatch.tool_pins import Admitted, ToolPins
from core.errors import ConfigurationError, ServerError
from core.mcp.hooks import OnProgress, SessionHooks
from core.process.server import SpawnedServer
from core.process.watchdog import StopGrace, Watchdog
from core.tools.catalog import ToolCatalog
from core.tools.content import ToolResult
from core.tools.spec import ToolSpec
from core.values import JsonObject

CLOSE_SECONDS = 10.0
"""Bound on ending all servers, above the sum of one server's graces."""

LEFT_OUT_MAX = 20
"""So many tools that can't be used are named, of one server."""

CATCH_UP_SECONDS = 2.0
"""So long a request waits for servers whose program has changed since they were asked."""

SLOW_START_SECONDS = 3.0
"""After so long the user is told which server is being waited for."""


class MultiMCP:
    """Long-lived sessions with many servers; use with `async with`, or call `aclose`."""

    def __init__(
        self,
        server_configs: Sequence[ServerSpec],
        *,
        cache: ToolCache | None = None,
        pins: ToolPins | None = None,
        start_failures: StartFailures | None = None,
        log_folder: Path | None = None,
        spawned: Mapping[str, SpawnedServer] | None = None,
        hooks: DispatcherHooks | None = None,
        stop_grace: StopGrace | None = None,
        slow_start_seconds: float = SLOW_START_SECONDS,
    ) -> None:
        """Start nothing.

        Processes in `spawned` (by server id) are adopted: used when their server is needed,
        ended in any case. `pins` remembers the definitions that were first seen; without it
        changed ones are used as they come. `start_failures` remembers which servers did not
        start: those are left alone for a while, unless a call needs them.

        Raises:
            ConfigurationError: two servers have the same id.
        """
        self.left_out: dict[str, list[str]] = {}
        """What of a server's last listing can't be used, and why, by id."""
        self._specs = _by_id(server_configs)
        self._registry = ToolRegistry(self._specs)
        self._listings: dict[str, list[ToolSpec]] = {}
        self._learning = {name: asyncio.Lock() for name in self._specs}
        self._cache = cache
        self._pins = pins
        self._hooks = hooks or DispatcherHooks()
        self._failures = RunFailures(self._specs, start_failures, self._hooks.on_notice)
        self._questions = RunQuestions(self._hooks)
        self._slow_start_seconds = slow_start_seconds
        self._logs = LogPump(self._hooks.on_log)
        said = SessionHooks(on_log=self._logs.put, ask=self._questions.ask)
        grace = stop_grace or StopGrace()
        guards = (one.watchdog for one in (spawned or {}).values() if one.watchdog is not None)
        watchdog = next(guards, None) or Watchdog(grace)
        self._settings = ConnectionSettings(log_folder, grace, said, watchdog=watchdog)
        self._connections = {
            spec.id: self._connection(spec, (spawned or {}).get(spec.id)) for spec in server_configs
        }
        self._changed: set[str] = set()
        """The servers whose list is that of an older program."""
        self._starts: dict[str, asyncio.Task[None]] = {}
        """By id: starts that go on, or are done."""
        self._closing: asyncio.Task[None] | None = None

    @property
    def specs(self) -> tuple[ServerSpec, ...]:
        """The servers, in the order of the configuration."""
        return tuple(self._specs.values())

    @property
    def failures(self) -> dict[str, ServerError]:
        """Why a server is left out, by id."""
        return self._failures.errors

    @property
    def server_tools(self) -> dict[str, list[ToolSpec]]:
        """The known tools by server id, in the order of the configuration."""
        return self._registry.server_tools

    @property
    def tool_map(self) -> dict[str, ToolSpec]:
        """The known tools by bare name, or by `server.tool` where a name is shared."""
        return self._registry.tool_map

    @property
    def catalog(self) -> ToolCatalog:
        """The known tools, with the names that they can be called by."""
        return self._registry.catalog

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

    def begin_run(self) -> None:
        """Let servers ask the user again: what they asked in earlier runs no longer counts."""
        self._questions.begin_run()

    async def initialize(self, server_ids: Collection[str] | None = None) -> None:
        """Learn the tools of the given servers, by default of all.

        From the cache where it knows them (`recall`); else, and where their program has changed,
        those servers start together. One that fails is noted (`failures`, `on_notice`) and left
        out; one that failed a while ago is left out, too, and that is told once. Servers whose
        tools are known already are not asked again. Unknown ids are passed over.
        """
        await self.recall(server_ids)
        wanted = self._wanted(server_ids)
        silent = [name for name in wanted if name not in self.server_tools or name in self._changed]
        awake = [name for name in silent if not self._failures.rests(name)]
        await self._failures.tell_resting(name for name in silent if name not in awake)
        joined = {name for name in awake if self._is_starting(name)}
        starts = {name: self._begin(name) for name in awake}
        await asyncio.gather(*(self._ended(n, t, n in joined) for n, t in starts.items()))

    async def catch_up(self) -> None:
        """Give servers whose program has changed a moment to list their tools anew.

        They were begun by `recall`. What an older program listed is used of those that take longer.
        """
        starts = {name: self._starts[name] for name in self._changed if name in self._starts}
        waits = (self._ended(n, t, True, CATCH_UP_SECONDS) for n, t in starts.items())
        await asyncio.gather(*waits)

    async def recall(self, server_ids: Collection[str] | None = None) -> None:
        """Learn the tools that the cache knows, of the given servers, by default of all.

        Waits for no server. In the background those begin to start that are to do so eagerly, or
        whose cached tools are old, or listed by a program that has changed since.
        """
        wanted = [
            name for name in self._wanted(server_ids) if not self._failures.is_set_aside(name)
        ]
        soon = {name for name in wanted if self._specs[name].start == "eager"}
        for name in wanted:
            if name in self.server_tools or self._specs[name].problem is not None:
                continue  # what it offered when it could still be used is no use
            if self._cache and (listing := self._cache.listing(self._specs[name])) is not None:
                self.left_out[name] = listing.left_out
                await self._learn(name, listing.tools)
                if listing.has_changed:
                    self._changed.add(name)
                if listing.has_changed or self._cache.is_old(self._specs[name]):
                    soon.add(name)
        await self.start(name for name in soon if not self._failures.rests(name))

    def unlearned(self) -> list[ServerSpec]:
        """The servers whose tools are not known yet, in the order of the configuration."""
        return [spec for name, spec in self._specs.items() if name not in self.server_tools]

    async def learn_more(self) -> bool:
        """Learn the tools of all servers; whether there are tools that were not known before."""
        before = len(self.server_tools)
        await self.initialize()
        return len(self.server_tools) > before

    async def start_unlearned(self) -> None:
        """Start in the background the servers whose tools neither a session nor the cache knows.

        Returns at once; for whoever waits for the user meanwhile.
        """
        silent = (s for s in self.unlearned() if self._cache is None or not self._cache.load(s))
        await self.start(spec.id for spec in silent if not self._failures.rests(spec.id))

    async def start(self, server_ids: Iterable[str] | None = None) -> None:
        """Start in the background what a run will need; returns at once.

        A server that fails is noted like in `initialize`, and tried again when a call needs it.
        """
        for name in self._wanted(None if server_ids is None else set(server_ids)):
            if self._specs[name].connection == "persistent":
                self._begin(name)

    def resolve(self, tool_name: str) -> ToolSpec:
        """The tool that `server.tool` means, or a bare name that only one server has.

        Raises:
            CallRefused: no such tool, or several, or one that was left out.
        """
        return self._registry.resolve(tool_name)

    async def prepare(self, tool: ToolSpec) -> None:
        """Have the tool's server running, so that a call after this takes only its own time.

        Raises:
            ServerError: the server did not start.
        """
        server = tool.server
        connection = self._connections[server]
        if isinstance(connection, ServerConnection) and not connection.is_up:
            await self._start_for_use(server)
        async with self._learning[server]:
            pass  # the user may be asked about its tools just now: nothing is called meanwhile

    async def call_tool(
        self, tool_name: str, arguments: JsonObject, on_progress: OnProgress | None = None
    ) -> ToolResult:
        """Call `server.tool`, or a bare name that only one server has.

        The server is started if need be. An error of the tool is a value (`is_error`).
        `on_progress` hears what the server reports meanwhile.

        Raises:
            CallRefused: no such tool, or several, or one that was left out, or arguments that
                JSON can't carry.
            ServerError: the server did not start, died, or did not answer in time.
        """
        await self.prepare(self.resolve(tool_name))
        tool = self.resolve(tool_name)  # its server may have listed it anew
        return await self.send(tool, arguments, on_progress)

    async def send(
        self, tool: ToolSpec, arguments: JsonObject, on_progress: OnProgress | None = None
    ) -> ToolResult:
        """Call a tool whose server was prepared; raises as `call_tool`.

        A tool that its server has not listed again since is refused.
        """
        result = await self._connections[tool.server].call(tool, arguments, on_progress)
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

    def status(self) -> list[ServerStatus]:
        """How each server is, in the order of the configuration; starts nothing."""
        return [
            self._failures.with_rest(connection.status())
            for connection in self._connections.values()
        ]

    async def ping(self, server_id: str) -> float:
        """Seconds that a server takes to answer a ping; it is started if need be.

        Raises:
            ServerError: it did not start, or did not answer.
        """
        return await self._connections[server_id].ping()

    async def restart(self, server_id: str) -> None:
        """End a server's session, and begin another; one with a process a call lists its tools.

        A failure before is forgotten, and the server is tried whatever is remembered of it.

        Raises:
            ServerError: it did not start.
        """
        before = self._connections[server_id]
        self._connections[server_id] = self._connection(self._specs[server_id])
        with self._hooks.waiting_for(f"server '{server_id}' to end"):
            await before.aclose()
        self.failures.pop(server_id, None)
        await self._start_for_use(server_id)

    async def configure(self, server_configs: Sequence[ServerSpec]) -> None:
        """Have these servers from now on; no call may be under way.

        One whose entry says the same of how it runs stays as it is, up or not. The others end,
        and are forgotten; what is new starts when it is needed.

        Raises:
            ConfigurationError: two servers have the same id; nothing has changed then.
        """
        specs = _by_id(server_configs)
        before = self._connections
        kept = {name for name, one in specs.items() if runs_alike(one, self._specs.get(name))}
        self._connections = {
            name: before[name] if name in kept else self._connection(spec)
            for name, spec in specs.items()
        }
        gone = [connection for name, connection in before.items() if name not in kept]
        change = asyncio.create_task(self._replace(gone, specs, kept))
        with self._hooks.waiting_for("servers to end"):
            try:
                await asyncio.shield(change)
            except asyncio.CancelledError:
                await asyncio.wait({change}, timeout=CLOSE_SECONDS)
                raise

    async def _replace(
        self,
        gone: Sequence[ServerConnection | PerCallConnection],
        specs: dict[str, ServerSpec],
        kept: Collection[str],
    ) -> None:
        if ends := {asyncio.create_task(connection.aclose()) for connection in gone}:
            await asyncio.wait(ends, timeout=CLOSE_SECONDS)
        # Only now: a session that was still listing its tools finds its server until it has ended.
        for name in [name for name in self._specs if name not in kept]:
            del self._learning[name]
            self._changed.discard(name)
            self._starts.pop(name, None)
            for known in (self._listings, self.left_out, self.failures):
                known.pop(name, None)
        self._specs.clear()
        self._specs.update(specs)
        for name in specs:
            self._learning.setdefault(name, asyncio.Lock())
        self._registry.arrange(specs, kept)

    async def aclose(self) -> None:
        """End all servers at once, those never used too; safe to call twice.

        A cancellation is delivered after the end, which is bounded.
        """
        if self._closing is None:
            self._failures.stop_counting()
            self._closing = asyncio.create_task(self._close_all())
        with self._hooks.waiting_for("the servers to end"):
            try:
                await asyncio.shield(self._closing)
            except asyncio.CancelledError:
                await asyncio.wait({self._closing}, timeout=CLOSE_SECONDS)
                raise

    async def _close_all(self) -> None:
        for task in self._starts.values():  # who is ended while it starts has not failed
            task.cancel()
        ends = [asyncio.create_task(one.aclose()) for one in self._connections.values()]
        pending: set[asyncio.Task[None]] = set()
        if tasks := {*ends, *self._starts.values()}:
            _, pending = await asyncio.wait(tasks, timeout=CLOSE_SECONDS)
        for task in pending:
            task.cancel()
        await self._logs.aclose()

    def _connection(
        self, spec: ServerSpec, spawned: SpawnedServer | None = None
    ) -> ServerConnection | PerCallConnection:
        async def on_tools(tools: list[ToolSpec], left_out: Sequence[str]) -> None:
            await self._listed(spec, tools, left_out)

        def check(tool: str) -> None:
            self._registry.resolve(f"{spec.id}.{tool}")

        kind = PerCallConnection if spec.connection == "per_call" else ServerConnection
        patient = _with_time_to_fetch(spec, self._cache)
        return kind(patient, self._settings, spawned, on_tools, check)

    def _wanted(self, server_ids: Collection[str] | None) -> list[str]:
        return [name for name in self._specs if server_ids is None or name in server_ids]

    async def _start_for_use(self, name: str) -> None:
        """Start a server; raises `ServerError`, which is noted."""
        async with self._telling_when_slow(name):
            try:
                await self._connections[name].start()
            except ServerError as error:
                await self._failures.note(name, error)
                raise

    def _begin(self, name: str) -> asyncio.Task[None]:
        """The start of a server that goes on, for all who wait for it; else a new one."""
        task = self._starts.get(name)
        if task is None or task.done():
            task = self._starts[name] = asyncio.create_task(self._start(name))
        return task

    def _is_starting(self, name: str) -> bool:
        task = self._starts.get(name)
        return task is not None and not task.done()

    async def _ended(
        self, name: str, start: asyncio.Task[None], is_joined: bool, seconds: float | None = None
    ) -> None:
        """Wait for the start of a server, which goes on if the waiting is cut short.

        One that was begun for others is waited for under its name, too (`is_joined`).
        """
        text = f"server '{name}' to start"
        with self._hooks.waiting_for(text) if is_joined else nullcontext():
            await asyncio.wait({start}, timeout=seconds)
        if start.done() and not start.cancelled():
            start.result()  # a bug of ours is not passed over

    async def _start(self, name: str) -> None:
        connection = self._connections.get(name)
        if connection is None:
            return  # it was taken out meanwhile
        try:
            async with self._telling_when_slow(name):
                await connection.start()
        except ServerError as error:
            if self._connections.get(name) is not connection:
                return  # ended by us
            is_aside = await self._failures.note(name, error)
            await self._hooks.on_notice(
                f"{clause(str(error))}; {is_aside}" if is_aside else str(error)
            )

    @asynccontextmanager
    async def _telling_when_slow(self, name: str) -> AsyncGenerator[None]:
        """Say who is waited for, should it take long."""
        spec = self._connections[name].spec

        async def tell() -> None:
            await asyncio.sleep(self._slow_start_seconds)
            fetched = f"{spec.fetching} may have to download it first; " if spec.fetching else ""
            bound = f"it has {spec.start_timeout_seconds:g} s for it"
            await self._hooks.on_waiting(f"server '{name}' is still starting; {fetched}{bound}")

        telling = asyncio.create_task(tell())
        try:
            with self._hooks.waiting_for(f"server '{name}' to start"):
                yield
        finally:
            telling.cancel()

    async def _listed(
        self, spec: ServerSpec, tools: list[ToolSpec], left_out: Sequence[str]
    ) -> None:
        """A session has listed its server's tools: believe it over the cache."""
        await self._failures.forget(spec.id)
        if not spec.bundled:
            # Before anything is pinned, cached or shown to a model.
            tools = await asyncio.to_thread(_without_secrets, spec, tools)
        told = list(left_out[:LEFT_OUT_MAX])
        if more := len(left_out) - len(told):
            told.append(f"{more:,} more")
        if told and self.left_out.get(spec.id) != told:
            await self._hooks.on_notice(f"server '{spec.id}': left out: {'; '.join(told)}")
        self.left_out[spec.id] = told
        await self._learn(spec.id, tools)
        self._changed.discard(spec.id)
        if self._cache is not None:
            self._cache.store(spec, tools, told)

    async def _learn(self, name: str, tools: list[ToolSpec]) -> None:
        """Offer the tools whose definitions are new, or the ones that were first seen.

        One list of a server at a time, and known only at the end: whoever brings a list that the
        user is being asked about waits for the answer, and one that never came counts for nothing.
        """
        async with self._learning[name]:
            if self._listings.get(name) == tools:
                return
            admitted = Admitted(tools)
            # Of bundled servers the code is this program, and changes with it.
            if self._pins is not None and not self._specs[name].bundled:
                admitted = await self._pins.admit(self._specs[name], tools, self._questions.approve)
            for note in admitted.notes:
                await self._hooks.on_notice(note)
            self._registry.learn(name, admitted.tools, admitted.refused)
            self._listings[name] = tools
        await self._hooks.on_tools(name)


def runs_alike(spec: ServerSpec, other: ServerSpec | None) -> bool:
    """Whether a running server of one entry may go on for the other: only words differ."""
    if other is None:
        return False
    words = ("origin", "description", "capabilities", "basic_tools", "start")
    return spec == replace(other, **{name: getattr(spec, name) for name in words})


def _with_time_to_fetch(spec: ServerSpec, cache: ToolCache | None) -> ServerSpec:
    """More time for a server that is downloaded first: it never ran here, as far as is known."""
    is_bounded = spec.start_timeout_seconds != START_TIMEOUT_SECONDS
    if spec.fetching is None or is_bounded or (cache is not None and cache.load(spec) is not None):
        return spec
    return replace(spec, start_timeout_seconds=FIRST_FETCH_SECONDS)


def _by_id(server_configs: Sequence[ServerSpec]) -> dict[str, ServerSpec]:
    specs = {spec.id: spec for spec in server_configs}
    if len(specs) < len(server_configs):
        ids = [spec.id for spec in server_configs]
        twice = sorted({name for name in ids if ids.count(name) > 1})
        raise ConfigurationError(
            f"several servers have the id {', '.join(twice)}; give each its own"
        )
    return specs


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
            spec, ConnectionSettings(log_folder, StopGrace(), SessionHooks())
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


def _without_secrets(spec: ServerSpec, tools: list[ToolSpec]) -> list[ToolSpec]:
    """The tools without our secrets, which a server may have written into their definitions."""
    clean = redactor_of(spec).text
    return [tool_with_texts(tool, clean, SHOWN_KEYS) for tool in tools]

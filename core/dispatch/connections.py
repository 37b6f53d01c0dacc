"""The two kinds of connections to a server: one that lasts, and one made anew for every call.

Both work on so many calls at once as the server may have; the others wait in the order in which
they came.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from config.servers import ServerSpec
from core.base.timing import Deadlines
from core.dispatch import call_errors
from core.dispatch.hooks import ServerStatus
from core.dispatch.instance import Check, ConnectionSettings, OnTools, ServerInstance
from core.dispatch.supervisor import Supervisor
from core.errors import ServerError, ServerLost
from core.mcp.hooks import OnProgress, Question, Reply, SessionHooks
from core.mcp.peer import SessionLost, Unanswered
from core.process.server import SpawnedServer, discard_server, guarded
from core.tools.content import ToolResult
from core.tools.spec import ToolSpec
from core.values import JsonObject

VERDICT_SECONDS = 0.25
"""How long the error of a call that timed out waits to say whether the server answers a ping."""


async def ignore_tools(tools: list[ToolSpec], left_out: Sequence[str]) -> None:
    """Do nothing with a new listing."""


def allow_all(tool: str) -> None:
    """Let every tool be called."""


class CallSlots:
    """The slots of one server. A caller takes one, and gives it back whatever happens.

    Waiting counts against the call's own time, but for the time in which the user is asked
    something: whoever works on the question holds up the others.
    """

    def __init__(self, at_once: int) -> None:
        """So many calls at once."""
        self._free = asyncio.Semaphore(at_once)
        self._deadlines = Deadlines()

    async def take(self, seconds: float) -> float:
        """Wait for a slot; how much of the time is left. Costs nothing where nobody waits.

        Raises:
            TimeoutError: the time was over before one was free.
        """
        if not self._free.locked():
            await self._free.acquire()
            return seconds
        async with self._deadlines.within(seconds) as deadline:
            await self._free.acquire()
            return self._deadlines.seconds_left(deadline)

    def give_back(self) -> None:
        """Let the next one in."""
        self._free.release()

    def standing_still(self, hooks: SessionHooks) -> SessionHooks:
        """The same hooks, with no time passing for those who wait while the user is asked."""

        async def ask(question: Question) -> Reply:
            with self._deadlines.standing_still():
                return await hooks.ask(question)

        return replace(hooks, ask=ask)


class ServerConnection:
    """A long-lived session with one server."""

    def __init__(
        self,
        spec: ServerSpec,
        settings: ConnectionSettings,
        spawned: SpawnedServer | None = None,
        on_tools: OnTools = ignore_tools,
        check: Check = allow_all,
    ) -> None:
        """Start nothing yet.

        `spawned` is a process to adopt at the first start; `on_tools` hears what each new
        session lists, before any call goes out on it, and what it lists when its tools change.
        `check` is asked right before each call is sent: a start may have listed the tool anew.
        """
        self.spec = spec
        self._slots = CallSlots(spec.concurrent_calls)
        self._settings = replace(settings, hooks=self._slots.standing_still(settings.hooks))
        self._spawned = spawned and guarded(spawned, settings.watchdog)
        self._on_tools = on_tools
        self._check = check
        self._supervisor = Supervisor(spec, settings.timing, self._begin_instance)
        self._closed = False

    @property
    def is_up(self) -> bool:
        """Whether the server runs and can be called at once."""
        instance = self._supervisor.instance
        return instance is not None and instance.is_up

    async def start(self) -> list[ToolSpec]:
        """Start the server unless it runs; the tools that its session listed.

        Cancelling the caller leaves the start to go on.

        Raises:
            ServerStartError: it did not start, or not in time.
        """
        return (await self._running()).tools

    async def call(
        self,
        tool: ToolSpec | str,
        arguments: JsonObject,
        on_progress: OnProgress | None = None,
        *,
        seconds: float | None = None,
    ) -> ToolResult:
        """Call a tool, on a server that is started or restarted if need be.

        If the server is lost meanwhile, a tool that says that it is read-only or idempotent is
        called once more; of a mere name neither is known. The tool's time, or `seconds`, runs
        from when it waits for its turn, for each of the two calls anew, and not while the server
        starts or the user is asked something.

        Raises:
            CallRefused: the arguments can't be sent.
            ServerStartError: the server did not start.
            ServerLost: it went away during the call.
            ToolTimeout: no answer in time; a call that had been sent was cancelled.
        """
        name = tool if isinstance(tool, str) else tool.name
        bound = self.spec.timeout_of(name) if seconds is None else seconds
        harmless = not isinstance(tool, str) and (tool.read_only or tool.idempotent)
        call = _Call(name, arguments, bound, on_progress, may_be_repeated=harmless)
        await self._running()  # what a start takes is not the call's time
        try:
            left = await self._slots.take(bound)
        except TimeoutError:
            raise call_errors.never_sent_in_time(self.spec, name, self._evidence()) from None
        try:
            return await self._make(call, left)
        finally:
            self._slots.give_back()

    async def ping(self) -> float:
        """Seconds that the server takes to answer a ping; it is started if need be.

        Raises:
            ServerStartError: it did not start.
            ServerLost: it did not answer, and is recycled, or it went away.
        """
        instance = await self._running()
        began = time.perf_counter()
        checking = instance.check_health()
        await asyncio.wait({checking})
        if checking.cancelled() or not checking.result():
            raise ServerLost(
                self.spec.id,
                f"server '{self.spec.id}' {await instance.loss()}{instance.evidence()}",
            )
        return time.perf_counter() - began

    def status(self) -> ServerStatus:
        """How the server is; starts nothing."""
        instance, problem = self._supervisor.instance, self._supervisor.problem
        spawned = None if instance is None else instance.spawned
        log_path = None if spawned is None else spawned.log_path
        if instance is None or not instance.is_up:
            text = self.spec.problem if problem is None else str(problem)
            well = "not started" if instance is None else "down"
            state = well if text is None else "failed"
            return ServerStatus(self.spec.id, state, log_path=log_path, problem=text)
        info = instance.client.info
        return ServerStatus(
            self.spec.id,
            "up",
            title=info.name if info else "",
            version=info.version if info else "",
            protocol_version=info.protocol_version if info else "",
            tools=len(instance.tools),
            left_out=tuple(instance.client.skipped),
            start_seconds=instance.start_seconds,
            log_path=log_path,
            pid=spawned.process.pid if spawned else None,
        )

    async def aclose(self) -> None:
        """End the server, in order and in bounded time; safe to call twice."""
        self._closed = True
        await self._supervisor.aclose()
        if (spawned := self._take_spawned()) is not None:
            await discard_server(spawned, self._settings.grace)
        self._settings.watchdog.retire()

    async def _make(self, call: "_Call", left: float) -> ToolResult:
        """Call, and once more if the server is lost and that can do no harm."""
        instance = await self._running()
        try:
            return await self._try(instance, call, left)
        except Unanswered as error:
            first = error
        # One that was refused by a server that is there would be refused again.
        is_hopeless = not first.was_sent and instance.is_up
        if self._closed or is_hopeless or (first.was_sent and not call.may_be_repeated):
            raise await self._lost(instance, call, first)
        instance = await self._running_again(instance, call, first)
        try:
            return await self._try(instance, call, call.seconds)
        except Unanswered as second:
            again = first.was_sent
            raise await self._lost(instance, call, second, was_repeated=again) from None

    async def _try(self, instance: ServerInstance, call: "_Call", left: float) -> ToolResult:
        self._check(call.name)
        try:
            result = await instance.client.call(call.name, call.arguments, left, call.on_progress)
        except TimeoutError:
            is_well = await _verdict(instance)
            waited = call.seconds - left
            raise call_errors.timed_out(
                self.spec, call.name, waited, is_well, instance.evidence()
            ) from None
        instance.has_answered = True
        return result

    async def _running(self) -> ServerInstance:
        if self._closed:
            raise call_errors.closed(self.spec)
        return await self._supervisor.running()

    async def _lost(
        self,
        instance: ServerInstance,
        call: "_Call",
        error: Unanswered,
        *,
        was_repeated: bool = False,
    ) -> ServerLost:
        """The error for the caller; waits a moment to learn how the server ended."""
        is_gone = isinstance(error, SessionLost)
        return call_errors.lost(
            self.spec,
            call.name,
            await instance.loss() if is_gone else str(error),
            instance.evidence(),
            is_gone=is_gone,
            was_sent=error.was_sent,
            was_repeated=was_repeated,
        )

    async def _running_again(
        self, last: ServerInstance, call: "_Call", first: Unanswered
    ) -> ServerInstance:
        """The server after a loss, for the call to be repeated.

        Raises:
            ServerLost: it can't be had again, or the tool is not what it was.
            ServerStartError: the same, and nothing had been sent.
        """
        before = _definition(last, call.name)
        try:
            instance = await self._running()
        except ServerError as error:
            if not first.was_sent:
                raise
            loss = await self._lost(last, call, first)
            raise ServerLost(self.spec.id, f"{loss}; it is not back: {error}") from error
        if first.was_sent and _definition(instance, call.name) != before:
            loss = await self._lost(last, call, first)
            text = "it was not repeated, because the server describes the tool differently now"
            raise ServerLost(self.spec.id, f"{loss}; {text}")
        return instance

    def _begin_instance(self, start_seconds_max: float) -> ServerInstance:
        spawned = self._take_spawned()
        return ServerInstance(self.spec, self._settings, spawned, self._on_tools, start_seconds_max)

    def _evidence(self) -> str:
        return "" if self._supervisor.instance is None else self._supervisor.instance.evidence()

    def _take_spawned(self) -> SpawnedServer | None:
        spawned, self._spawned = self._spawned, None
        return spawned


@dataclass(slots=True)
class _Call:
    """One call: `seconds` is the time that it has, waiting for its turn included."""

    name: str
    arguments: JsonObject
    seconds: float
    on_progress: OnProgress | None
    may_be_repeated: bool


async def _verdict(instance: ServerInstance) -> bool | None:
    """Whether the server answers a ping, if that shows soon; the check goes on without us."""
    checking = instance.check_health()
    await asyncio.wait({checking}, timeout=VERDICT_SECONDS)
    if not checking.done() or checking.cancelled():
        return None
    return checking.result()


def _definition(instance: ServerInstance, name: str) -> ToolSpec | None:
    return next((tool for tool in instance.tools if tool.name == name), None)


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
        self._slots = CallSlots(spec.concurrent_calls)
        self._settings = replace(settings, hooks=self._slots.standing_still(settings.hooks))
        self._on_tools = on_tools
        self._check = check
        self._spare = self._new(spawned) if spawned else None
        self._running: set[ServerConnection] = set()
        self._last = ServerStatus(spec.id, "not started")
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
            left = await self._slots.take(self.spec.timeout_of(name))
        except TimeoutError:
            raise call_errors.never_sent_in_time(self.spec, name, "") from None
        try:
            async with self._one() as connection:
                return await connection.call(tool, arguments, on_progress, seconds=left)
        finally:
            self._slots.give_back()

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

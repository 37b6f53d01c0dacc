"""One instance of one server: a task that owns the process and its session from spawn to end.

What is opened is closed by the same task; calls come from any task and run at once on the open
session.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import TypeAlias

from config.servers import ServerSpec
from core.base.frozen import frozen
from core.base.timing import Timing
from core.dispatch.call_errors import evidence
from core.errors import EntryUnusable, ServerStartError
from core.mcp.client import McpClient, SessionRefused
from core.mcp.hooks import SessionHooks
from core.mcp.peer import RpcError, SessionLost, Transport, TransportDown, Unanswered
from core.mcp.stdio import StdioTransport
from core.process.server import SpawnedServer, spawn
from core.process.watchdog import StopGrace, Watchdog
from core.tools.spec import ToolSpec

RELISTING_PAUSE_SECONDS = 1.0
"""After a listing the next one waits so long, whatever the server says meanwhile."""

LOSS_DETAIL_SECONDS = 0.5
"""How long a call whose server died waits to learn how it died."""

PING_SECONDS = 2.0
"""A server that let a call time out and answers no ping in this time either is wedged."""

LISTING_SECONDS = 10.0
"""Bound on listing the tools again while the session goes on."""

HEALTHY_SECONDS = 10.0
"""An instance that was up for so long did well, even if nobody called anything."""

Check: TypeAlias = Callable[[str], None]
"""Raises `CallRefused` for a tool that may not be called, as what was listed last has it."""

OnTools: TypeAlias = Callable[[list[ToolSpec], Sequence[str]], Awaitable[None]]
"""Hears what a session lists, and what of its list can't be used and why; is waited for before any
call goes out: it may ask the user."""

_log = logging.getLogger(__name__)
_marks = logging.getLogger("cortex_r.marks")
"""Says at debug level when a stage of the start-up is passed; `make bench` listens."""


@frozen
class ConnectionSettings:
    """What the connections of one dispatcher share."""

    log_folder: Path | None
    grace: StopGrace
    hooks: SessionHooks
    timing: Timing = field(default_factory=Timing)
    watchdog: Watchdog = field(default_factory=Watchdog)


class ServerInstance:
    """One instance of a server, from spawn to end."""

    def __init__(
        self,
        spec: ServerSpec,
        settings: ConnectionSettings,
        spawned: SpawnedServer | None,
        on_tools: OnTools,
        start_seconds_max: float,
    ) -> None:
        """Begin; `opened` is done when the server is ready or has failed to start."""
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.tools: list[ToolSpec] = []
        """What the session listed last."""
        self.start_seconds: float | None = None
        """How long it took until the server was ready."""
        self.has_answered = False
        """Whether a call or a ping was answered; who calls sets it."""
        self.failure: str | None = None
        """Why it did not start, as the end of a sentence that begins with the server."""
        self.spawned = spawned
        """The process, where there is one."""
        self._spec = spec
        self._settings = settings
        self._on_tools = on_tools
        self._start_seconds_max = start_seconds_max
        self._tools_changed = asyncio.Event()
        """Set when the server says so, cleared when a listing begins."""
        self._client: McpClient | None = None
        self._transport: Transport | None = None
        self._up_since: float | None = None
        self._health: asyncio.Task[bool] | None = None
        self._leave = asyncio.Event()
        self.owner = asyncio.create_task(self._own())

    @property
    def client(self) -> McpClient:
        """The session; only once there is one."""
        assert self._client is not None, "the session is not open yet"  # noqa: S101 - a bug of ours
        return self._client

    @property
    def is_up(self) -> bool:
        """Whether calls can be made: the session is open, and neither lost nor being closed."""
        if self._up_since is None or self._transport is None:
            return False
        return not self._transport.is_down and not self._leave.is_set()

    @property
    def was_up(self) -> bool:
        """Whether it ever came so far that calls could be made."""
        return self._up_since is not None

    @property
    def did_well(self) -> bool:
        """Whether it answered something, or stayed up for a while with nothing to do."""
        if self._up_since is None:
            return False
        return self.has_answered or self._settings.timing.now() - self._up_since > HEALTHY_SECONDS

    async def end(self) -> None:
        """Close the session and end the server; bounded by the graces."""
        self._leave.set()
        # A task that is cancelled before it began would drop the process that it was given.
        await asyncio.sleep(0)
        if not self.opened.done():
            self.owner.cancel()
        await asyncio.wait({self.owner})

    async def loss(self) -> str:
        """How the server was lost, as the end of a sentence that begins with the server."""
        await asyncio.wait({self.owner}, timeout=LOSS_DETAIL_SECONDS)
        known = None if self._transport is None else self._transport.loss
        return known or "was closed"

    def evidence(self) -> str:
        """What may tell the user why: `core.dispatch.call_errors`, to be put behind a message."""
        stray = None if self._transport is None else self._transport.stray_text
        return evidence(self._spec, self.spawned, stray)

    def check_health(self) -> asyncio.Task[bool]:
        """Whether the server still answers a ping; one check at a time, whoever asks.

        If it doesn't, it is recycled: every open call fails, and the next use starts it anew.
        """
        if self._health is None or self._health.done():
            self._health = asyncio.create_task(self._answers_or_goes())
        return self._health

    async def _answers_or_goes(self) -> bool:
        answers = await self._answers_ping()
        if answers:
            self.has_answered = True
        elif self.is_up and self._transport is not None:
            self._transport.loss = "was recycled because it did not answer a ping"
            self._transport.lost.set()
        return answers

    async def _answers_ping(self) -> bool:
        try:
            async with asyncio.timeout(PING_SECONDS):
                await self.client.ping()
        except RpcError:
            return True
        except (TimeoutError, Unanswered):
            return False
        return True

    async def _own(self) -> None:
        try:
            await self._live()
        except ServerStartError as error:
            self._fail(error)
        except Exception as error:  # noqa: BLE001 - a bug of ours, told as such, ends one session only
            _log.exception("the session of server '%s' ended in a bug", self._spec.id)
            self._fail(self._start_error(f"met a bug of ours ({type(error).__name__}: {error})"))
        finally:
            if not self.opened.done():
                self._fail(self._start_error("was closed while it started"))

    async def _live(self) -> None:
        started = time.perf_counter()
        transport = self._transport = self._make_transport()
        hooks = replace(self._settings.hooks, on_tools_changed=self._tools_changed.set)
        client = self._client = McpClient(transport, self._spec, hooks)
        try:
            async with asyncio.timeout(self._start_seconds_max):
                await client.open()
                self.tools = await client.list_tools()
            _marks.debug("connected")
            await self._on_tools(self.tools, tuple(client.skipped))
            self.start_seconds = time.perf_counter() - started
            self._up_since = self._settings.timing.now()
            self.opened.set_result(None)
            await self._until_over(transport)
        except TimeoutError as error:
            raise self._start_error(
                f"did not finish the MCP handshake within {self._spec.start_timeout_seconds:g} s "
                f"(start_timeout_seconds of '{self._spec.id}' {self._spec.origin})"
            ) from error
        except (SessionLost, TransportDown) as error:
            # Closing first lets it be seen how the process ended.
            await client.aclose()
            raise self._start_error(transport.loss or str(error)) from error
        except SessionRefused as error:
            raise self._start_error(str(error)) from error
        finally:
            if self._health is not None:
                self._health.cancel()
            await client.aclose()

    def _make_transport(self) -> Transport:
        """Start the program, or make ready to speak to the URL.

        Raises:
            EntryUnusable: the entry is to be corrected.
            ServerStartError: the program can't be started now.
        """
        if self._spec.problem is not None:
            raise EntryUnusable(self._spec.id, self._spec.problem)
        if self._spec.url is not None:
            from core.mcp.http import HttpTransport  # late: only who has such a server needs it

            return HttpTransport(self._spec)
        if self.spawned is None:
            settings = self._settings
            self.spawned = spawn(self._spec, settings.log_folder, settings.watchdog)
        return StdioTransport(self.spawned, self._settings.grace)

    async def _until_over(self, transport: Transport) -> None:
        """List the tools anew as they change, until the session is lost or to be closed."""
        ends = {
            asyncio.create_task(self._leave.wait()),
            asyncio.create_task(transport.lost.wait()),
        }
        tasks = {*ends, asyncio.create_task(self._relist_when_changed())}
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    async def _relist_when_changed(self) -> None:
        """One listing at a time and about one a second at most, however many changes are told."""
        while True:
            await self._tools_changed.wait()
            self._tools_changed.clear()
            await self._relist()
            await asyncio.sleep(RELISTING_PAUSE_SECONDS)

    async def _relist(self) -> None:
        """List again; a listing that fails changes nothing."""
        try:
            async with asyncio.timeout(LISTING_SECONDS):
                tools = await self.client.list_tools()
        except SessionLost:
            return
        except (TimeoutError, SessionRefused) as error:
            why = str(error) or f"did not answer within {LISTING_SECONDS:g} s"
            text = f"its tools have changed, and the old list stays: it {why}"
            self._settings.hooks.on_log(self._spec.id, "warning", text)
            return
        await self._on_tools(tools, tuple(self.client.skipped))
        self.tools = tools

    def _start_error(self, what: str) -> ServerStartError:
        self.failure = what
        server = self._spec.id
        return ServerStartError(
            server, f"server '{server}' did not start: it {what}{self.evidence()}"
        )

    def _fail(self, error: ServerStartError) -> None:
        if self.opened.done():
            _log.warning("server '%s' ended badly: %r", self._spec.id, str(error))
            return
        self.opened.set_exception(error)
        self.opened.exception()  # seen, so that nobody has to be waiting

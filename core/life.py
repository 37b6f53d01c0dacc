"""One life of one server: a task that owns the process and its session from spawn to end.

Every scope of a session is entered and left by that task, because anyio forbids to open in one
task and close in another; calls come from any task and run at once on the open session. Light: the
MCP SDK (over a second) is imported in a thread when the first server is needed.
"""

import asyncio
import gc
import importlib
import logging
import sys
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from config.servers import ServerSpec
from core.catalog import ToolSpec
from core.errors import ServerStartError
from core.shutdown import discard_server
from core.spawn import SpawnedServer, StopGrace, last_log_line, spawn, trim_log

if TYPE_CHECKING:
    from core.stdio_client import StdioClient

LOG_CHECK_SECONDS = 30.0
"""How often the size of a running server's log is looked at."""

LOSS_DETAIL_SECONDS = 0.5
"""How long a call whose server died waits to learn how it died."""

OnTools: TypeAlias = Callable[[list[ToolSpec]], None]

_log = logging.getLogger(__name__)
_marks = logging.getLogger("cortex_r.marks")
"""Says at debug level when a stage of the start-up is passed; `make bench` listens."""


class SdkLoader:
    """Imports the MCP SDK once, in a thread, so that the terminal stays alive meanwhile."""

    def __init__(self) -> None:
        """Nothing is imported before `load`."""
        self._import: Future[type[StdioClient]] | None = None

    async def load(self) -> "type[StdioClient]":
        """The class that speaks MCP; cancelling a caller does not stop the import.

        The thread is a daemon, unlike those of `asyncio.to_thread`: an import can't be
        cancelled, and nobody who pressed Ctrl-C should wait for it.
        """
        if self._import is None:
            self._import = Future()
            Thread(target=_import_into, args=(self._import,), daemon=True).start()
        return await asyncio.shield(asyncio.wrap_future(self._import))


def _import_into(future: "Future[type[StdioClient]]") -> None:
    try:
        future.set_result(_import_stdio_client())
    except BaseException as error:  # noqa: BLE001 - the thread's end belongs to who waits for it
        future.set_exception(error)


def _import_stdio_client() -> "type[StdioClient]":
    """Import the SDK with the garbage collector off, and freeze what it made.

    Its 500 modules leave some 10^5 objects that never die; not walking them time and again while
    they are made saves a fifth of the import, and freezing them makes each later collection and
    the interpreter's exit cheaper.
    """
    if "core.stdio_client" in sys.modules:
        from core.stdio_client import StdioClient

        return StdioClient
    collecting = gc.isenabled()
    gc.disable()
    try:
        from core.stdio_client import StdioClient

        _keep_off_the_terminal("client", "mcp")
        # The SDK imports it when it first checks a result: a quarter of a second, in a call.
        importlib.import_module("jsonschema")
        gc.freeze()
    finally:
        if collecting:
            gc.enable()
    return StdioClient


def _keep_off_the_terminal(*loggers: str) -> None:
    """Let these loggers write nowhere unless somebody listens.

    The SDK logs a traceback for every odd notification, and with no handler at all Python
    writes warnings to stderr, where a server could then flood the terminal.
    """
    for name in loggers:
        logging.getLogger(name).addHandler(logging.NullHandler())


@dataclass(frozen=True, slots=True)
class ConnectionSettings:
    """What the connections of one dispatcher share."""

    sdk: SdkLoader
    log_folder: Path | None
    grace: StopGrace


@dataclass(frozen=True, slots=True)
class OpenSession:
    """An open session and the tools that it listed."""

    client: "StdioClient"
    tools: list[ToolSpec]


class Life:
    """One life of a server, from spawn to end: a task owns the process and every scope on it."""

    def __init__(
        self,
        spec: ServerSpec,
        settings: ConnectionSettings,
        spawned: SpawnedServer | None,
        on_tools: OnTools,
    ) -> None:
        """Begin; `opened` is done when the server is ready or has failed to start."""
        self.opened: asyncio.Future[OpenSession] = asyncio.get_running_loop().create_future()
        self._spec = spec
        self._settings = settings
        self._spawned = spawned
        self._on_tools = on_tools
        self._client: StdioClient | None = None
        self._leave = asyncio.Event()
        self.owner = asyncio.create_task(self._own())

    @property
    def is_ending(self) -> bool:
        """Whether the session is broken or being closed, with the process perhaps still there."""
        lost = self._client is not None and self._client.transport.is_down
        return self._leave.is_set() or (self.opened.done() and lost)

    async def end(self) -> None:
        """Close the session and end the server; bounded by the graces."""
        self._leave.set()
        if not self.opened.done():
            self.owner.cancel()
        await asyncio.wait({self.owner})

    async def loss(self) -> str:
        """How the server was lost, as the end of a sentence that begins with the server."""
        await asyncio.wait({self.owner}, timeout=LOSS_DETAIL_SECONDS)
        return (self._client and self._client.transport.loss) or "was closed"

    def evidence(self) -> str:
        """What may tell the user why: stray text, the last line of stderr, where the log is."""
        parts: list[str] = []
        if self._client is not None and (stray := self._client.transport.stray_text):
            parts.append(f"it printed text where JSON-RPC belongs: '{stray}'")
        if self._spawned is not None:
            if line := last_log_line(self._spawned.log_path):
                parts.append(f"its last error output: '{line}'")
            if self._spawned.log_path is not None:
                parts.append(f"log: {self._spawned.log_path}")
        return "".join(f"; {part}" for part in parts)

    async def _own(self) -> None:
        try:
            await self._live()
        except ServerStartError as error:
            self._fail(error)
        finally:
            if not self.opened.done():
                self._fail(self._start_error("was closed while it started"))

    async def _live(self) -> None:
        if self._spawned is None:
            self._spawned = spawn(self._spec, self._settings.log_folder)
        spawned = self._spawned
        try:
            # The server boots meanwhile; the time is ours, so its deadline begins after.
            client_type = await self._settings.sdk.load()
        except BaseException:
            await discard_server(spawned, self._settings.grace)
            raise
        client = self._client = client_type(spawned, self._settings.grace)
        try:
            await self._talk(client)
        except TimeoutError as error:
            seconds = self._spec.start_timeout_seconds
            raise self._start_error(
                f"did not finish the MCP handshake within {seconds:g} s "
                "(start_timeout_seconds in the profile)"
            ) from error
        except ServerStartError:
            raise
        except Exception as error:
            # Broad: whatever the SDK raises here means that this life is over, no more.
            what = client.transport.loss or f"failed at the MCP handshake ({_innermost(error)})"
            raise self._start_error(what) from error

    async def _talk(self, client: "StdioClient") -> None:
        async with AsyncExitStack() as scopes:
            async with asyncio.timeout(self._spec.start_timeout_seconds):
                await scopes.enter_async_context(client)
                tools = await client.list_tools()
            _marks.debug("connected")
            self._on_tools(tools)
            self.opened.set_result(OpenSession(client, tools))
            await self._until_over(client)

    async def _until_over(self, client: "StdioClient") -> None:
        waits = {
            asyncio.create_task(self._leave.wait()),
            asyncio.create_task(client.transport.lost.wait()),
        }
        try:
            while not await _first_of(waits, LOG_CHECK_SECONDS):
                trim_log(client.transport.spawned.log_path)
        finally:
            for wait in waits:
                wait.cancel()

    def _start_error(self, what: str) -> ServerStartError:
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


def _innermost(error: Exception) -> str:
    """The text of the first real error inside anyio's groups."""
    while isinstance(error, ExceptionGroup):
        error = cast("ExceptionGroup[Exception]", error).exceptions[0]
    return f"{type(error).__name__}: {error}"


async def _first_of(waits: set[asyncio.Task[Literal[True]]], seconds: float) -> bool:
    """Whether one of the waits ended in that time."""
    done, _ = await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    return bool(done)

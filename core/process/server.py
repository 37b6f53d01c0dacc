"""One MCP server process: started, watched, and ended in order.

A server runs in its own session, hence its own process group, and inherits three descriptors
and six environment variables, besides a mark; when our end of its stdin closes, however we died,
it is to exit. Those that are not our own are guarded as well (`core.process.watchdog`).

The order of its end is the protocol's (MCP 2025-11-25, "Lifecycle", shutdown over stdio): close its
stdin, wait, SIGTERM, wait, SIGKILL; the signals go to its whole group, every wait is bounded, and
none blocks the event loop.

Light, for servers are spawned before the engine is imported. POSIX only: process groups, `killpg`,
pipes.
"""

import asyncio
import json
import logging
import os
import shlex
import signal
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import IO, Self, cast

from config.server_list import redactor_of
from config.servers import ServerSpec
from core.base.frozen import frozen
from core.errors import EntryUnusable, ServerStartError
from core.process.left_session import MARK, end_marked, new_mark
from core.process.server_log import ServerLog
from core.process.watchdog import StopGrace, Watchdog

INHERITED_ENVIRONMENT = ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER")
"""What a server inherits: the MCP SDK's list for POSIX. All else must stand in its `env`."""

LOG_LINE_BYTES_READ = 4096
"""How far from the end of a log its last line is looked for."""

LOG_LINE_CHARACTERS_SHOWN = 240
"""How much of that line an error message quotes."""


EXIT_POLL_SECONDS = 0.005
"""How often a process is looked at where nothing tells us of its end."""

_log = logging.getLogger(__name__)


@frozen
class SpawnedServer:
    """A running server process, not yet spoken to.

    `stdin` and `stdout` are our unbuffered ends of its pipes; its stderr goes to `log`, or
    nowhere when that is None. `watchdog` guards its group, where one does; by `mark` children are
    found that left that (`core.process.left_session`). Whoever holds it adopts it or ends it
    (`core.process.server`).
    """

    spec: ServerSpec
    process: subprocess.Popen[bytes]
    stdin: IO[bytes]
    stdout: IO[bytes]
    log: ServerLog | None
    watchdog: Watchdog | None = None
    mark: str | None = None

    @property
    def log_path(self) -> Path | None:
        """The file that holds what it writes to stderr."""
        return self.log.path if self.log is not None else None


def spawn(
    spec: ServerSpec, log_folder: Path | None, watchdog: Watchdog | None = None
) -> SpawnedServer:
    """Start the server's process; returns before it has said anything.

    `watchdog` guards it, unless it is one of our own.

    Raises:
        EntryUnusable: program, script or working directory is missing or of no use; the message
            names what to correct.
        ServerStartError: the system refuses another process.
    """
    _check_paths(spec)
    # Our own servers leave nothing behind.
    mark = None if spec.bundled else new_mark(spec.id)
    marked = {} if mark is None else {MARK: mark}
    if spec.runs_in is not None and "-m" in spec.command:
        marked["PYTHONSAFEPATH"] = "1"  # else Python imports what lies in the user's folder
    stderr, log = _open_log(spec, log_folder)
    try:
        stdin, ours = os.pipe()
    except OSError as error:
        os.close(stderr)
        raise _not_started(spec, error) from error
    try:
        if watchdog is not None and not spec.bundled:
            watchdog.expect(stdin)
        process = subprocess.Popen(  # noqa: S603 - running what the profile names is the purpose
            spec.command,
            bufsize=0,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=stderr,
            cwd=spec.folder,
            env=server_environment(spec.env) | marked,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        os.close(ours)
        raise _not_started(spec, error) from error
    finally:
        os.close(stderr)
        os.close(stdin)
    stdout = cast("IO[bytes]", process.stdout)  # there, because a pipe was asked for
    pipe = os.fdopen(ours, "wb", buffering=0)
    return guarded(SpawnedServer(spec, process, pipe, stdout, log, mark=mark), watchdog)


def guarded(spawned: SpawnedServer, watchdog: Watchdog | None) -> SpawnedServer:
    """The same server, with its group guarded from now on; one of our own needs no guard."""
    if watchdog is None or spawned.spec.bundled or spawned.watchdog is not None:
        return spawned
    watchdog.guard(spawned.process.pid)
    return replace(spawned, watchdog=watchdog)


def server_environment(own: Mapping[str, str]) -> dict[str, str]:
    """The whole environment of a server: the inherited names, then its own settings.

    Exported shell functions (a value that begins with `()`) are left out, as the SDK does.
    """
    inherited = {name: os.environ.get(name) for name in INHERITED_ENVIRONMENT}
    kept = {name: value for name, value in inherited.items() if value and value[:2] != "()"}
    return {**kept, **own}


def release(spawned: SpawnedServer) -> None:
    """Reap an ended process, close our ends of its pipes, and wait for the end of its log."""
    if spawned.watchdog is not None:
        spawned.watchdog.forget(spawned.process.pid)  # before its id can go to a stranger
    spawned.process.poll()
    for pipe in (spawned.stdin, spawned.stdout):
        with suppress(OSError):
            pipe.close()
    if spawned.log is not None:
        spawned.log.wait()


def signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Signal every process of the server's group.

    Only while the leader is not reaped: until then its id, and so the group's, can't have been
    given to a stranger.
    """
    if process.returncode is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)


def kill_all(spawned: SpawnedServer) -> None:
    """Kill the server's group, and what left it; takes some milliseconds for the latter."""
    signal_group(spawned.process, signal.SIGKILL)
    if spawned.mark is not None:
        end_marked(spawned.mark)


def has_exited(process: subprocess.Popen[bytes]) -> bool:
    """Whether the process has ended; it is not reaped by the look where the system allows."""
    if process.returncode is not None:
        return True
    if not hasattr(os, "waitid"):  # macOS before Python 3.13
        return process.poll() is not None
    try:
        state = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return True
    return state is not None


def last_log_line(path: Path | None) -> str | None:
    """The last line with text in a server's log, shortened; None when there is none."""
    if path is None:
        return None
    try:
        with path.open("rb") as log:
            log.seek(max(0, log.seek(0, os.SEEK_END) - LOG_LINE_BYTES_READ))
            lines = log.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return None
    last = next((line.strip() for line in reversed(lines) if line.strip()), None)
    return last[:LOG_LINE_CHARACTERS_SHOWN] if last else None


def _check_paths(spec: ServerSpec) -> None:
    if not _is_there(spec.folder, Path.is_dir):
        raise EntryUnusable(
            spec.id,
            f"server '{spec.id}' did not start: its working directory {spec.folder} is not there; "
            f"correct 'cwd' of '{spec.id}' {spec.origin}",
        )
    if len(spec.command) > 1 and spec.command[1].endswith(".py"):
        script = spec.folder / spec.command[1]
        if not _is_there(script, Path.is_file):
            raise EntryUnusable(
                spec.id,
                f"server '{spec.id}' did not start: its script {script} is not there; "
                f"correct 'script' or 'args' of '{spec.id}' {spec.origin}",
            )


def _is_there(path: Path, test: Callable[[Path], bool]) -> bool:
    """Whether the path passes the test; one that can't be looked at does not."""
    try:
        return test(path)
    except (OSError, ValueError):  # too long, in a folder we may not enter, with a NUL in it
        return False


def _not_started(spec: ServerSpec, error: OSError | ValueError) -> ServerStartError:
    program = spec.command[0] if spec.command else ""
    where = f"'command' of '{spec.id}' {spec.origin}"
    kind: type[ServerStartError] = EntryUnusable
    if isinstance(error, FileNotFoundError):
        hint = _split_hint(program) or "install it"
        reason = f"there is no program '{program}'; {hint} or correct {where}"
    elif isinstance(error, PermissionError):
        reason = f"'{program}' may not be executed; make it executable or correct {where}"
    elif isinstance(error, BlockingIOError):
        kind = ServerStartError
        reason = "the system allows no more processes now; end some and try again"
    elif isinstance(error, OSError):
        kind = ServerStartError
        reason = f"{error.strerror or error} (program '{program}'); check {where}"
    else:
        reason = f"{error}; correct {where}"
    return kind(spec.id, f"server '{spec.id}' did not start: {reason}")


def _split_hint(program: str) -> str:
    """How a command line is written that stands where a program's name belongs."""
    try:
        first, *others = shlex.split(program)
    except ValueError:  # nothing there, or an open quotation
        return ""
    if not others:
        return ""
    # Only what a shell would split is a command line; a program may have a blank in its name.
    args = json.dumps(others, ensure_ascii=False)
    return f'write "command": {json.dumps(first, ensure_ascii=False)}, "args": {args},'


def _open_log(spec: ServerSpec, folder: Path | None) -> tuple[int, ServerLog | None]:
    """A descriptor for stderr and its log; /dev/null when the folder can't be written."""
    if folder is not None:
        name = "".join(c if c.isalnum() or c in "-_." else "_" for c in spec.id)
        with suppress(OSError, RuntimeError):  # the latter where no thread can be started
            log = ServerLog(folder / f"{name}.log", redactor_of(spec).text)
            return log.stderr, log
    return os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC), None


class ExitWatch:
    """Tells when a process has ended, and leaves it unreaped, so that its group keeps its id.

    Uses a pidfd (Linux 5.3 and later), else looks every `EXIT_POLL_SECONDS`.
    """

    def __init__(self, spawned: SpawnedServer) -> None:
        """Begin to watch when entered."""
        self.exited = asyncio.Event()
        self._process = spawned.process
        self._pidfd: int | None = None
        self._poll: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        """Start watching."""
        if has_exited(self._process):
            self.exited.set()
            return self
        try:
            self._pidfd = os.pidfd_open(self._process.pid)
        except (AttributeError, OSError):
            self._poll = asyncio.create_task(self._poll_until_exit())
        else:
            asyncio.get_running_loop().add_reader(self._pidfd, self._on_exit)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop watching."""
        self._close_pidfd()
        if self._poll is not None:
            self._poll.cancel()

    async def exits_within(self, seconds: float) -> bool:
        """Whether the process ends in that time."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.exited.wait()
        return self.exited.is_set()

    def _on_exit(self) -> None:
        self._close_pidfd()
        self.exited.set()

    def _close_pidfd(self) -> None:
        if self._pidfd is not None:
            asyncio.get_running_loop().remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = None

    async def _poll_until_exit(self) -> None:
        while not has_exited(self._process):  # noqa: ASYNC110 - nobody else could set an event
            await asyncio.sleep(EXIT_POLL_SECONDS)
        self.exited.set()


async def stop_server(
    spawned: SpawnedServer, watch: ExitWatch, grace: StopGrace, *, lost: bool = False
) -> bool:
    """End the server and what is left of its group, or left it; the caller then calls `release`.

    Nothing may write to its stdin any more. A reader of stdout should go on until this returns:
    a server that is stuck writing can't see that its stdin closed. `lost` says that the session
    broke down, so that there is less to wait for. A cancellation skips what is left of the waits.

    Returns:
        Whether the server ended of its own accord, that is, without a signal of ours.
    """
    process = spawned.process
    with suppress(OSError):
        spawned.stdin.close()
    willing = False
    try:
        willing = await watch.exits_within(grace.lost_seconds if lost else grace.stdin_seconds)
        if not willing:
            signal_group(process, signal.SIGTERM)
            await watch.exits_within(grace.term_seconds)
    finally:
        # Also when the leader is gone: its children may not be.
        kill_all(spawned)
        if not await watch.exits_within(grace.kill_seconds):
            _log.warning(
                "server '%s' (pid %d) survives SIGKILL; left alone", spawned.spec.id, process.pid
            )
    return willing


async def discard_server(spawned: SpawnedServer, grace: StopGrace) -> None:
    """End a server that was spawned and never spoken to.

    It has nothing to finish, so it gets no time to notice that its stdin closed: while it still
    imports, that would take it a second.
    """
    await _end(spawned, replace(grace, stdin_seconds=0))


def terminate(*servers: SpawnedServer, grace: StopGrace | None = None) -> None:
    """End servers that nobody talks to, all at once, where no event loop runs.

    Blocks for the sum of the graces at most. Safe to call twice.
    """

    async def end_all() -> None:
        await asyncio.gather(*(_end(server, grace or StopGrace()) for server in servers))

    asyncio.run(end_all())
    for server in servers:
        if server.watchdog is not None:
            server.watchdog.retire()


async def _end(spawned: SpawnedServer, grace: StopGrace) -> None:
    try:
        async with ExitWatch(spawned) as watch:
            await stop_server(spawned, watch, grace)
    finally:
        release(spawned)

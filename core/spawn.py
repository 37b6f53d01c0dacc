"""Starting and ending one MCP server process, with the standard library's light parts only.

The composition root spawns servers before it imports anything heavy, so nothing here imports
asyncio, Pydantic or the MCP SDK. POSIX only: process groups, `killpg`, pipes.

A server runs in its own session, hence its own process group, and inherits three descriptors
and six environment variables; when our end of its stdin closes, however we died, it is to exit
(MCP 2025-11-25, "Lifecycle", shutdown over stdio).
"""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from config.servers import ServerSpec
from core.errors import ServerStartError

INHERITED_ENVIRONMENT = ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER")
"""What a server inherits: the MCP SDK's list for POSIX. All else must stand in its `env`."""

LOG_BYTES_MAX = 1024 * 1024
"""A log over this size is cut; it may grow past it between two looks (`trim_log`)."""

LOG_BYTES_KEPT = 256 * 1024
"""How much of the end of a log survives a cut."""

LOG_LINE_BYTES_READ = 4096
"""How far from the end of a log its last line is looked for."""

LOG_LINE_CHARACTERS_SHOWN = 240
"""How much of that line an error message quotes."""

EXIT_POLL_SECONDS = 0.005
"""How often a process is looked at where nothing tells us of its end."""


@dataclass(frozen=True, slots=True)
class StopGrace:
    """How long a server may take over each stage of its end, in seconds.

    Closed stdin, then SIGTERM to its group, then SIGKILL; `lost_seconds` replaces the first
    when its session has broken down already.
    """

    stdin_seconds: float = 2.0
    term_seconds: float = 1.0
    kill_seconds: float = 2.0
    lost_seconds: float = 0.3


@dataclass(frozen=True, slots=True)
class SpawnedServer:
    """A running server process, not yet spoken to.

    `stdin` and `stdout` are our unbuffered ends of its pipes; its stderr goes to `log_path`, or
    nowhere when that is None. Whoever holds it adopts it or calls `terminate`.
    """

    spec: ServerSpec
    process: subprocess.Popen[bytes]
    stdin: IO[bytes]
    stdout: IO[bytes]
    log_path: Path | None


def spawn(spec: ServerSpec, log_folder: Path | None) -> SpawnedServer:
    """Start the server's process; returns before it has said anything.

    Raises:
        ServerStartError: program, script or working directory is missing, or the system
            refuses another process; the message names what to correct.
    """
    _check_paths(spec)
    stderr, log_path = _open_log(spec.id, log_folder)
    try:
        process = subprocess.Popen(  # noqa: S603 - running what the profile names is the purpose
            spec.command,
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            cwd=spec.cwd,
            env=server_environment(spec.env),
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise ServerStartError(spec.id, _why_not_started(spec, error)) from error
    finally:
        os.close(stderr)
    # With PIPE asked for, Popen always sets both; its stub can't say so.
    stdin, stdout = cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)
    return SpawnedServer(spec, process, stdin, stdout, log_path)


def server_environment(own: Mapping[str, str]) -> dict[str, str]:
    """The whole environment of a server: the inherited names, then its own settings.

    Exported shell functions (a value that begins with `()`) are left out, as the SDK does.
    """
    inherited = {name: os.environ.get(name) for name in INHERITED_ENVIRONMENT}
    kept = {name: value for name, value in inherited.items() if value and value[:2] != "()"}
    return {**kept, **own}


def terminate(spawned: SpawnedServer, grace: StopGrace | None = None) -> None:
    """End a server that nobody talks to; blocks for the sum of the graces at most.

    Safe to call twice. The asynchronous twin is `core.shutdown.stop_server`.
    """
    grace = grace or StopGrace()
    process = spawned.process
    with suppress(OSError):
        spawned.stdin.close()
    if not _exits_within(process, grace.stdin_seconds):
        signal_group(process, signal.SIGTERM)
        _exits_within(process, grace.term_seconds)
    signal_group(process, signal.SIGKILL)
    _exits_within(process, grace.kill_seconds)
    release(spawned)


def release(spawned: SpawnedServer) -> None:
    """Reap an ended process, close our ends of its pipes, and bound its log."""
    spawned.process.poll()
    for pipe in (spawned.stdin, spawned.stdout):
        with suppress(OSError):
            pipe.close()
    trim_log(spawned.log_path)


def signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Signal every process of the server's group.

    Only while the leader is not reaped: until then its id, and so the group's, can't have been
    given to a stranger.
    """
    if process.returncode is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)


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


def trim_log(path: Path | None) -> None:
    """Cut a log that has outgrown `LOG_BYTES_MAX` down to its end.

    The server writes to a bare descriptor, so its log can't be bounded at each write; it is cut
    when it starts, now and then while it runs, and when it ends. The descriptor appends, so
    writing goes on at the new end. A line written during the cut may be lost.
    """
    if path is None:
        return
    with suppress(OSError):
        if path.stat().st_size > LOG_BYTES_MAX:
            with path.open("r+b") as log:
                log.seek(-LOG_BYTES_KEPT, os.SEEK_END)
                end = log.read()
                log.seek(0)
                log.write(end[end.find(b"\n") + 1 :])
                log.truncate()


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
    if not _is_there(spec.cwd, Path.is_dir):
        raise ServerStartError(
            spec.id,
            f"server '{spec.id}' did not start: its working directory {spec.cwd} is not there; "
            f"correct 'cwd' of '{spec.id}' under mcp_servers in the profile",
        )
    if len(spec.command) > 1 and spec.command[1].endswith(".py"):
        script = spec.cwd / spec.command[1]
        if not _is_there(script, Path.is_file):
            raise ServerStartError(
                spec.id,
                f"server '{spec.id}' did not start: its script {script} is not there; "
                f"correct 'script' of '{spec.id}' under mcp_servers in the profile",
            )


def _is_there(path: Path, test: Callable[[Path], bool]) -> bool:
    """Whether the path passes the test; one that can't be looked at does not."""
    try:
        return test(path)
    except (OSError, ValueError):  # too long, in a folder we may not enter, with a NUL in it
        return False


def _why_not_started(spec: ServerSpec, error: OSError | ValueError) -> str:
    program = spec.command[0] if spec.command else ""
    where = f"'command' of '{spec.id}' under mcp_servers in the profile"
    if isinstance(error, FileNotFoundError):
        reason = f"there is no program '{program}'; install it or correct {where}"
    elif isinstance(error, PermissionError):
        reason = f"'{program}' may not be executed; make it executable or correct {where}"
    elif isinstance(error, BlockingIOError):
        reason = "the system allows no more processes now; end some and try again"
    elif isinstance(error, OSError):
        reason = f"{error.strerror or error} (program '{program}'); check {where}"
    else:
        reason = f"{error}; correct {where}"
    return f"server '{spec.id}' did not start: {reason}"


def _open_log(server_id: str, folder: Path | None) -> tuple[int, Path | None]:
    """A descriptor for stderr and its path; /dev/null when the folder can't be written."""
    if folder is not None:
        name = "".join(c if c.isalnum() or c in "-_." else "_" for c in server_id)
        path = folder / f"{name}.log"
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            return os.open(path, flags, 0o600), path
    return os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC), None


def _exits_within(process: subprocess.Popen[bytes], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not has_exited(process):
        if time.monotonic() >= deadline:
            return False
        time.sleep(EXIT_POLL_SECONDS)
    return True

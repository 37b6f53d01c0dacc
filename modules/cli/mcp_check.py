"""`mcp test` and `mcp logs`: one server tried, each step told; what it wrote to stderr."""

import argparse
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from config.servers import ServerSpec
from core.base.text import counted, one_line
from core.dispatch.hooks import ServerStatus
from core.errors import ExitCode, ServerError, StorageError
from core.session import MultiMCP
from core.values import Json
from modules.cli.mcp_list import shown_start
from modules.cli.mcp_tools import server_name, status_document
from modules.cli.servers import display_for, opened
from modules.cli.surroundings import Surroundings
from modules.terminal.safe_text import printable, shown_name

FAILED_LOG_LINES = 10
"""How much of a log a failure shows."""

TOOL_NAMES_CHARACTERS = 300


TAIL_BYTES_MAX = 4 * 1024 * 1024
"""How far from the end of a log its last lines are looked for; logs are cut long before."""

FOLLOW_POLL_SECONDS = 0.2
"""How often a followed log is looked at; the standard library can't wait for a file to grow."""

_CHUNK_BYTES = 65_536


def check_server(found: argparse.Namespace, around: Surroundings) -> ExitCode:
    """Try a server, a disabled one too; the verdict goes to stdout, the way to it to stderr.

    Raises:
        UsageError: no such server.
    """
    around.tell_notes()
    return around.run(_check_server(around.find(found.name), around))


async def _check_server(spec: ServerSpec, around: Surroundings) -> ExitCode:
    options, display = around.options, display_for(around)

    def step(text: str) -> None:
        if not options.quiet:
            display.progress.say("mcp", text)

    if spec.problem is None:
        step(f"{'connects to' if spec.url is not None else 'starts'} {shown_start(spec)}")
    async with opened(
        [spec], around, display, use_cached_tools=False, tries_all=True
    ) as dispatcher:
        await dispatcher.initialize()
        (status,) = dispatcher.status()
        ping_seconds: float | None = None
        if (failure := dispatcher.failures.get(spec.id)) is None:
            tools = [tool.name for tool in dispatcher.server_tools.get(spec.id, [])]
            left_out = tuple(dispatcher.left_out.get(spec.id, ()))
            status = replace(status, tools=len(tools), left_out=left_out)
            step(_handshake(status))
            step(f"tools: {_tool_names(tools)}")
            ping_seconds, failure = await _pinged(dispatcher, spec)
            if ping_seconds is not None:
                step(f"ping: {ping_seconds * 1000:.1f} ms")
    if status.left_out and not status.tools:
        problem = f"none of its tools can be used: {'; '.join(status.left_out)}"
        status = replace(status, state="failed", problem=problem)
    if failure is not None:
        status = replace(status, state="failed", problem=str(failure))
        if not options.quiet:
            _show_log(status.log_path, around)
    _tell_verdict(status, ping_seconds, around)
    return ExitCode.WORLD_FAILED if status.state == "failed" else ExitCode.ANSWERED


async def _pinged(
    dispatcher: MultiMCP, spec: ServerSpec
) -> tuple[float | None, ServerError | None]:
    """How long an answer took, or why there was none; with a process a call, nobody is there."""
    if spec.connection == "per_call":
        return None, None
    try:
        return await dispatcher.ping(spec.id), None
    except ServerError as error:
        return None, error


def _handshake(status: ServerStatus) -> str:
    took = f" ({status.start_seconds * 1000:.0f} ms)" if status.start_seconds is not None else ""
    version = one_line(status.protocol_version, TOOL_NAMES_CHARACTERS)
    protocol = f", MCP {version}" if version else ""
    return f"handshake: {server_name(status) or 'done'}{protocol}{took}"


def _tool_names(names: list[str]) -> str:
    listed = one_line(", ".join(map(shown_name, names)), TOOL_NAMES_CHARACTERS)
    return f"{len(names)} ({listed})" if names else "none"


def _show_log(path: Path | None, around: Surroundings) -> None:
    lines = _tail(path, FAILED_LOG_LINES)[0] if path is not None else []
    if lines:
        around.complaints.tell("\n".join(["the end of its log:", *(f"  {line}" for line in lines)]))


def _tell_verdict(status: ServerStatus, ping_seconds: float | None, around: Surroundings) -> None:
    works = status.state != "failed"
    if around.options.json:
        measured: Json = ping_seconds
        document = {**status_document(status, around), "ok": works, "ping_seconds": measured}
        around.print_json(document)
    elif works:
        count = counted(status.tools or 0, "tool")
        left_out = f"; left out: {'; '.join(status.left_out)}" if status.left_out else ""
        around.print(around.redactor.text(printable(f"'{status.id}' works: {count}{left_out}")))
    else:
        around.print(
            around.redactor.text(printable(f"'{status.id}' does not work: {status.problem}"))
        )


def show_log(
    found: argparse.Namespace, around: Surroundings, wait: Callable[[float], None] = time.sleep
) -> ExitCode:
    """Print the last lines, then with `follow` all that comes, until interrupted.

    Raises:
        UsageError: no such server.
        StorageError: the log can't be read.
    """
    around.tell_notes(to_users=True)
    count: int = found.lines
    spec = around.find(found.name)
    if spec.url is not None:
        around.print(f"'{spec.id}' answers at a URL: its log is where it runs, not here")
        return ExitCode.ANSWERED
    path = around.places.server_logs / f"{spec.id}.log"  # ids hold no character that a path lacks
    lines, end = _tail(path, count)
    if around.options.json:
        shown: list[Json] = [around.redactor.text(line) for line in lines]
        around.print_json({"id": spec.id, "log": str(path), "lines": shown})
    elif lines:
        around.print(around.redactor.text("\n".join(lines)))
    elif count:
        around.print(_nothing_yet(spec.id, path))
    if found.follow:
        for text in _growth(path, end, wait):
            around.print(around.redactor.text(text))
    return ExitCode.ANSWERED


def _nothing_yet(server: str, path: Path) -> str:
    if path.exists():
        return f"'{server}' has written nothing to stderr since its last start ({path} is empty)"
    return f"'{server}' has no log yet: it has not been started here (it will be {path})"


def _tail(path: Path, count: int) -> tuple[list[str], int]:
    """The last lines of a file, none if there is no file, and the offset behind them."""
    try:
        with path.open("rb") as log:
            end = log.seek(0, os.SEEK_END)
            log.seek(max(0, end - TAIL_BYTES_MAX))
            lines = log.read(TAIL_BYTES_MAX).decode("utf-8", "replace").splitlines()
    except FileNotFoundError:
        return [], 0
    except OSError as error:
        raise _unreadable(path, error) from error
    return lines[len(lines) - min(count, len(lines)) :], end


def _growth(path: Path, offset: int, wait: Callable[[float], None]) -> Iterator[str]:
    """What is written to the file from `offset` on, in whole lines; never ends by itself.

    A file that gets shorter was begun anew by the server's next start.
    """
    pending = b""
    while True:
        try:
            with path.open("rb") as log:
                if log.seek(0, os.SEEK_END) < offset:
                    offset, pending = 0, b""
                log.seek(offset)
                chunk = log.read(_CHUNK_BYTES)
        except FileNotFoundError:
            chunk = b""
        except OSError as error:
            raise _unreadable(path, error) from error
        offset += len(chunk)
        *complete, pending = (pending + chunk).split(b"\n")
        if complete:
            yield b"\n".join(complete).decode("utf-8", "replace")
        if not chunk:
            wait(FOLLOW_POLL_SECONDS)


def _unreadable(path: Path, error: OSError) -> StorageError:
    return StorageError(f"the log {path} can't be read: {error.strerror or error}")

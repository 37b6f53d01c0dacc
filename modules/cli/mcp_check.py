"""`mcp test`: one server started, its tools listed, a ping sent, each step told."""

import argparse
from dataclasses import replace
from pathlib import Path

from config.servers import ServerSpec
from core.base.text import counted, one_line
from core.dispatch.hooks import ServerStatus
from core.errors import ExitCode, ServerError
from core.session import MultiMCP
from core.values import Json
from modules.cli.mcp_list import shown_start
from modules.cli.mcp_logs import tail
from modules.cli.mcp_tools import server_name, status_document
from modules.cli.servers import display_for, opened
from modules.cli.surroundings import Surroundings
from modules.terminal.printing import printable, shown_name

FAILED_LOG_LINES = 10
"""How much of a log a failure shows."""

TOOL_NAMES_CHARACTERS = 300


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
    lines = tail(path, FAILED_LOG_LINES)[0] if path is not None else []
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

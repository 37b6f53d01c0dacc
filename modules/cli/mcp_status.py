"""`mcp status`: every server started at once, and how each fares."""

from collections.abc import Sequence
from dataclasses import replace

from core.base.text import one_line
from core.dispatch.hooks import ServerStatus
from core.errors import ExitCode
from core.session import MultiMCP
from core.values import JsonObject
from modules.cli.command import ShowStatus
from modules.cli.mcp_list import NOTHING_CONFIGURED
from modules.cli.servers import display_for, opened
from modules.cli.surroundings import Surroundings
from modules.terminal.printing import table
from modules.terminal.safe_text import printable

NAME_CHARACTERS = 40
"""How much is shown of the name and version that a server gives itself."""

_HEAD = ("NAME", "STATE", "SERVER", "PROTOCOL", "TOOLS", "START", "LOG")


async def show_status(command: ShowStatus, around: Surroundings) -> ExitCode:
    """Start all servers that are not disabled; the exit code says whether one failed."""
    specs, options = around.servers.specs, command.options
    display = display_for(around, options)
    async with opened(
        specs, around, options, display, use_cached_tools=False, tries_all=True
    ) as dispatcher:
        await dispatcher.initialize()
        statuses = [_seen(status, dispatcher) for status in dispatcher.status()]
    if command.options.json:
        around.print_json([status_document(status, around) for status in statuses])
    elif not statuses:
        around.print(NOTHING_CONFIGURED)
    else:
        around.print(around.redactor.text(status_text(statuses)))
    failed = any(status.state == "failed" for status in statuses)
    return ExitCode.WORLD_FAILED if failed else ExitCode.ANSWERED


def _seen(status: ServerStatus, dispatcher: MultiMCP) -> ServerStatus:
    """The status as seen from here: a server with a process for each call came up, and is gone."""
    status = replace(status, left_out=tuple(dispatcher.left_out.get(status.id, ())))
    came_up = status.state == "down" and status.id in dispatcher.server_tools
    return replace(status, state="up") if came_up else status


def status_text(statuses: Sequence[ServerStatus]) -> str:
    """A table of the servers, and below it why those failed that did."""
    cells = [
        (
            status.id,
            status.state,
            server_name(status) or "-",
            one_line(status.protocol_version, NAME_CHARACTERS) or "-",
            "-" if status.tools is None else str(status.tools),
            "-" if status.start_seconds is None else f"{status.start_seconds:.2f} s",
            str(status.log_path or "-"),
        )
        for status in statuses
    ]
    problems = [status.problem for status in statuses if status.problem is not None]
    problems += [
        printable(f"server '{status.id}': left out: {'; '.join(status.left_out)}")
        for status in statuses
        if status.left_out
    ]
    return "\n".join([table([_HEAD, *cells]), *problems])


def server_name(status: ServerStatus) -> str:
    """Name and version as the server gives them, on one line."""
    return one_line(f"{status.title} {status.version}", NAME_CHARACTERS)


def status_document(status: ServerStatus, around: Surroundings) -> JsonObject:
    """A status as JSON; seconds and paths as they are, no secrets."""
    return around.redactor.object(
        {
            "id": status.id,
            "state": status.state,
            "name": status.title or None,
            "version": status.version or None,
            "protocol_version": status.protocol_version or None,
            "tools": status.tools,
            "left_out": [*status.left_out],
            "start_seconds": status.start_seconds,
            "log": str(status.log_path) if status.log_path is not None else None,
            "problem": status.problem,
        }
    )

"""`mcp tools`, `status` and `test`: servers started, to see what they offer and how they fare."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from config.servers import ServerSpec
from core.base.text import counted, one_line
from core.dispatch.hooks import ServerStatus
from core.errors import ExitCode, ServerError
from core.session import MultiMCP
from core.tools.catalog import ToolCatalog
from core.tools.spec import ToolSpec
from core.values import Json, JsonObject
from modules.cli.composition import opened
from modules.cli.mcp_list import NOTHING_CONFIGURED, shown_start, tail
from modules.cli.surroundings import Surroundings
from modules.planning.prompt.stubs import describe_tool, tool_signature, tool_stub
from modules.terminal.streams import printable, shown_name
from modules.terminal.tables import table

NAME_CHARACTERS = 40
"""How much is shown of the name and version that a server gives itself."""

FAILED_LOG_LINES = 10
"""How much of a log a failure shows."""

TOOL_NAMES_CHARACTERS = 300

_HEAD = ("NAME", "STATE", "SERVER", "PROTOCOL", "TOOLS", "START", "LOG")


async def list_tools(around: Surroundings) -> ExitCode:
    """Print the tools of all servers or of one; what failed to start is told on stderr.

    Raises:
        UsageError: no such server.
    """
    around.tell_notes()
    one: str | None = around.options.server
    specs = around.servers.specs if one is None else (around.find(one),)
    async with opened(specs, around, tries_all=one is not None) as (dispatcher, _):
        await dispatcher.recall()
        left_out = dict(dispatcher.left_out)  # what is left out of fresh lists is told as they come
        await dispatcher.initialize()
        catalog, server_tools = dispatcher.catalog, dispatcher.server_tools
        failures = list(dispatcher.failures.values())
    if around.options.json:
        around.print_json([_tool_document(tool, catalog) for tool in catalog])
    elif not specs:
        around.print(NOTHING_CONFIGURED)
    elif server_tools:
        around.print(tools_text(server_tools, catalog, whole=around.options.verbose))
    for server, found in left_out.items():
        if found:
            around.complaints.tell(f"server '{server}': left out: {'; '.join(found)}")
    for error in failures:
        around.complaints.tell(str(error))
    return ExitCode.WORLD_FAILED if failures else ExitCode.ANSWERED


def tools_text(
    server_tools: dict[str, list[ToolSpec]], catalog: ToolCatalog, *, whole: bool
) -> str:
    """The tools server by server: a line each, or with `whole` all that a stub says."""
    parts: list[str] = []
    for server, tools in server_tools.items():
        heading = f"{server}: {counted(len(tools), 'tool')}"
        if whole:
            lines = ["", *(tool_stub(tool, catalog.plan_name(tool)) for tool in tools)]
        else:
            lines = [tool_line(tool, catalog) for tool in tools]
        parts.append("\n".join([heading, *lines]))
    return "\n\n".join(parts)


def tool_line(tool: ToolSpec, catalog: ToolCatalog) -> str:
    """A tool's line in a prompt, for a person to read: letters that look like others show."""
    name = catalog.plan_name(tool)
    line = describe_tool(tool, catalog)
    shown = shown_name(name)
    if shown == name:
        return line
    return f"{line.replace(name, shown, 1)} (its name has letters that look like others)"


def _tool_document(tool: ToolSpec, catalog: ToolCatalog) -> JsonObject:
    plan_name = catalog.plan_name(tool)
    return {
        "server": tool.server,
        "name": tool.name,
        "plan_name": plan_name,
        "signature": tool_signature(tool, plan_name),
        "description": tool.description,
        "input_schema": tool.input_schema,
        "output_schema": tool.output_schema,
        "read_only": tool.read_only,
        "idempotent": tool.idempotent,
    }


async def show_status(around: Surroundings) -> ExitCode:
    """Start all servers that are not disabled; the exit code says whether one failed."""
    around.tell_notes()
    specs = around.servers.specs
    async with opened(specs, around, use_cached_tools=False, tries_all=True) as (dispatcher, _):
        await dispatcher.initialize()
        statuses = [_seen(status, dispatcher) for status in dispatcher.status()]
    documents: list[Json] = [_status_document(status, around) for status in statuses]
    rows, problems = _status_rows(statuses), _status_problems(statuses)
    around.report_rows(documents, rows, problems, NOTHING_CONFIGURED)
    failed = any(status.state == "failed" for status in statuses)
    return ExitCode.WORLD_FAILED if failed else ExitCode.ANSWERED


def _seen(status: ServerStatus, dispatcher: MultiMCP) -> ServerStatus:
    """The status as seen from here: a server with a process for each call came up, and is gone."""
    status = replace(status, left_out=tuple(dispatcher.left_out.get(status.id, ())))
    came_up = status.state == "down" and status.id in dispatcher.server_tools
    return replace(status, state="up") if came_up else status


def status_text(
    statuses: Sequence[ServerStatus],
    lay_out: Callable[[Sequence[Sequence[str]]], str] = table,
) -> str:
    """A table of the servers, and below it why those failed that did."""
    return "\n".join([lay_out(_status_rows(statuses)), *_status_problems(statuses)])


def _status_rows(statuses: Sequence[ServerStatus]) -> list[Sequence[str]]:
    cells = [
        (
            status.id,
            status.state,
            _server_name(status) or "-",
            one_line(status.protocol_version, NAME_CHARACTERS) or "-",
            "-" if status.tools is None else str(status.tools),
            "-" if status.start_seconds is None else f"{status.start_seconds:.2f} s",
            str(status.log_path or "-"),
        )
        for status in statuses
    ]
    return [_HEAD, *cells]


def _status_problems(statuses: Sequence[ServerStatus]) -> list[str]:
    problems = [status.problem for status in statuses if status.problem is not None]
    return problems + [
        printable(f"server '{status.id}': left out: {'; '.join(status.left_out)}")
        for status in statuses
        if status.left_out
    ]


def _server_name(status: ServerStatus) -> str:
    """Name and version as the server gives them, on one line."""
    return one_line(f"{status.title} {status.version}", NAME_CHARACTERS)


def _status_document(status: ServerStatus, around: Surroundings) -> JsonObject:
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


async def check_server(around: Surroundings) -> ExitCode:
    """Try a server, a disabled one too; the verdict goes to stdout, the way to it to stderr.

    Raises:
        UsageError: no such server.
    """
    around.tell_notes()
    options = around.options
    spec = around.find(options.name)
    servers = opened([spec], around, use_cached_tools=False, tries_all=True)
    async with servers as (dispatcher, display):

        def step(text: str) -> None:
            if not options.quiet:
                display.progress.say("mcp", text)

        if spec.problem is None:
            step(f"{'connects to' if spec.url is not None else 'starts'} {shown_start(spec)}")
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
    return f"handshake: {_server_name(status) or 'done'}{protocol}{took}"


def _tool_names(names: list[str]) -> str:
    listed = one_line(", ".join(map(shown_name, names)), TOOL_NAMES_CHARACTERS)
    return f"{len(names)} ({listed})" if names else "none"


def _show_log(path: Path | None, around: Surroundings) -> None:
    lines = tail(path, FAILED_LOG_LINES)[0] if path is not None else []
    if lines:
        around.complaints.tell("\n".join(["the end of its log:", *(f"  {line}" for line in lines)]))


def _tell_verdict(status: ServerStatus, ping_seconds: float | None, around: Surroundings) -> None:
    works = status.state != "failed"
    if works:
        left_out = f"; left out: {'; '.join(status.left_out)}" if status.left_out else ""
        verdict = f"works: {counted(status.tools or 0, 'tool')}{left_out}"
    else:
        verdict = f"does not work: {status.problem}"
    document = {**_status_document(status, around), "ok": works, "ping_seconds": ping_seconds}
    around.report(document, around.redactor.text(printable(f"'{status.id}' {verdict}")))

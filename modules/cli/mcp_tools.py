"""`mcp tools`: what the servers offer, as the planner sees it."""

from collections.abc import Sequence

from core.base.text import counted
from core.errors import ExitCode
from core.tools.catalog import ToolCatalog
from core.tools.spec import ToolSpec
from core.values import Json, JsonObject
from modules.cli.command import ListTools
from modules.cli.mcp_list import NOTHING_CONFIGURED
from modules.cli.servers import display_for, opened
from modules.cli.surroundings import Surroundings
from modules.planning.prompt.stubs import tool_signature, tool_stub
from modules.terminal.safe_text import shown_name
from modules.tools import describe_tool


async def list_tools(command: ListTools, around: Surroundings) -> ExitCode:
    """Print the tools of all servers or of one; what failed to start is told on stderr.

    Raises:
        UsageError: no such server.
    """
    one = command.server
    specs = around.servers.specs if one is None else (around.find(one),)
    display = display_for(around, command.options)
    async with opened(
        specs, around, command.options, display, tries_all=one is not None
    ) as dispatcher:
        await dispatcher.recall()
        left_out = dict(dispatcher.left_out)  # what is left out of fresh lists is told as they come
        await dispatcher.initialize()
        catalog, server_tools = dispatcher.catalog, dispatcher.server_tools
        failures = list(dispatcher.failures.values())
    if command.options.json:
        around.print_json([_document(tool, catalog) for tool in catalog])
    elif not specs:
        around.print(NOTHING_CONFIGURED)
    elif server_tools:
        around.print(tools_text(server_tools, catalog, whole=command.options.verbose))
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
    return "\n\n".join(
        "\n".join([_heading(server, len(tools)), *_shown(tools, catalog, whole=whole)])
        for server, tools in server_tools.items()
    )


def _heading(server: str, count: int) -> str:
    return f"{server}: {counted(count, 'tool')}"


def _shown(tools: Sequence[ToolSpec], catalog: ToolCatalog, *, whole: bool) -> list[str]:
    if whole:
        return ["", *(tool_stub(tool, catalog.plan_name(tool)) for tool in tools)]
    return [tool_line(tool, catalog) for tool in tools]


def tool_line(tool: ToolSpec, catalog: ToolCatalog) -> str:
    """A tool's line in a prompt, for a person to read: letters that look like others show."""
    name = catalog.plan_name(tool)
    line = describe_tool(tool, catalog)
    shown = shown_name(name)
    if shown == name:
        return line
    return f"{line.replace(name, shown, 1)} (its name has letters that look like others)"


def _document(tool: ToolSpec, catalog: ToolCatalog) -> Json:
    plan_name = catalog.plan_name(tool)
    document: JsonObject = {
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
    return document

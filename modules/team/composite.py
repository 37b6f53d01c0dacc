"""Kept workflows as tools: a plan calls `workflow.NAME(parameter=…)` and gets its result.

The calls inside go through guards of their own, as in any run; to the plan the result is what a
tool gave. A workflow in which the same one would run again is refused, by the path of those that
run already.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeAlias

from config.settings import SettingsError
from core.context import AgentContext
from core.dispatch.hooks import ServerStatus
from core.errors import CallRefused, UsageError
from core.events import Event, SubtaskChanged, collect
from core.mcp.hooks import OnProgress
from core.ports import Dispatcher
from core.provenance.rules import read_rule
from core.team.graph import TaskGraph
from core.tools.catalog import ToolCatalog
from core.tools.content import TextBlock, ToolResult
from core.tools.spec import ToolSpec
from core.turn import RunOutcome
from core.values import JsonObject
from modules.model_manager import ModelManager
from modules.team.needs import AskPerson
from modules.team.run import MakeParts, TeamRun, TeamSettings
from modules.team.workflow import ParameterEntry, Workflow, load_workflow, own_workflows
from modules.team.writing import given_graph

SERVER: Final = "workflow"
"""What stands in the place of a server's name."""

DEPTH_MAX: Final = 3
"""So many workflows may run inside each other."""

TOOLS_MAX: Final = 50
"""So many workflows are offered; a prompt has no room for more."""

RunWorkflow: TypeAlias = Callable[
    [TaskGraph, tuple[str, ...], OnProgress | None], Awaitable[RunOutcome]
]
"""Runs a graph as a part of the run that calls it, within its budget; reports what is done of it.

The tuple names the workflows that run meanwhile, the outermost first: what the plans of this graph
may call is bounded by it. The graph holds what a plan wrote, so nothing in it is the user's word.
"""

_TYPES: Final = {"text": "string", "number": "number", "integer": "integer"}


class WorkflowTools:
    """A dispatcher with workflows as tools beside those of another; `core.ports.Dispatcher`."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        workflows: Mapping[str, Workflow],
        run: RunWorkflow,
        path: tuple[str, ...] = (),
    ) -> None:
        """Offer these workflows; those of `path` run already, the outermost first."""
        self._dispatcher = dispatcher
        self._workflows = workflows
        self._run = run
        self._path = path
        self._whole: ToolCatalog | None = None
        self._catalog = ToolCatalog(())

    @property
    def catalog(self) -> ToolCatalog:
        """The other's tools, and behind them the workflows."""
        whole = self._dispatcher.catalog
        if whole is not self._whole:
            self._whole = whole
            self._catalog = ToolCatalog((*whole, *map(_tool, self._workflows.values())))
        return self._catalog

    def status(self) -> list[ServerStatus]:
        """How each server is."""
        return self._dispatcher.status()

    async def call_tool(
        self, tool_name: str, arguments: JsonObject, on_progress: OnProgress | None = None
    ) -> ToolResult:
        """Call a tool or run a workflow; raises as `core.ports.ToolCaller.call_tool`."""
        tool = self.catalog.get(tool_name)
        if tool is None or not self._is_own(tool):
            return await self._dispatcher.call_tool(tool_name, arguments, on_progress)
        return await self._run_own(tool, arguments, on_progress)

    async def prepare(self, tool: ToolSpec) -> None:
        """Have the tool's server running; raises as `core.ports.Dispatcher.prepare`."""
        if not self._is_own(tool):
            await self._dispatcher.prepare(tool)

    async def send(
        self, tool: ToolSpec, arguments: JsonObject, on_progress: OnProgress | None = None
    ) -> ToolResult:
        """Call a tool or run a workflow; raises as `core.ports.Dispatcher.send`."""
        if self._is_own(tool):
            return await self._run_own(tool, arguments, on_progress)
        return await self._dispatcher.send(tool, arguments, on_progress)

    async def learn_more(self) -> bool:
        """Learn the tools of servers that were not waited for; whether there are more now."""
        return await self._dispatcher.learn_more()

    def _is_own(self, tool: ToolSpec) -> bool:
        """Whether it is a workflow; a server of the same name keeps its own tools."""
        is_theirs = self._dispatcher.catalog.lookup(tool.qualified_name) is not None
        return tool.server == SERVER and tool.name in self._workflows and not is_theirs

    async def _run_own(
        self, tool: ToolSpec, arguments: JsonObject, on_progress: OnProgress | None
    ) -> ToolResult:
        path = (*self._path, tool.name)
        if tool.name in self._path:
            raise CallRefused(f"a workflow can't call itself: {' → '.join(path)}")
        if len(path) > DEPTH_MAX:
            raise CallRefused(
                f"only {DEPTH_MAX} workflows may run inside each other: {' → '.join(path)}"
            )
        try:
            graph = self._workflows[tool.name].graph(_texts(arguments))
        except UsageError as error:
            raise CallRefused(str(error)) from error
        outcome = await self._run(graph, path, on_progress)
        text = outcome.message if outcome.answer is None else outcome.answer
        return ToolResult((TextBlock(text),), is_error=outcome.answer is None)


def with_workflows(
    dispatcher: Dispatcher, home: Path, run: RunWorkflow, path: tuple[str, ...] = ()
) -> Dispatcher:
    """The dispatcher with the user's workflows as tools; as it is where none is kept.

    Files that are wrong are left out: `agent.py workflow check` tells why. Reads files.
    """
    found: dict[str, Workflow] = {}
    for name, file in [*own_workflows(home).items()][:TOOLS_MAX]:
        try:
            found[name] = load_workflow(file)
        except SettingsError:
            continue
    return WorkflowTools(dispatcher, found, run, path) if found else dispatcher


def _tool(workflow: Workflow) -> ToolSpec:
    """A workflow as plans see it; whether it changes anything, its name has to tell."""
    properties: JsonObject = {name: _schema(entry) for name, entry in workflow.parameters.items()}
    schema: JsonObject = {
        "type": "object",
        "properties": properties,
        "required": [*workflow.missing({})],
        "additionalProperties": False,
    }
    return ToolSpec(SERVER, workflow.name, workflow.description, schema)


def _schema(entry: ParameterEntry) -> JsonObject:
    said: JsonObject = {"type": _TYPES[entry.type], "description": entry.description}
    return said if entry.default is None else {**said, "default": entry.default}


def _texts(arguments: JsonObject) -> dict[str, str]:
    """Arguments as they would be typed; what is left out by a null has its default."""
    return {name: str(value) for name, value in arguments.items() if value is not None}


def with_workflows_inside(
    dispatcher: Dispatcher,
    home: Path,
    team: tuple[Callable[[str], ModelManager] | None, AskPerson | None],
    whole: Callable[[], AgentContext],
    model: ModelManager,
    make_parts: MakeParts,
) -> Dispatcher:
    """The dispatcher with the user's workflows, which run inside the run of `whole`.

    `team` are where models come from that roles name, and who asks a person. What happens inside is
    told as progress of the call.
    """

    async def run(
        graph: TaskGraph, path: tuple[str, ...], on_progress: OnProgress | None
    ) -> RunOutcome:
        outer, done = whole(), 0
        provenance = outer.provenance
        if provenance is not None and graph.approve:
            rules = (*provenance.rules, *map(read_rule, graph.approve))
            provenance = replace(provenance, rules=rules)
        context = AgentContext(
            graph.goal,
            outer.session_id,
            await asyncio.to_thread(with_workflows, dispatcher, home, run, path),
            outer.mcp_server_descriptions,
            profile=outer.agent_profile,
            memory=outer.memory,
            model=outer.model,
            parts=outer.parts,
            provenance=provenance,
            readable=outer.readable,
            said=outer.said,
        )
        settings = TeamSettings(None, *team)
        choose = given_graph(graph, by_plan=True)
        inside = TeamRun(context, model, make_parts, choose, settings, is_inside=True)

        async def tell(event: Event) -> None:
            nonlocal done
            if isinstance(event, SubtaskChanged) and event.state in ("running", "completed"):
                done += event.state == "completed"
                if on_progress is not None:
                    on_progress(done, len(graph.subtasks), f"{event.subtask.id} {event.state}")

        return await collect(inside.run(), tell)

    return with_workflows(dispatcher, home, run)

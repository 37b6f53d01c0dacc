"""Task graphs written for a request: by a model, by the offline planner, or by hand as YAML.

A model is asked once, and may find that one plan is better. What it writes is checked, its mistakes
go back to it, and parts that are a single call join the one that uses them. A graph whose parts
come one after the other is no gain over a plan, and becomes one.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from config.schema import GraphMode, TeamSection
from core.base.frozen import frozen
from core.base.text import counted, one_line, shorten
from core.context import AgentContext
from core.errors import ModelUnavailable
from core.events import ActionChosen
from core.ports import CountingModel, DecisionInputs, ModelRequest
from core.provenance.borders import Borders
from core.run.chosen_tools import tools_named
from core.team.graph import (
    TEXT_CHARACTERS_MAX,
    Subtask,
    TaskGraph,
    joined_small_parts,
    problems,
)
from core.team.schedule import Replan
from core.tools.catalog import ToolCatalog
from core.turn import PerceptionResult
from modules.memory.past import Past, newest_within
from modules.model_manager import ModelManager
from modules.models.offline.planner import plan_parts
from modules.planning.llmfunc import LlmFunction, ReplyUnusable, llmfunc
from modules.planning.prompt.past import past_text
from modules.planning.prompt.template import load_prompt
from modules.team.choosing import choose_action
from modules.team.needs import AskPerson
from modules.team.roles import GENERALIST, Role, roles_of
from modules.team.run import Choose, Chosen, MakeParts, TeamRun, TeamSettings
from modules.team.workflow import checked_workflow, load_workflow, workflow_text

PROMPT_PATH: Final = "prompts/graph_prompt.txt"
REPLAN_PROMPT_PATH: Final = "prompts/replan_prompt.txt"

RETRIES: Final = 2
"""How often a model is asked again: one plan is at hand."""

REASON_CHARACTERS: Final = 200
SHOWN_CHARACTERS: Final = 200
"""How much of what a subtask asks is shown."""

FAILURE_CHARACTERS: Final = 1_000
PURPOSE_CHARACTERS: Final = 80
"""How much is told of what a tool is for."""

TOOLS_CHARACTERS: Final = 12_000
"""What the list of tools may take in the prompt."""

HISTORY_CHARACTERS: Final = 4_000

GIVEN: Final = "Each subtask has what came with the request: "
ALWAYS: Final = (
    'The user wants parts in any case: "action" is "graph", with one subtask where nothing can be '
    "divided.\n\n"
)
IN_ORDER: Final = ActionChosen("plan", "its parts would come one after the other")
WHOLE: Final = ActionChosen("plan", "one plan answers it, or not all its parts can be planned")
"""Of a planner that reads no text."""


class _SubtaskReply(BaseModel):
    """A subtask as models write it; see `core.team.graph.Subtask`."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: str
    description: str
    expected: str = ""
    role: str | None = None
    after: list[str] = Field(default_factory=list[str])
    tools: list[str] = Field(default_factory=list[str])
    critical: bool = False

    @property
    def subtask(self) -> Subtask:
        """The subtask that it is; small models write null as text."""
        role = None if self.role in (None, "", "null", "none") else self.role
        told = (self.id, self.description.strip(), self.expected, role)
        return Subtask(*told, tuple(self.after), tuple(self.tools), self.critical)


class _OtherWay(BaseModel):
    """What takes the place of subtasks that failed; nothing where there is no other way."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    reason: str = ""
    subtasks: list[_SubtaskReply] = Field(default_factory=list[_SubtaskReply])


class _GraphReply(_OtherWay):
    """Whether one plan is better, else the subtasks."""

    action: Literal["plan", "graph"]


_Reply = TypeVar("_Reply", bound=_OtherWay)


def writer_for(context: AgentContext) -> "GraphWriter":
    """What writes graphs for the request that a context is about."""
    known = None if context.provenance is None else context.provenance.known
    inputs = DecisionInputs(
        context.user_input,
        context.dispatcher.catalog,
        PerceptionResult(),
        context.history,
        images=context.images,
        texts=context.texts,
        borders=Borders() if known is not None and known.is_tainted else None,
    )
    profile = context.agent_profile
    return GraphWriter(inputs, profile.strategy.graph, profile.team)


def run_in_parts(
    context: AgentContext,
    model: ModelManager,
    make_parts: MakeParts,
    model_named: Callable[[str], ModelManager] | None,
    ask_person: AskPerson | None,
    graph: TaskGraph | None,
) -> TeamRun:
    """A run that may go in parts: by the user's graph, else by one that is written for it."""
    writer = writer_for(context)
    choose = writer.choose if graph is None else given_graph(graph)
    settings = TeamSettings(writer.replan, model_named, ask_person)
    return TeamRun(context, model, make_parts, choose, settings)


def given_graph(graph: TaskGraph, *, by_plan: bool = False) -> Choose:
    """Chooses a graph that the user has written, or named; or a plan, with values of its own."""

    async def choose(model: CountingModel) -> Chosen:
        why = "a plan called it" if by_plan else "the user gave the graph"
        action = ActionChosen("workflow", why)
        return Chosen(action, graph, is_users=not by_plan, is_anybodys=by_plan)

    return choose


@frozen
class GraphWriter:
    """Writes the graph of one request, and plans parts of it anew.

    Attributes:
        inputs: the request, the tools that there are, and what was said before.
        mode: `strategy.graph` of the profile.
        section: who the team is, and how many parts there may be.
    """

    inputs: DecisionInputs
    mode: GraphMode = "auto"
    section: TeamSection = TeamSection()

    async def choose(self, model: CountingModel) -> Chosen:
        """How the request is answered; see `modules.team.run.Choose`.

        Raises:
            ModelUnavailable: the model can't be reached or refused.
            BudgetSpent: the run may use no more.
        """
        reads_text = model.traits.reads_text
        chosen = choose_action(self.inputs.user_input, self.mode, reads_text=reads_text)
        if chosen.action != "graph":
            return Chosen(chosen)
        if reads_text:
            return await self._by_model(model, chosen)
        graph = await asyncio.to_thread(plan_parts, self.inputs)
        if graph is None or len(graph.ids) > self.section.max_parts:
            return Chosen(WHOLE)
        return Chosen(chosen, graph)

    async def _by_model(self, model: CountingModel, chosen: ActionChosen) -> Chosen:
        is_always = self.mode == "always"
        past = Past(newest_within(self.inputs.history, HISTORY_CHARACTERS))
        values = {
            "history": past_text(past, self.inputs.borders),
            "given": self._given,
            "user_input": self.inputs.user_input,
            "demand": ALWAYS if is_always else "",
        }

        def wrong(reply: _GraphReply) -> str | None:
            if reply.action == "plan":
                return "the user wants a graph" if is_always else None
            return self._wrong(self._graph(reply))

        try:
            write = self._asking(model, PROMPT_PATH, _GraphReply, wrong, "history")
            reply = await write(**self._told, **values)
        except ReplyUnusable as error:
            told = one_line(str(error), REASON_CHARACTERS)
            return Chosen(ActionChosen("plan", f"no graph was written: {told}"))
        reason = one_line(reply.reason, REASON_CHARACTERS) or chosen.reason
        if reply.action == "plan":
            return Chosen(ActionChosen("plan", reason))
        graph, notes = joined_small_parts(self._graph(reply), self._may_use)
        if not is_always and _is_in_order(graph):
            return Chosen(IN_ORDER)
        return Chosen(ActionChosen("graph", reason), graph, (*self._mended(reply), *notes))

    def replan(self, model: CountingModel) -> Replan:
        """What finds another way with this model; see `core.team.schedule.Replan`."""
        return partial(self._other_way, model)

    async def _other_way(
        self,
        model: CountingModel,
        graph: TaskGraph,
        failed: Subtask,
        reason: str,
        done: Mapping[str, str],
    ) -> TaskGraph | None:
        """The whole graph with other subtasks for what failed and what depends on it.

        None where the model finds none or can't be reached, so that the rest goes on; a planner
        that reads no text knows no other way.

        Raises:
            BudgetSpent: the run may use no more.
        """
        if not model.traits.reads_text:
            return None
        lost = ({failed.id} | graph.after(failed.id)) - done.keys()
        kept = tuple(subtask for subtask in graph.subtasks if subtask.id not in lost)
        borders = self.inputs.borders or Borders()
        failure = borders.around(shorten(reason, FAILURE_CHARACTERS))
        values = {
            "graph": graph_yaml(graph),
            "finished": ", ".join(id_ for id_ in graph.ids if id_ in done) or "nothing",
            "lost": ", ".join(id_ for id_ in graph.ids if id_ in lost),
            "failed": failed.id,
            "failure": f"{borders.note}\n{failure}",
        }

        def whole(reply: _OtherWay) -> TaskGraph:
            return TaskGraph(graph.goal, (*kept, *self._graph(reply).subtasks))

        def wrong(reply: _OtherWay) -> str | None:
            if not reply.subtasks:
                return None
            if whole(reply).is_same_as(graph):
                return 'this is what has failed: find another way, or write "subtasks": []'
            return self._wrong(whole(reply))

        try:
            write = self._asking(model, REPLAN_PROMPT_PATH, _OtherWay, wrong, "graph")
            reply = await write(**self._told, **values)
        except ModelUnavailable:
            return None
        return whole(reply) if reply.subtasks else None

    @property
    def _given(self) -> str:
        """What goes along with the request, and with each subtask."""
        names = [text.described for text in self.inputs.texts]
        names += [f"the picture {image.name}" for image in self.inputs.images]
        return f"{GIVEN}{'; '.join(names)}\n\n" if names else ""

    @property
    def _told(self) -> dict[str, str]:
        """What both prompts tell of the team."""
        others = (role for role in self._roles.values() if role.name != GENERALIST)
        roles = "\n".join(f"- {role.name}: {role.purpose}" for role in others)
        return {"roles": roles, "tools": _tools_text(self.inputs.tools)}

    def _asking(
        self,
        model: CountingModel,
        path: str,
        shape: type[_Reply],
        wrong: Callable[[_Reply], str | None],
        changing: str,
    ) -> LlmFunction[_Reply]:
        return llmfunc(
            ModelRequest("decision", load_prompt(path)),
            model=model,
            shape=shape,
            check=wrong,
            retries=RETRIES,
            show_schema=False,
            changing=changing,
        )

    def _wrong(self, graph: TaskGraph) -> str | None:
        """What keeps a graph from running, as one sentence."""
        names, most = _tool_names(self.inputs.tools), self.section.max_parts
        return "; ".join(problems(graph, self._roles, names, most)) or None

    def _graph(self, reply: _OtherWay) -> TaskGraph:
        """What a model wrote, with the names of tools as they are."""
        parts = (each.subtask for each in reply.subtasks)
        mended = (replace(part, tools=tuple(map(self._tool, part.tools))) for part in parts)
        return TaskGraph(self.inputs.user_input, tuple(mended))

    def _tool(self, name: str) -> str:
        """The name of a tool; behind a server that has none of that name, where one other has."""
        bare = name.rpartition(".")[2]
        tools = self.inputs.tools
        tool = None if tools_named(name, tools) else tools.lookup(bare)
        return name if tool is None else tool.qualified_name

    def _mended(self, reply: _OtherWay) -> tuple[str, ...]:
        names = dict.fromkeys(name for part in reply.subtasks for name in part.tools)
        return tuple(
            f"{name} is read as {meant}" for name in names if (meant := self._tool(name)) != name
        )

    @property
    def _roles(self) -> Mapping[str, Role]:
        return roles_of(self.section)

    def _may_use(self, role: str, tool: str) -> bool:
        """Whether a role may use all that the name of a tool means."""
        meant = tools_named(tool, self.inputs.tools)
        return role in self._roles and all(map(self._roles[role].may_use, meant))


def graph_yaml(graph: TaskGraph) -> str:
    """The graph as the text of a workflow's file, which `graph_from` reads."""
    return workflow_text(shorten(graph.goal, TEXT_CHARACTERS_MAX), graph.subtasks, {})


def graph_from(text: str, path: Path = Path("graph.yaml")) -> TaskGraph:
    """The graph that stands in a workflow's text; `path` is where it lies, for messages.

    Raises:
        SettingsError: it is wrong; every problem is told.
        UsageError: it is a workflow whose parameters have to be given.
    """
    workflow = checked_workflow(path, text)
    return replace(workflow.graph({}), goal=workflow.description)


def load_graph(path: Path, roles: Collection[str] | None = None) -> TaskGraph:
    """The graph in a file, of steps that these `roles` do; raises as `graph_from`."""
    workflow = load_workflow(path, roles)
    return replace(workflow.graph({}), goal=workflow.description)


def graph_text(graph: TaskGraph) -> str:
    """The subtasks for people, a line each: who does it, what it needs, what is to be done."""
    lines: list[str] = []
    for subtask in graph.subtasks:
        needs = subtask.needs and f"needs {subtask.needs}"
        told = ", ".join(filter(None, (subtask.role, needs)))
        who = f" ({told})" if told else ""
        after = f" after {', '.join(subtask.dependencies)}" if subtask.dependencies else ""
        asked = one_line(subtask.description, SHOWN_CHARACTERS)
        lines.append(f"{subtask.id}{who}{after}: {asked}")
    return "\n".join(lines)


def _is_in_order(graph: TaskGraph) -> bool:
    """Whether never two of its subtasks could run at once."""
    sorter = graph.sorter()
    while sorter.is_active():
        ready = sorter.get_ready()
        if len(ready) > 1:
            return False
        sorter.done(*ready)
    return True


def _tool_names(tools: ToolCatalog) -> frozenset[str]:
    """What a subtask may call them: by qualified name, by name, or all of a server."""
    return frozenset(
        name for tool in tools for name in (tool.qualified_name, tool.name, tool.server)
    )


def _tools_text(tools: ToolCatalog) -> str:
    """A line for each tool, as many as there is room for."""
    lines: list[str] = []
    room = TOOLS_CHARACTERS
    for tool in tools:
        line = f"- {tool.qualified_name}: {one_line(tool.description, PURPOSE_CHARACTERS)}"
        if (room := room - len(line) - 1) < 0:
            return "\n".join([*lines, f"(and {counted(len(tools) - len(lines), 'more tool')})"])
        lines.append(line)
    return "\n".join(lines) or "(there are none)"

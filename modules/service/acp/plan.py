"""What an editor shows as the plan: the calls of a plan, in their order, or a graph's parts."""

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from core.base.text import one_line
from core.events import (
    Event,
    GraphPlanned,
    PlanWritten,
    Replanned,
    StepFinished,
    SubtaskChanged,
    ToolCallFinished,
    ToolCallKept,
    ToolCallStarted,
)
from core.tools.catalog import ToolCatalog
from core.turn import PlanFailed
from core.values import Json
from modules.planning.names import read_plan
from modules.sandbox.language.parsing import NotParsed

ENTRIES_MAX: Final = 50
ENTRY_CHARACTERS: Final = 300

_STATUS: Final = {"pending": "pending", "ready": "pending", "running": "in_progress"}
"""The protocol's words for states of a part; it has "completed" for all that is over."""


@dataclass
class _Entry:
    """A call by its tool, or a part by its id."""

    name: str
    text: str
    status: str = "pending"
    ending: str = ""


class ShownPlan:
    """Follows the events of one run, those of a graph's parts aside."""

    def __init__(self) -> None:
        """Have no entries."""
        self._entries: list[_Entry] = []
        self._has_graph = False

    def entries(self) -> list[Json]:
        """The entries as the protocol has them."""
        return [
            {"content": each.text + each.ending, "priority": "medium", "status": each.status}
            for each in self._entries
        ]

    def hear(self, event: Event, tools: ToolCatalog) -> None:
        """Take in what has happened."""
        match event:
            case GraphPlanned(graph) | Replanned(graph=graph):
                before = {each.name: each for each in self._entries} if self._has_graph else {}
                parts = graph.subtasks[:ENTRIES_MAX]
                texts = ((part.id, one_line(part.description, ENTRY_CHARACTERS)) for part in parts)
                self._entries = [before.get(id_) or _Entry(id_, text) for id_, text in texts]
                self._has_graph = True
            case SubtaskChanged(subtask, state):
                for each in self._named(subtask.id):
                    each.status = _STATUS.get(state, "completed")
                    is_undone = state in ("failed", "blocked", "cancelled")
                    each.ending = f" ({state})" if is_undone else ""
            case _ if not self._has_graph:
                self._hear_of_calls(event, tools)
            case _:
                pass

    def _hear_of_calls(self, event: Event, tools: ToolCatalog) -> None:
        match event:
            case PlanWritten(plan=plan):
                called = calls_in(plan.source, tools)[:ENTRIES_MAX]
                # a single one would only say again what its call shows
                self._entries = [_Entry(tool, tool) for tool in called] if called[1:] else []
            case ToolCallStarted(tool=tool):
                self._mark(tool, "pending", "in_progress")
            case ToolCallFinished(call=call):
                self._mark(call.tool, "in_progress", "completed")
            case ToolCallKept(call):
                self._mark(call.tool, "pending", "completed")
            case StepFinished(step) if not isinstance(step.result, PlanFailed):
                for each in self._entries:
                    each.status = "completed"
            case _:
                pass

    def _named(self, name: str) -> Iterable[_Entry]:
        return (each for each in self._entries if each.name == name)

    def _mark(self, tool: str, before: str, now: str) -> None:
        """Mark the first entry about the tool that is as far as `before`."""
        for each in self._named(tool):
            if each.status == before:
                each.status = now
                return


def calls_in(source: str, tools: ToolCatalog) -> list[str]:
    """The names of the tools that a plan calls, one for each call, as they stand there."""
    try:
        names = read_plan(source, tools).names
    except (NotParsed, SyntaxError, ValueError, RecursionError):
        return []
    calls = [node for node in names.nodes if isinstance(node, ast.Call)]
    calls.sort(key=lambda call: (call.lineno, call.col_offset))
    found = (names.called_tool(call) for call in calls)
    return [tool.qualified_name for tool in found if tool is not None]

"""What an editor shows as the plan: the calls of a plan, in their order, or a graph's parts."""

import ast
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
from modules.sandbox.language import NotParsed

ENTRIES_MAX: Final = 50
ENTRY_CHARACTERS: Final = 300

_STATUS: Final = {"pending": "pending", "ready": "pending", "running": "in_progress"}
"""The protocol's words for states of a part; it has "completed" for all that is over."""

_ORDER: Final = ("pending", "in_progress", "completed")
_UNDONE: Final = ("failed", "blocked", "cancelled")


@dataclass
class _Entry:
    """A call by its tool, or a part by its id."""

    name: str
    text: str
    status: str = "pending"


class ShownPlan:
    """Follows the events of one run, those of a graph's parts aside."""

    def __init__(self) -> None:
        """Have no entries."""
        self._entries: list[_Entry] = []
        self._has_graph = False

    def entries(self) -> list[Json]:
        """The entries as the protocol has them."""
        return [
            {"content": each.text, "priority": "medium", "status": each.status}
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
                self._mark(subtask.id, _STATUS.get(state, "completed"), state)
            case PlanWritten(plan=plan) if not self._has_graph:
                called = calls_in(plan.source, tools)[:ENTRIES_MAX]
                # a single one would only say again what its call shows
                self._entries = [_Entry(tool, tool) for tool in called] if called[1:] else []
            case ToolCallStarted(tool=tool):
                self._mark(tool, "in_progress")
            case ToolCallFinished(call=call) | ToolCallKept(call):
                self._mark(call.tool, "completed")
            case StepFinished(step) if not isinstance(step.result, PlanFailed):
                for each in [] if self._has_graph else self._entries:
                    each.status = "completed"
            case _:
                pass

    def _mark(self, name: str, now: str, state: str = "") -> None:
        """Mark the first entry of the name that is not as far."""
        for each in self._entries:
            if each.name == name and _ORDER.index(each.status) < _ORDER.index(now):
                each.status = now
                each.text += f" ({state})" if state in _UNDONE else ""
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

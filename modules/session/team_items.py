"""How a request was answered in parts, as metadata of a session's items, and read back from them.

An item of a subtask's own run names it (`modules.session.history.SUBTASK`). The course of the whole
stands in items that have the kind of their event under `TEAM`, and its fields beside it.
"""

from collections.abc import Iterable
from dataclasses import asdict
from functools import cache
from typing import Final, TypeAlias, assert_never

from pydantic import TypeAdapter, ValidationError

from core.base.text import counted
from core.events import (
    ActionChosen,
    BoardChanged,
    GraphPlanned,
    Judged,
    MessageSent,
    Replanned,
    RoleChosen,
    SubtaskChanged,
)
from core.team.graph import GraphOutcome, SubtaskState, TaskGraph
from core.turn import MemoryItem
from core.values import JsonObject
from modules.session.history import TEAM, seconds_of

ATTEMPT_OF_SUBTASK: Final = "subtask_attempt"
"""Key of the metadata under which it stands which run of the subtask it was, from 1."""

ROLE: Final = "role"
"""Key of the metadata under which it stands whose run of the subtask it was."""

ENDED: Final[tuple[SubtaskState, ...]] = ("completed", "failed", "blocked", "cancelled")
"""States that a subtask stays in."""

CourseEvent: TypeAlias = (
    ActionChosen
    | GraphPlanned
    | RoleChosen
    | SubtaskChanged
    | Replanned
    | MessageSent
    | BoardChanged
    | Judged
)


def course_told(event: CourseEvent) -> tuple[str, JsonObject] | None:
    """What is kept of an event of the whole, in words and as metadata; None for passing news."""
    match event:
        case ActionChosen(action, reason) if action != "plan":
            text, told = f"Chose {action}: {reason}", asdict(event)
        case GraphPlanned(graph, notes):
            text = f"Planned {counted(len(graph.subtasks), 'subtask')}"
            told: JsonObject = {"graph": _graph_json(graph), "notes": [*notes]}
        case RoleChosen(subtask, role, reason):
            text, told = f"{role} does subtask {subtask}: {reason}", asdict(event)
        case SubtaskChanged(subtask, state) if state in ENDED:
            text = f"Subtask {subtask.id} {state}: {event.text}"
            told = {**asdict(event), "subtask": subtask.id, "seconds": round(event.seconds, 6)}
        case Replanned(failed, reason, graph):
            text = f"Planned anew, as {failed} failed: {reason}"
            told = {"failed": failed, "reason": reason, "graph": _graph_json(graph)}
        case BoardChanged(entry) if entry.topic != "progress":  # that, subtasks' own items tell
            wrote = "decided" if entry.topic == "decisions" else f"wrote {entry.topic},"
            value = entry.value or "no more"
            text, told = f"{entry.who} {wrote} {entry.key}: {value}", asdict(entry)
        case Judged(verdict, reason):
            text, told = f"Judged as {verdict}: {reason}", asdict(event)
        case MessageSent(message) if message.kind in ("question", "answer", "verdict"):
            text, told = f"{message.sender}, {message.kind}: {message.text}", asdict(message)
        case ActionChosen() | SubtaskChanged() | MessageSent() | BoardChanged():
            return None
        case _:
            assert_never(event)
    return text, {TEAM: type(event).__name__, **told}


def _graph_json(graph: TaskGraph) -> JsonObject:
    told: JsonObject = _graph_type().dump_python(graph, mode="json")
    return told


def graph_of(item: MemoryItem) -> TaskGraph | None:
    """The graph that an item tells of; None where it tells of none, or nothing that can be read."""
    try:
        return _graph_type().validate_python(item.metadata.get("graph"))
    except (ValidationError, RecursionError):
        return None


def graph_outcome(run: Iterable[MemoryItem]) -> GraphOutcome | None:
    """How the graph of a run ended, as far as its items tell; None without a graph."""
    outcome = None
    states: dict[str, SubtaskState] = {}
    results, reasons, roles = dict[str, str](), dict[str, str](), dict[str, str]()
    attempts, seconds = dict[str, int](), dict[str, float]()
    for item in run:
        if TEAM in item.metadata and (graph := graph_of(item)) is not None:
            states = {id_: states.get(id_, "pending") for id_ in graph.ids}
            found = (states, results, reasons, "", attempts, seconds, roles)
            outcome = GraphOutcome(graph, *found)
        match item.metadata:
            case {"team": "RoleChosen", "subtask": str(id_), "role": str(role)}:
                before = roles.get(id_, "")
                if role not in before.split(", "):  # a committee, or another try
                    roles[id_] = ", ".join(filter(None, (before, role)))
            case {"team": "SubtaskChanged", "subtask": str(id_), "text": str(text)} if (
                state := ended_state(item)
            ):
                states[id_] = state
                (results if state == "completed" else reasons)[id_] = text
                seconds[id_] = seconds_of(item) or 0.0
                if isinstance(attempt := item.metadata.get("attempt"), int):
                    attempts[id_] = attempt
            case _:
                pass
    return outcome


def ended_state(item: MemoryItem) -> SubtaskState | None:
    """The state in which a subtask ended, of an item that tells it."""
    return next((each for each in ENDED if each == item.metadata.get("state")), None)


@cache
def _graph_type() -> TypeAdapter[TaskGraph]:
    return TypeAdapter(TaskGraph)

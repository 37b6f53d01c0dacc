"""A request that is answered in parts, while it goes on: a tree of subtasks, a row each."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from core.base.text import counted, one_line, seconds_text
from core.events import (
    Event,
    GraphPlanned,
    ModelAnswered,
    ModelAsked,
    ModelReplaced,
    ModelRetried,
    ModelWriting,
    PlanWritten,
    Replanned,
    RoleChosen,
    RunStarted,
    StepFinished,
    SubtaskChanged,
    SubtaskEvent,
    ToolCallFinished,
    ToolCallStarted,
)
from core.team.graph import Subtask, SubtaskState, TaskGraph
from modules.terminal.display.region import CYAN, DIM, GREEN, RED, Row, columns_of, cut, row
from modules.terminal.streams import shown_name
from modules.terminal.waits import mark_at
from modules.terminal.wording import VALUE_CHARACTERS, arguments_text, subtask_text

PART_ROWS: Final = 14
"""So many subtasks are shown at a time; those that run go first."""

DEPTH_SHOWN: Final = 4
"""Deeper ones are indented no further."""

WIDE_COLUMNS: Final = 60
"""With less room, roles and tokens are left out."""

_OPEN: Final[tuple[SubtaskState, ...]] = ("running", "ready", "pending")
"""States that a subtask does not stay in, those first that are shown first."""


@dataclass
class _Part:
    """A subtask, and what it does now."""

    subtask: Subtask
    state: SubtaskState = "pending"
    role: str = ""
    began: float = 0.0
    tokens: int = 0
    waits: str = ""
    calls: dict[int, str] = field(default_factory=dict[int, str])

    @property
    def doing(self) -> str:
        """The newest call that it has sent, or what else it waits for."""
        if not self.calls:
            return self.waits
        *others, newest = self.calls.values()
        return f"{newest} and {counted(len(others), 'more call')}" if others else newest


class GraphView:
    """Follows the parts of one request; all that it shows is printable and without secrets."""

    def __init__(self, harmless: Callable[[str], str], clock: Callable[[], float]) -> None:
        """`harmless` takes secrets and control characters out of a line; `clock` gives seconds."""
        self._harmless = harmless
        self._clock = clock
        self._began = clock()
        self._parts: dict[str, _Part] = {}

    def follow(self, event: Event) -> None:
        """Know what has happened."""
        match event:
            case GraphPlanned(graph) | Replanned(graph=graph):
                self._plan(graph)
            case RoleChosen(id_, role) if id_ in self._parts:
                self._parts[id_].role = self._harmless(role)
            case SubtaskChanged(subtask, state):
                part = self._parts.setdefault(subtask.id, _Part(subtask))
                if state == "running" and part.state != "running":
                    part.began = self._clock()
                part.state, part.waits = state, ""
                part.calls.clear()
            case SubtaskEvent(id_, _, inner) if id_ in self._parts:
                self._follow_part(self._parts[id_], inner)
            case _:
                pass

    def _plan(self, graph: TaskGraph) -> None:
        """Show another graph; what has begun goes on."""
        before = self._parts
        self._parts = {}
        for subtask in graph.subtasks:
            part = before.get(subtask.id)
            is_kept = part is not None and part.state in ("running", "completed")
            self._parts[subtask.id] = part if part is not None and is_kept else _Part(subtask)

    def _follow_part(self, part: _Part, event: Event) -> None:
        match event:
            case SubtaskEvent():
                self._follow_part(part, event.event)
            case RunStarted() | StepFinished():
                part.waits = ""
                part.calls.clear()
            case ModelAsked(model) | ModelRetried(model) | ModelReplaced(_, model):
                part.waits = self._harmless(f"waits for {model}")
            case ModelWriting(model, characters):
                part.waits = self._harmless(f"{model} writes: {counted(characters, 'character')}")
            case ModelAnswered():
                part.tokens += event.usage.tokens
                part.waits = ""
            case PlanWritten():
                part.waits = "runs its plan"
            case ToolCallStarted(call_id, tool, arguments):
                called = f"{shown_name(tool)}({arguments_text(arguments)})"
                part.calls[call_id] = self._harmless(called)
            case ToolCallFinished(call_id):
                part.calls.pop(call_id, None)
            case _:
                pass

    def ended_row(self, event: SubtaskChanged, columns: int) -> Row | None:
        """A subtask that has ended, in one row; None of one that goes on, or never began."""
        part = self._parts.get(event.subtask.id)
        if event.state in _OPEN or part is None or not part.began:
            return None
        seconds = event.seconds or self._clock() - part.began
        spent = f"{part.tokens:,} tokens, " if part.tokens and columns >= WIDE_COLUMNS else ""
        took = f" ({spent}{seconds_text(seconds)})"
        room = columns - columns_of(f"[graph] ✓ {took}")
        mark = ("✓", GREEN) if event.state == "completed" else ("✗", RED)
        told = cut(self._harmless(one_line(subtask_text(event), VALUE_CHARACTERS)), room)
        return row(("[graph]", DIM), " ", mark, f" {told}", (took, DIM))

    def rows(self, now: float, columns: int, most: int) -> list[Row]:
        """At most so many rows of the subtasks that have not ended, and one above them all."""
        tree = [*self._tree()]
        if not tree:
            return []
        done = sum(part.state == "completed" for part in self._parts.values())
        told = f" {done} of {counted(len(self._parts), 'subtask')} done"
        rows = [row(("[graph]", DIM), told, end=f" · {seconds_text(now - self._began)}")]
        most = max(1, min(most - 1, PART_ROWS))
        ranked = sorted(tree, key=lambda each: _OPEN.index(each[1].state))
        hidden = ranked[most - 1 :] if len(tree) > most else []
        rows += [self._row(*each, now, columns) for each in tree if each not in hidden]
        if hidden:
            running = sum(part.state == "running" for _, part in hidden)
            more = f", {running} running" if running else ""
            rows.append(row((f"  … {len(hidden)} more{more}", DIM)))
        return rows

    def _tree(self) -> Iterator[tuple[int, _Part]]:
        """What has not ended, with its depth: each below the last of those that it waits for."""
        left = {id_: part for id_, part in self._parts.items() if part.state in _OPEN}
        below: dict[str, list[tuple[int, _Part]]] = {}
        # Backwards: what is put on a stack last comes off first.
        for part in reversed(left.values()):
            waited = [id_ for id_ in part.subtask.dependencies if id_ in left]
            below.setdefault(waited[-1] if waited else "", []).append((0, part))
        stack = below.pop("", [])
        while stack:
            depth, part = stack.pop()
            yield depth, part
            stack += [(depth + 1, each) for _, each in below.pop(part.subtask.id, [])]

    def _row(self, depth: int, part: _Part, now: float, columns: int) -> Row:
        elapsed = now - part.began
        indent = "  " * min(depth, DEPTH_SHOWN) + ("└ " if depth else "  ")
        name = (self._harmless(part.subtask.id), CYAN if part.state == "running" else "")
        is_wide = columns >= WIDE_COLUMNS
        role = (f" {part.role}" if part.role and is_wide else "", DIM)
        if part.state != "running":
            left = [id_ for id_ in part.subtask.dependencies if self._is_open(id_)]
            told = f" after {', '.join(map(self._harmless, left))}" if left else ""
            return row(indent, "· ", name, role, (told, DIM))
        spent = f" · {part.tokens:,} tokens" if part.tokens and is_wide else ""
        doing = f" {part.doing}" if part.doing else ""
        end = f"{spent} · {seconds_text(elapsed)}"
        return row(indent, f"{mark_at(elapsed)} ", name, role, doing, end=end)

    def _is_open(self, id_: str) -> bool:
        return id_ in self._parts and self._parts[id_].state in _OPEN

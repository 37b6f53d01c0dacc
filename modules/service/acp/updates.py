"""What an editor is shown of a run: its events as `session/update`s.

A plan is a thought and, call by call, a list of entries; the parts of a graph are one. Calls of
tools are tool calls. Only the answer is a message.
"""

import ast
import itertools
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from core.base.redaction import Redactor
from core.base.text import one_line, shorten
from core.events import (
    ActionChosen,
    Answered,
    Event,
    GraphPlanned,
    Judged,
    ModelAnswered,
    ModelReplaced,
    ModelRetried,
    Notice,
    Observed,
    PlanRepaired,
    PlanWritten,
    Replanned,
    Retrying,
    ServerLogged,
    StepFinished,
    SubtaskChanged,
    SubtaskEvent,
    ToolCallFinished,
    ToolCallKept,
    ToolCallProgress,
    ToolCallRefused,
    ToolCallStarted,
)
from core.team.graph import SubtaskState
from core.tools.catalog import ToolCatalog
from core.turn import PlanFailed
from core.values import Json, JsonObject
from modules.planning.names import read_plan
from modules.sandbox.language.parsing import NotParsed
from modules.service.acp.calls import (
    SHOWN_CHARACTERS_MAX,
    call_told,
    message_chunk,
    result_content,
    text_content,
)

Send: TypeAlias = Callable[[JsonObject], Awaitable[None]]
"""Sends one update of a session; waits while the editor does not read."""

ENTRY_CHARACTERS: Final = 300
THOUGHT_CHARACTERS: Final = 1_000

ENTRIES_MAX: Final = 50
"""So many entries a plan shows."""

_LOUD: Final = ("warning", "error", "critical", "alert", "emergency")
"""Levels of what servers log that a user is shown."""

_STATES: Final[Mapping[SubtaskState, tuple[str, str]]] = {
    "pending": ("pending", ""),
    "ready": ("pending", ""),
    "running": ("in_progress", ""),
    "completed": ("completed", ""),
    "failed": ("completed", " (failed)"),
    "blocked": ("completed", " (not done: what it needs failed)"),
    "cancelled": ("completed", " (not done)"),
}
"""The status of a part, of the three that the protocol has, and what its words end with."""

_CallEvent: TypeAlias = (
    ToolCallStarted | ToolCallProgress | ToolCallFinished | ToolCallKept | ToolCallRefused
)


@dataclass
class _Entry:
    """An entry of the plan that is shown: a call by its tool, or a part by its id."""

    name: str
    text: str
    is_critical: bool = False
    status: str = "pending"
    ending: str = ""


class RunUpdates:
    """A listener (`core.events.Emit`) of one session's runs, one after the other.

    Secrets are taken out of everything but the answer, which is told as it is everywhere.

    Attributes:
        has_answered: whether the run has told its answer.
    """

    def __init__(self, send: Send, redactor: Redactor, folder: Path) -> None:
        """`folder` is where relative paths start."""
        self._send = send
        self._redactor = redactor
        self._folder = folder
        self._tools: Callable[[], ToolCatalog] = lambda: ToolCatalog(())
        self._context_tokens: int | None = None
        self._numbers = itertools.count(1)
        self._ids: dict[tuple[str, int], str] = {}
        self._asked: dict[str, deque[str]] = {}
        self._entries: list[_Entry] = []
        self._shown: list[Json] = []
        self._has_graph = False
        self.has_answered = False

    def begin(self, tools: Callable[[], ToolCatalog], context_tokens: int | None) -> None:
        """Expect another run, with these tools, by a model that reads so many tokens at once."""
        self._tools, self._context_tokens = tools, context_tokens
        self._ids.clear()
        self._asked.clear()
        self._entries, self._shown, self._has_graph = [], [], False
        self.has_answered = False

    async def __call__(self, event: Event) -> None:
        """Tell an event, if it is one that is shown."""
        await self._tell(event, "")

    async def say(self, text: str) -> None:
        """Tell the user something, as the agent's words."""
        await self._send(message_chunk("agent_message_chunk", text))

    async def ask_about(self, id_: str, shown: JsonObject) -> None:
        """Show as a call what the user is asked, so that the question has its place."""
        await self._update("tool_call", {"toolCallId": id_, **shown, "status": "pending"})

    async def settle(self, id_: str, tool: str, *, is_allowed: bool) -> None:
        """End a question; that about a call of `tool` goes on as this call."""
        if tool:
            self._asked.setdefault(tool, deque()).append(id_)
            return
        status = "completed" if is_allowed else "failed"
        await self._update("tool_call_update", {"toolCallId": id_, "status": status})

    async def _tell(self, event: Event, part: str) -> None:
        """Tell an event of a run; `part` names a graph's part, its tries apart."""
        match event:
            case SubtaskEvent():
                await self._tell(event.event, f"{part}{event.subtask}#{event.attempt}.")
            case (
                ToolCallStarted()
                | ToolCallProgress()
                | ToolCallFinished()
                | ToolCallKept()
                | ToolCallRefused()
            ):
                await self._tell_call(event, part)
            case Answered():
                if not part:
                    self.has_answered = True
                    await self.say(event.text)
            case PlanWritten():
                await self._think(f"```python\n{event.plan.source.strip()}\n```")
                self._plan_calls(event.plan.source, part)
                await self._show_entries(part)
            case StepFinished():
                await self._finish_entries(event, part)
            case GraphPlanned() | Replanned():
                await self._tell_graph(event)
            case SubtaskChanged():
                self._mark_part(event)
                await self._show_entries("")
            case ModelAnswered():
                await self._tell_usage(event)
            case _:
                await self._think(_thought(event))

    async def _tell_call(self, event: _CallEvent, part: str) -> None:
        match event:
            case ToolCallStarted(call_id, tool, arguments):
                self._ids[part, call_id] = await self._show_call(tool, arguments, "in_progress")
                await self._mark_call(tool, "pending", "in_progress", part)
            case ToolCallProgress(call_id, message=message):
                if message:
                    content: list[Json] = [text_content(self._redactor.text(one_line(message)))]
                    await self._update_call(part, call_id, "in_progress", content)
            case ToolCallFinished(call_id, call, images):
                content = result_content(call.result, self._redactor, images)
                await self._update_call(
                    part, call_id, "completed" if call.ok else "failed", content
                )
                await self._mark_call(call.tool, "in_progress", "completed", part)
            case ToolCallKept(call):
                content = result_content(call.result, self._redactor)
                await self._show_call(call.tool, call.arguments, "completed", content)
                await self._mark_call(call.tool, "pending", "completed", part)
            case ToolCallRefused(tool, arguments, reason):
                content = [text_content(self._redactor.text(f"Not sent: {reason}"))]
                await self._show_call(tool, arguments, "failed", content)

    async def _show_call(
        self, tool: str, arguments: JsonObject, status: str, content: list[Json] | None = None
    ) -> str:
        """Show a call in the place of the question about it, where there was one; its id there."""
        told = call_told(tool, arguments, self._redactor, self._folder) | {"status": status}
        if content is not None:
            told["content"] = content
        if waiting := self._asked.get(tool):
            id_ = waiting.popleft()
            await self._update("tool_call_update", {"toolCallId": id_, **told})
        else:
            id_ = f"call-{next(self._numbers)}"
            await self._update("tool_call", {"toolCallId": id_, **told})
        return id_

    async def _update_call(self, part: str, call_id: int, status: str, content: list[Json]) -> None:
        if (id_ := self._ids.get((part, call_id))) is not None:
            told: JsonObject = {"toolCallId": id_, "status": status, "content": content}
            await self._update("tool_call_update", told)

    async def _mark_call(self, tool: str, before: str, now: str, part: str) -> None:
        """Mark the first entry of a plan that is about the tool and as far as `before`."""
        if self._has_graph or part:
            return
        for entry in self._entries:
            if entry.name == tool and entry.status == before:
                entry.status = now
                await self._show_entries(part)
                return

    def _plan_calls(self, source: str, part: str) -> None:
        """Let the calls that stand in a plan be what is shown as the plan."""
        if not self._has_graph and not part:
            called = calls_in(source, self._tools())
            self._entries = [_Entry(tool, tool) for tool in called[:ENTRIES_MAX]]

    async def _finish_entries(self, event: StepFinished, part: str) -> None:
        if self._has_graph or part or isinstance(event.step.result, PlanFailed):
            return
        for entry in self._entries:
            entry.status = "completed"
        await self._show_entries(part)

    async def _tell_graph(self, event: GraphPlanned | Replanned) -> None:
        before = {entry.name: entry for entry in self._entries} if self._has_graph else {}
        self._has_graph = True
        self._entries = [
            before.get(each.id)
            or _Entry(each.id, one_line(each.description, ENTRY_CHARACTERS), each.critical)
            for each in event.graph.subtasks[:ENTRIES_MAX]
        ]
        for note in event.notes if isinstance(event, GraphPlanned) else (event.reason,):
            await self._think(note)
        await self._show_entries("")

    def _mark_part(self, event: SubtaskChanged) -> None:
        for entry in self._entries:
            if entry.name == event.subtask.id:
                entry.status, entry.ending = _STATES[event.state]

    async def _show_entries(self, part: str) -> None:
        if part or not self._entries:
            return
        entries: list[Json] = [
            {
                "content": self._redactor.text(entry.text) + entry.ending,
                "priority": "high" if entry.is_critical else "medium",
                "status": entry.status,
            }
            for entry in self._entries
        ]
        if entries != self._shown:
            self._shown = entries
            await self._update("plan", {"entries": entries})

    async def _tell_usage(self, event: ModelAnswered) -> None:
        """How much of a model's window a prompt and its reply have taken."""
        if size := self._context_tokens:
            await self._update("usage_update", {"used": event.usage.tokens, "size": size})

    async def _think(self, text: str | None) -> None:
        """Tell what goes on, as a paragraph of thoughts."""
        if text:
            shown = shorten(self._redactor.text(text), SHOWN_CHARACTERS_MAX)
            await self._send(message_chunk("agent_thought_chunk", f"{shown}\n\n"))

    async def _update(self, kind: str, told: JsonObject) -> None:
        await self._send({"sessionUpdate": kind, **told})


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


def _thought(event: Event) -> str | None:
    """What is told of an event in a sentence; None where nothing is."""
    match event:
        case ActionChosen(action, reason):
            return reason if action in ("graph", "workflow") else None
        case PlanRepaired(repairs=repairs):
            return f"Repaired in the plan: {'; '.join(repairs)}"
        case Retrying(failure=failure, lifelines_left=left):
            return f"The plan failed: {failure}. Another is written ({left} left after it)."
        case Observed(text=text):
            return f"Read: {shorten(text, THOUGHT_CHARACTERS)}"
        case ModelRetried(model, reason):
            return f"{model} is asked again: {reason}"
        case ModelReplaced(model, successor, reason):
            return f"{successor} takes over from {model}: {reason}"
        case Judged(verdict, reason):
            return f"{verdict.replace('_', ' ').capitalize()}: {reason}"
        case Notice(text=text):
            return text
        case ServerLogged(server, level, text) if level in _LOUD:
            return f"{server} says: {shorten(text, THOUGHT_CHARACTERS)}"
        case _:
            return None

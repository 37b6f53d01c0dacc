"""What an editor is shown of a run: its events as `session/update`s.

A plan is a thought and, where it has several calls, a list of entries; the parts of a graph are
one. Calls of tools are tool calls. Only the answer is a message.
"""

import itertools
from collections import deque
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, TypeAlias

from core.base.redaction import Redactor
from core.base.text import shorten
from core.events import (
    Event,
    ModelAnswered,
    Notice,
    PlanRepaired,
    PlanWritten,
    RunFinished,
    ServerLogged,
    SubtaskEvent,
    ToolCallFinished,
    ToolCallKept,
    ToolCallProgress,
    ToolCallRefused,
    ToolCallStarted,
)
from core.tools.catalog import ToolCatalog
from core.values import Json, JsonObject
from modules.planning.reply.closing import answer_so_far
from modules.service.acp.calls import (
    SHOWN_CHARACTERS_MAX,
    call_told,
    message_chunk,
    result_content,
    text_content,
)
from modules.service.acp.plan import ShownPlan
from modules.service.served.draft import Draft
from modules.terminal.wording import normal_lines, progress_line, verbose_lines

Send: TypeAlias = Callable[[JsonObject], Awaitable[None]]
"""Sends one update of a session; waits while the editor does not read."""

_QUIET: Final = ("debug", "info", "notice")
"""Levels of what servers log that a user is not shown."""


class RunUpdates:
    """A listener (`core.events.Emit`) of one session's runs, one after the other.

    Secrets are taken out of everything but the answer, which is told as it is everywhere.

    Attributes:
        has_answered: whether the run has told its answer, or began to.
    """

    def __init__(self, send: Send, redactor: Redactor, folder: Path) -> None:
        """`folder` is where relative paths start."""
        self._send = send
        self._redactor = redactor
        self._folder = folder
        self._numbers = itertools.count(1)
        self.begin(lambda: ToolCatalog(()), None)

    def begin(self, tools: Callable[[], ToolCatalog], context_tokens: int | None) -> None:
        """Expect another run, with these tools, by a model that reads so many tokens at once."""
        self._tools, self._context_tokens = tools, context_tokens
        self._ids: dict[tuple[str, int], str] = {}
        self._asked: dict[str, deque[str]] = {}
        self._plan, self._draft = ShownPlan(), Draft()
        self._entries: list[Json] = []
        self.has_answered = False

    async def __call__(self, event: Event) -> None:
        """Tell an event, if it is one that is shown."""
        part = ""  # of a graph, each of its tries apart
        while isinstance(event, SubtaskEvent):
            part, event = f"{part}{event.subtask}#{event.attempt}.", event.event
        await self._tell(event, part)
        if part:
            return
        for piece in self._draft.pieces(event):
            # what an editor has shown can't be taken back: another begins below
            text = f"\n\n{piece['content']}" if "restart" in piece else str(piece["content"])
            self.has_answered = True
            if text:
                await self.say(text)
        self._plan.hear(event, self._tools())
        if (entries := self._plan.entries()) and entries != self._entries:
            self._entries = entries
            await self._update("plan", self._redactor.object({"entries": entries}))

    async def say(self, text: str) -> None:
        """Tell the user something, as the agent's words."""
        await self._send(message_chunk("agent_message_chunk", text))

    async def ask_about(self, call: JsonObject) -> None:
        """Show as a call what the user is asked, so that the question has its place."""
        await self._update("tool_call", call)

    async def settle(self, id_: str, tool: str, *, is_allowed: bool) -> None:
        """End a question; that about a call of `tool` goes on as this call."""
        if tool:
            self._asked.setdefault(tool, deque()).append(id_)
            return
        status = "completed" if is_allowed else "failed"
        await self._update("tool_call_update", {"toolCallId": id_, "status": status})

    async def _tell(self, event: Event, part: str) -> None:
        redact = self._redactor.text
        match event:
            case ToolCallStarted(call_id, tool, arguments):
                self._ids[part, call_id] = await self._show_call(tool, arguments, "in_progress")
            case ToolCallProgress(call_id):
                content: list[Json] = [text_content(redact(progress_line(event)))]
                await self._update_call(part, call_id, "in_progress", content)
            case ToolCallFinished(call_id, call, images):
                content = result_content(call.result, self._redactor, images)
                status = "completed" if call.ok else "failed"
                await self._update_call(part, call_id, status, content)
            case ToolCallKept(call):
                content = result_content(call.result, self._redactor)
                await self._show_call(call.tool, call.arguments, "completed", content)
            case ToolCallRefused(tool, arguments, reason):
                content = [text_content(redact(f"Not sent: {reason}"))]
                await self._show_call(tool, arguments, "failed", content)
            case ModelAnswered(usage=usage):
                if size := self._context_tokens:
                    await self._update("usage_update", {"used": usage.tokens, "size": size})
            case _:
                if text := _thought(event):
                    shown = shorten(redact(text), SHOWN_CHARACTERS_MAX)
                    await self._send(message_chunk("agent_thought_chunk", f"{shown}\n\n"))

    async def _show_call(
        self, tool: str, arguments: JsonObject, status: str, content: list[Json] | None = None
    ) -> str:
        """Show a call in the place of the question about it, where there was one; its id there."""
        told = call_told(tool, arguments, self._redactor, self._folder) | {"status": status}
        if content is not None:
            told["content"] = content
        if waiting := self._asked.get(tool):
            id_, kind = waiting.popleft(), "tool_call_update"
            del told["kind"]  # the question has told it
        else:
            id_, kind = f"call-{next(self._numbers)}", "tool_call"
        await self._update(kind, {"toolCallId": id_, **told})
        return id_

    async def _update_call(self, part: str, call_id: int, status: str, content: list[Json]) -> None:
        if (id_ := self._ids.get((part, call_id))) is not None:
            told: JsonObject = {"toolCallId": id_, "status": status, "content": content}
            await self._update("tool_call_update", told)

    async def _update(self, kind: str, told: JsonObject) -> None:
        await self._send({"sessionUpdate": kind, **told})


def _thought(event: Event) -> str:
    """What is told of an event in words, as at a terminal; empty where nothing is."""
    match event:
        case PlanWritten(plan=plan):
            if answer_so_far(plan.source):
                return ""  # it says no more than the answer
            return f"```python\n{plan.source.strip()}\n```"
        case Notice(text=text):
            return text
        case PlanRepaired():
            lines = verbose_lines(event)
        case ServerLogged(level=level):
            lines = [] if level in _QUIET else verbose_lines(event)
        case RunFinished():  # the turn's result has the usage
            lines = []
        case _:
            lines = normal_lines(event)
    return "\n".join(text for _, text in lines)

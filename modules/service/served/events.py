"""What a run tells over HTTP: named events of bounded size, made of those of the engine.

The names are those of the chatbot backend's design (`supervisor.decided`, `tool.start`, …), with a
few more for plans. `modules.service.served.event_types` has the fields of each.
"""

import binascii
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final, TypeAlias

from core.base.clock import Clock
from core.base.frozen import frozen
from core.base.redaction import Redactor
from core.base.text import shorten
from core.events import (
    ActionChosen,
    BoardChanged,
    Event,
    GraphPlanned,
    Judged,
    MessageSent,
    ModelAnswered,
    ModelAsked,
    ModelFailed,
    ModelReplaced,
    ModelRetried,
    Notice,
    Observed,
    PlanRepaired,
    PlanWritten,
    Replanned,
    Retrying,
    RoleChosen,
    RunStarted,
    ServerLogged,
    SubtaskChanged,
    SubtaskEvent,
    ToolCallFinished,
    ToolCallKept,
    ToolCallProgress,
    ToolCallRefused,
    ToolCallStarted,
)
from core.team.graph import TaskGraph
from core.turn import RunOutcome, ToolCall, Usage
from core.values import JsonObject
from modules.service.served.draft import Draft
from modules.terminal.answer import Room, plain_json

EVENT_CHARACTERS_MAX: Final = 64_000
"""About so much an event may take, images and answers aside: what is longer is cut."""

IMAGE_CHARACTERS_MAX: Final = 4_000_000
"""Base64 of a larger image is left out."""

ANSWER_CHARACTERS_MAX: Final = 1_000_000
"""A longer answer is cut."""

RUN_CHARACTERS_MAX: Final = 32_000_000
"""So much all events of a run may take together; of those that come later only a little is told."""

TEXTS_CHARACTERS: Final = 8_000_000
"""So much of that is for other things than images."""

LATE_CHARACTERS_MAX: Final = 1_000
"""What is told of an event then."""

STEPS_CHARACTERS: Final = 48_000
"""So much the descriptions of all parts of a graph may take together."""

GRAPH_CHARACTERS_MAX: Final = 2_000_000
"""So much a graph may take, most of which are ids: no part of it is left out."""


CHUNK: Final = "response.chunk"

DONE: Final = "response.done"

_ENDED: Final = ("completed", "failed", "blocked", "cancelled")

Fields: TypeAlias = Mapping[str, object]


@frozen
class ServiceEvent:
    """One event of a run; `id` counts from 1."""

    id: int
    name: str
    data: JsonObject


def ended(
    outcome: RunOutcome, conversation_id: str | None, trace_id: str
) -> Iterator[tuple[str, Fields]]:
    """The events that end a run; the answer itself was told before."""
    if outcome.graph is not None:
        yield "workflow.complete", {"states": outcome.graph.states}
    yield (
        DONE,
        {
            "status": outcome.status,
            "verdict": outcome.verdict,
            "grounded": outcome.grounded,
            "answer": outcome.answer,
            "message": outcome.message,
            "conversation_id": conversation_id,
            "trace_id": trace_id,
            "usage": usage_document(outcome.usage),
            "seconds": round(outcome.durations.get("total", 0.0), 3),
        },
    )


def usage_document(usage: Usage) -> JsonObject:
    """What models were used for, and what it cost in US dollars."""
    return {
        "model_calls": usage.model_calls,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cached_tokens": usage.cached_tokens,
        "cost": round(usage.cost, 6),
        "unpriced_calls": usage.unpriced_calls,
        "estimated_calls": usage.estimated_calls,
    }


class EventWords:
    """Turns the engine's events of one run into those of the service; knows no secret."""

    def __init__(self, run_id: str, redactor: Redactor, clock: Clock) -> None:
        """`clock` gives Unix seconds."""
        self._run_id = run_id
        self._redactor = redactor
        self._clock = clock
        self._left = RUN_CHARACTERS_MAX
        self._draft = Draft()

    def told(self, event: Event) -> Iterator[tuple[str, JsonObject]]:
        """The named events that stand for one of the engine; none for most of its inner ones."""
        for piece in self._draft.pieces(event):
            yield self.document(CHUNK, piece)
        where: dict[str, object] = {}
        while isinstance(event, SubtaskEvent):
            where = {"step": event.subtask, "attempt": event.attempt}
            event = event.event
        for name, fields in _told(event):
            yield self.document(name, {**where, **fields})

    def document(self, name: str, fields: Fields) -> tuple[str, JsonObject]:
        """A named event with its fields as JSON, within bounds, without secrets.

        Answers stand as they are: a figure in one may look like a secret (see `as_kept`). So
        does the data of images, which no text is looked for in.
        """
        told: JsonObject = {"type": name, "run": self._run_id, "at": round(self._clock(), 3)}
        room = Room(most := self._most(name))
        as_is: JsonObject = {}
        for field, value in fields.items():
            if name == "tool.content" and field == "data":
                as_is |= self._image(str(value))
            elif (name, field) in _AS_IS:
                as_is[field] = plain_json(value, room=room)
            else:
                told[field] = plain_json(value, room=room)
        self._left -= most - room.left
        return name, {**self._redactor.object(told), **as_is}

    def _most(self, name: str) -> int:
        """How much an event may take."""
        match name:
            case "response.chunk" | "response.done":
                return ANSWER_CHARACTERS_MAX
            case "clarify.request":  # whoever is asked sees the whole of it
                return EVENT_CHARACTERS_MAX
            case "workflow.created":
                return GRAPH_CHARACTERS_MAX
            case _:
                return max(min(EVENT_CHARACTERS_MAX, self._left), LATE_CHARACTERS_MAX)

    def _image(self, data: str) -> JsonObject:
        """An image's data, or why it is left out."""
        why = ""
        if len(data) > IMAGE_CHARACTERS_MAX:
            why = "the image is too large"
        elif len(data) > self._left - TEXTS_CHARACTERS:
            why = "the run has shown too many images"
        elif not _is_base64(data):
            why = "it is not base64"
        if why:
            return {"data": "", "metadata": {"left_out": why}}
        self._left -= len(data)
        return {"data": data, "metadata": {}}


_AS_IS: Final = {(CHUNK, "content"), (DONE, "answer")}


def as_kept(event: ServiceEvent, redactor: Redactor) -> ServiceEvent:
    """The event for the disk: in a file, an answer too is without secrets, as in its session."""
    answers = {
        field: redactor.json(event.data[field])
        for name, field in _AS_IS
        if name == event.name and field in event.data
    }
    return replace(event, data={**event.data, **answers}) if answers else event


def _is_base64(data: str) -> bool:
    try:
        binascii.a2b_base64(data, strict_mode=True)
    except ValueError:
        return False
    return True


def _told(event: Event) -> Iterator[tuple[str, Fields]]:
    """The events of one kind or another; what is missing here is nobody's business outside."""
    for tell in (_of_run, _of_models, _of_calls, _of_team):
        if found := [*tell(event)]:
            yield from found
            return


def _of_run(event: Event) -> Iterator[tuple[str, Fields]]:
    match event:
        case RunStarted():
            names = {"conversation_id": event.session_id, "trace_id": event.trace_id}
            yield "run.started", {**names, "request": event.request, "model": event.model}
        case ActionChosen(action, reason):
            yield "supervisor.decided", {"action": action, "reason": reason}
        case PlanWritten(number, attempt, plan):
            which = {"number": number, "attempt_number": attempt}
            yield "plan.written", {**which, "source": plan.source}
        case PlanRepaired(number, attempt, repairs):
            which = {"number": number, "attempt_number": attempt}
            yield "plan.repaired", {**which, "repairs": repairs}
        case Retrying(number, attempt, failure, lifelines_left):
            which = {"number": number, "attempt_number": attempt}
            why = {"failure": failure.for_person, "lifelines_left": lifelines_left}
            yield "plan.failed", {**which, **why}
        case Observed(number, text):
            yield "plan.observed", {"number": number, "text": text}
        case Notice(source, text):
            yield "notice", {"source": source, "text": text}
        case ServerLogged(server, level, text):
            yield "server.log", {"server": server, "level": level, "text": text}
        case _:
            return


def _of_models(event: Event) -> Iterator[tuple[str, Fields]]:
    match event:
        case ModelAsked():
            message = _STAGES.get(event.purpose, "Asking the model…")
            asks = {"stage": event.purpose, "model": event.model}
            yield "supervisor.thinking", {"message": message, **asks}
        case ModelAnswered():
            usage = event.usage
            yield (
                "model.answered",
                {
                    "model": event.model,
                    "purpose": event.purpose,
                    "input_tokens": usage.input_tokens,
                    "output_tokens": usage.output_tokens,
                    "cost": round(usage.cost, 6),
                    "seconds": round(event.seconds, 3),
                },
            )
        case ModelRetried():
            trouble = {"model": event.model, "message": event.reason}
            yield "model.trouble", {**trouble, "pause_seconds": event.pause_seconds}
        case ModelReplaced():
            trouble = {"model": event.model, "message": event.reason}
            yield "model.trouble", {**trouble, "successor": event.successor}
        case ModelFailed():
            yield "model.trouble", {"model": event.model, "message": event.reason}
        case _:
            return


_STAGES: Final[Mapping[str, str]] = {
    "perception": "Reading the request…",
    "decision": "Writing a plan…",
    "summary": "Summing up what was read…",
}


def _of_calls(event: Event) -> Iterator[tuple[str, Fields]]:
    match event:
        case ToolCallStarted(call_id, tool, arguments):
            yield "tool.start", {"call": call_id, "tool": tool, "arguments": arguments}
        case ToolCallProgress(call_id, tool, progress, total, message):
            done = {"progress": progress, "total": total, "message": message}
            yield "tool.progress", {"call": call_id, "tool": tool, **done}
        case ToolCallFinished(call_id, call, images):
            which = {"call": call_id, "tool": call.tool}
            for image in images:
                content = {"content_type": image.mime_type, "encoding": "base64"}
                yield "tool.content", {**which, **content, "data": image.data}
            yield _call_ended(call_id, call, len(images))
        case ToolCallKept(call):
            yield _call_ended(None, call, 0)
        case ToolCallRefused(tool, arguments, reason):
            said = {"message": reason, "seconds": 0.0, "refused": True, "arguments": arguments}
            yield "tool.error", {"call": None, "tool": tool, **said}
        case _:
            return


def _call_ended(call_id: int | None, call: ToolCall, contents: int) -> tuple[str, Fields]:
    which = {"call": call_id, "tool": call.tool, "seconds": round(call.seconds, 4)}
    if not call.ok:
        return "tool.error", {**which, "message": call.error_text, "refused": call.refused}
    result = {"result": call.result, "content_count": contents, "kept": call.kept}
    return "tool.complete", {**which, **result}


def _of_team(event: Event) -> Iterator[tuple[str, Fields]]:
    match event:
        case GraphPlanned(graph, notes):
            made = {"steps": _steps(graph), "notes": notes, "replanned": None}
            yield "workflow.created", made
        case Replanned(failed, reason, graph):
            why = f"{failed}: {reason}" if failed else reason
            yield "workflow.created", {"steps": _steps(graph), "notes": (), "replanned": why}
        case RoleChosen(subtask, role):
            yield "workflow.step.start", {"step": subtask, "role": role}
        case SubtaskChanged(subtask, "running", attempt):
            told = {"step": subtask.id, "attempt": attempt, "role": subtask.role}
            yield "workflow.step.start", told
        case SubtaskChanged(subtask, state, attempt, text, seconds) if state in _ENDED:
            how = {"state": state, "text": text, "seconds": round(seconds, 3)}
            yield "workflow.step.complete", {"step": subtask.id, "attempt": attempt, **how}
        case MessageSent(message):
            step = {"step": message.correlation} if message.correlation else {}
            said = {"sender": message.sender, "to": message.receiver, "kind": message.kind}
            yield "workflow.message", {**step, **said, "text": message.text}
        case Judged(verdict, reason):
            yield "workflow.judged", {"verdict": verdict, "reason": reason}
        case BoardChanged(entry):
            told = {"topic": entry.topic, "key": entry.key, "who": entry.who}
            yield "workflow.board", {**told, "text": entry.value}
        case _:
            return


def _steps(graph: TaskGraph) -> list[Fields]:
    each = STEPS_CHARACTERS // max(len(graph.subtasks), 1)
    return [
        {
            "id": subtask.id,
            "description": shorten(subtask.description, each),
            "role": subtask.role,
            "after": subtask.dependencies,
        }
        for subtask in graph.subtasks
    ]

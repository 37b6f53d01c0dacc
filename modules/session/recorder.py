"""Writes a run's events into session memory; one of the listeners of the event stream."""

import asyncio
import json
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import assert_never

from config.schema import MemorySection
from core.base.clock import Clock
from core.base.frozen import frozen
from core.base.memory.exchanges import GROUNDED
from core.base.redaction import Redactor
from core.errors import StorageError
from core.events import (
    ActionChosen,
    Answered,
    BoardChanged,
    Clarified,
    Emit,
    Event,
    GraphPlanned,
    Judged,
    MessageSent,
    ModelAnswered,
    ModelAsked,
    ModelFailed,
    ModelReplaced,
    ModelRetried,
    ModelWriting,
    Notice,
    Observed,
    Perceived,
    PlanRepaired,
    PlanWritten,
    Replanned,
    Retrying,
    RoleChosen,
    RunFinished,
    RunStarted,
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
from core.tools.json_schema import as_object
from core.turn import (
    CLARIFICATION,
    FINAL_ANSWER,
    FURTHER_PROCESSING,
    NO_ANSWER,
    SANDBOX_STEP,
    USAGE,
    ActionResult,
    AskedBack,
    FinalAnswer,
    FurtherProcessing,
    MemoryItem,
    PlanFailed,
    RunOutcome,
    ToolCall,
    Unanswered,
)
from core.values import Json, JsonObject
from modules.session.history import MODEL_CALLS, PERCEPTION, QUESTION, SUBTASK, TEAM, TRACE
from modules.session.memory import MemoryManager
from modules.session.records import shorten, storable
from modules.session.team_items import ATTEMPT_OF_SUBTASK, ROLE, CourseEvent, course_told

SUMMARY_CHARS = 2_000
"""Longest tool result that is kept whole with `summarize_tool_results: true`, as JSON."""

MAX_FIELD_CHARS = 100_000
"""Longest result, arguments, request or answer that is kept whole in any case."""

MAX_REPAIRS = 20
"""How many of a plan's repairs are kept with it."""

MAX_MODEL_CALLS = 50
"""How many calls of models, and troubles with them, are kept with one plan."""

MAX_FIELD_VALUES = MAX_FIELD_CHARS // 2
"""How many values of a result or of arguments are read; each takes two characters at least."""

MAX_LEVELS = 64
"""How deep values are read; `storable` keeps no more levels."""

_TEXT_CHARS = 500

MAX_GRAPH_CHARS = 10 * MAX_FIELD_CHARS
"""Longest graph that is kept whole, as JSON."""

_LARGE_EVENTS = (
    *(ToolCallStarted, ToolCallFinished, ToolCallKept, ToolCallRefused),
    *(GraphPlanned, Replanned, SubtaskChanged),
)


@dataclass
class _Run:
    """What has come of a run, or of a subtask's own, and is told with its next item."""

    model_calls: list[Json] = field(default_factory=list[Json])
    perception: JsonObject = field(default_factory=dict[str, Json])
    step_began: float = 0.0


@frozen
class _Whose:
    """A run: the request's own, or a try of a subtask by a role; a committee has several."""

    subtask: str = ""
    attempt: int = 1
    role: str = ""


class SessionRecorder:
    """Listens to events and keeps them as memory items; the disk is waited for in a thread.

    The first write that fails becomes a `Notice`; from then on the session lives in this
    process only, until the next request finds that it can be written. Secrets are taken out
    before anything is kept.
    """

    def __init__(
        self,
        memory: MemoryManager,
        settings: MemorySection,
        clock: Clock = time.time,
        redactor: Redactor | None = None,
        *,
        keeps_prompts: bool = False,
    ) -> None:
        """Record into `memory`; what models were asked and replied too with `keeps_prompts`.

        `clock` gives Unix seconds; `redactor` by default knows this process's environment.
        """
        self._memory = memory
        self._settings = settings
        self._clock = clock
        self._redactor = redactor if redactor is not None else Redactor(os.environ)
        self._keeps_prompts = keeps_prompts
        self._request: str | None = None
        self._runs: dict[_Whose, _Run] = {}

    def telling(self, emit: Emit) -> Emit:
        """It as a listener; its own troubles are told by `emit`, as notices."""

        async def record(event: Event) -> None:
            if (notice := await self(event)) is not None:
                await emit(notice)

        return record

    async def __call__(self, event: Event) -> Notice | None:
        """Deal with one event; returns what the user should be told about memory, if anything."""
        whose, told = _unwrapped(event)
        is_large = isinstance(told, _LARGE_EVENTS)
        item = None if is_large else self._part_of(whose, told)
        if item is None and not is_large and not isinstance(event, RunFinished):
            return None
        try:
            await asyncio.to_thread(self._keep, event, item)
        except StorageError as error:
            self._memory.stop_writing(error)
        warnings = self._memory.take_warnings()
        return Notice("memory", "; ".join(warnings)) if warnings else None

    def _keep(self, event: Event, item: MemoryItem | None) -> None:
        """Wait for the disk. The item of an event whose values may be large is made here."""
        whose, told = _unwrapped(event)
        if isinstance(told, _LARGE_EVENTS):
            item = self._part_of(whose, told)
        if item is not None:
            self._memory.add(item)
        if isinstance(event, RunFinished):
            self._memory.flush()

    def _part_of(self, whose: "_Whose", event: Event) -> MemoryItem | None:
        """What is kept of an event, with the subtask that it belongs to."""
        item = self._item(event, whose)
        if item is None or not whose.subtask:
            return item
        part: JsonObject = {
            SUBTASK: self._clean(whose.subtask),
            ATTEMPT_OF_SUBTASK: whose.attempt,
            **({ROLE: self._clean(whose.role)} if whose.role else {}),
        }
        return item.model_copy(update={"metadata": item.metadata | part})

    def _item(self, event: Event, whose: "_Whose") -> MemoryItem | None:
        """What is kept of an event of the request's run, or of a subtask's."""
        run = self._runs.setdefault(whose, _Run())
        match event:
            case RunStarted() | Answered() | RunFinished():
                return self._part_item(event, whose) if whose.subtask else self._run_item(event)
            case ToolCallStarted() | ToolCallFinished() | ToolCallKept() | ToolCallRefused():
                return self._call_item(event)
            case StepFinished():
                return self._plan_item(event, run)
            case Clarified():
                run.step_began = self._clock()
                return self._question_item(event)
            case ModelAnswered() | ModelRetried() | ModelReplaced() | ModelFailed(is_cut=True):
                self._note_model(event, run)
                return None  # told with the plan that it was for, or at the end
            case Perceived():
                self._note_perception(event, run)
                return None  # told with the plan that follows
            case Observed():
                run.step_began = self._clock()
                return None
            case (
                ActionChosen()
                | GraphPlanned()
                | RoleChosen()
                | SubtaskChanged()
                | Replanned()
                | MessageSent()
                | BoardChanged()
                | Judged()
            ):
                return self._course_item(event)
            case (
                Notice()
                | PlanWritten()
                | PlanRepaired()
                | ToolCallProgress()
                | ServerLogged()
                | Retrying()
                | ModelAsked()
                | ModelWriting()
                | ModelFailed()
                | SubtaskEvent()
            ):
                return None  # passing news, or told again by the events above
            case _:
                assert_never(event)

    def _part_item(
        self, event: RunStarted | Answered | RunFinished, whose: "_Whose"
    ) -> MemoryItem | None:
        """What a subtask's run leaves: it is no request, and its result is told by the whole."""
        if isinstance(event, RunStarted):
            self._runs[whose] = _Run(step_began=self._clock())
        thought = self._told_thinking(self._runs[whose]) if isinstance(event, RunFinished) else {}
        return self._course(f"A run of {whose.subtask} ended", thought) if thought else None

    def _course_item(self, event: CourseEvent) -> MemoryItem | None:
        if (told := course_told(event)) is None:
            return None
        text, metadata = told
        if isinstance(event, SubtaskChanged):
            metadata["text"] = self._clean(event.text, MAX_FIELD_CHARS)
        kind: JsonObject = {TEAM: metadata[TEAM]}  # also of what is too long to be kept as it is
        return self._course(text, kind | self._arguments(metadata, MAX_GRAPH_CHARS))

    def _course(self, text: str, metadata: JsonObject) -> MemoryItem:
        return MemoryItem(
            timestamp=self._clock(),
            type="run_metadata",
            text=self._clean(text),
            tags=self._tags("team"),
            metadata=metadata,
            session_id=self._memory.session_id,
        )

    def _run_item(self, event: RunStarted | Answered | RunFinished) -> MemoryItem | None:
        match event:
            case RunStarted():
                self._request = self._clean(event.request, MAX_FIELD_CHARS)
                now = self._clock()
                self._runs = {_Whose(): _Run(step_began=now)}
                return MemoryItem(
                    timestamp=now,
                    type="run_metadata",
                    text=self._clean(f"Started a run with input: {event.request}"),
                    tags=self._tags("run_start"),
                    metadata={
                        "start_time": datetime.fromtimestamp(now, UTC).isoformat(),
                        "model": self._clean(event.model),
                        **({TRACE: event.trace_id} if event.trace_id else {}),
                    },
                    session_id=self._memory.session_id,
                    user_query=self._request,
                )
            case Answered():
                return MemoryItem(
                    timestamp=self._clock(),
                    type="final_answer",
                    text=self._clean(f"Final answer: {event.text}"),
                    final_answer=self._clean(event.text, MAX_FIELD_CHARS),
                    tags=self._tags("final_answer"),
                    session_id=self._memory.session_id,
                    user_query=self._request,
                )
            case RunFinished():
                return self._end_item(event.outcome)
            case _:
                assert_never(event)

    def _note_model(
        self, event: ModelAnswered | ModelRetried | ModelReplaced | ModelFailed, run: _Run
    ) -> None:
        if len(run.model_calls) >= MAX_MODEL_CALLS:
            return
        match event:
            case ModelAnswered():
                if event.prompt:
                    run.model_calls.append(self._model_call(event))
            case ModelRetried(model, reason, _, pause):
                run.model_calls.append(self._trouble(model, "tried again", pause, reason))
            case ModelFailed():
                cut = self._trouble(event.model, event.purpose, event.seconds, event.reason)
                at = round(self._clock() - event.seconds, 6)
                reply = self._clean(event.reply, MAX_FIELD_CHARS) if self._keeps_prompts else ""
                run.model_calls.append({**cut, "at": at, "reply": reply})
            case ModelReplaced(model, successor, reason):
                what = f"{successor} takes over"
                run.model_calls.append(self._trouble(model, what, 0.0, reason))
            case _:
                assert_never(event)

    def _model_call(self, event: ModelAnswered) -> JsonObject:
        call: JsonObject = {
            "model": self._clean(event.model),
            "purpose": event.purpose,
            "at": round(self._clock() - event.seconds, 6),
            "seconds": round(event.seconds, 6),
            "usage": dict(asdict(event.usage)),
        }
        if event.first_token_seconds is not None:
            call["first_token_seconds"] = round(event.first_token_seconds, 6)
        if self._keeps_prompts:
            call["prompt"] = self._clean(event.prompt, MAX_FIELD_CHARS)
            call["reply"] = self._clean(event.reply, MAX_FIELD_CHARS)
        return call

    def _trouble(self, model: str, what: str, seconds: float, reason: str) -> JsonObject:
        """A request to a model that failed; `seconds` is the pause before the next one."""
        return {
            "model": self._clean(model),
            "purpose": self._clean(what),
            "at": round(self._clock(), 6),
            "seconds": round(seconds, 6),
            "trouble": self._clean(reason),
        }

    def _note_perception(self, event: Perceived, run: _Run) -> None:
        seen = event.perception
        run.perception = {
            "intent": self._clean(seen.intent),
            "servers": self._clean(", ".join(seen.selected_servers)),
            "entities": self._clean(", ".join(seen.entities)),
            "tool_hint": self._clean(seen.tool_hint or ""),
            "at": round(run.step_began, 6),
            "seconds": round(max(0.0, self._clock() - run.step_began), 6),
        }

    def _told_thinking(self, run: _Run) -> JsonObject:
        """Perception and calls of models since they were last told, as an item's metadata."""
        calls, run.model_calls = run.model_calls, []
        seen, run.perception = run.perception, {}
        told: JsonObject = {MODEL_CALLS: calls, PERCEPTION: seen}
        return {name: value for name, value in told.items() if value}

    def _question_item(self, event: Clarified) -> MemoryItem:
        """What a plan asked the user, and the answer: null where there was none."""
        answer = None if event.answer is None else self._clean(event.answer, MAX_FIELD_CHARS)
        return MemoryItem(
            timestamp=self._clock(),
            type="run_metadata",
            text=self._clean(f"Asked back: {event.question} → {event.answer or 'no answer'}"),
            tags=self._tags("clarification"),
            metadata={
                QUESTION: self._clean(event.question, MAX_FIELD_CHARS),
                "reply": answer,
            },
            session_id=self._memory.session_id,
        )

    def _end_item(self, outcome: RunOutcome) -> MemoryItem | None:
        """How a run ended and what it used; nothing where `Answered` has told all there is."""
        metadata = self._usage(outcome) | self._told_thinking(self._runs[_Whose()])
        if outcome.grounded is False:
            metadata[GROUNDED] = False
        if outcome.answer is not None:
            if not metadata:
                return None
            text = "Run ended with an answer"
        else:
            text = self._clean(f"Run ended without an answer: {outcome.message}")
            metadata |= {
                "status": outcome.status,
                "message": self._clean(outcome.message, MAX_FIELD_CHARS),
            }
            if outcome.verdict is not None:
                metadata["verdict"] = outcome.verdict
        return MemoryItem(
            timestamp=self._clock(),
            type="run_metadata",
            text=text,
            tags=self._tags("run_end"),
            success=outcome.answer is not None,
            metadata=metadata,
            session_id=self._memory.session_id,
        )

    def _usage(self, outcome: RunOutcome) -> JsonObject:
        """What each model has used, where tokens were counted."""
        if not outcome.usage.tokens:
            return {}
        by_model = outcome.usage_by_model.items()
        return {USAGE: {self._clean(name): dict(asdict(used)) for name, used in by_model}}

    def _call_item(
        self, event: ToolCallStarted | ToolCallFinished | ToolCallKept | ToolCallRefused
    ) -> MemoryItem:
        match event:
            case ToolCallStarted():
                server, name = _split(self._redactor.text(event.tool))
                arguments = self._arguments(event.arguments)
                return MemoryItem(
                    timestamp=self._clock(),
                    type="tool_call",
                    text=shorten(f"Called {name} with {_json(arguments)}", _TEXT_CHARS),
                    tool_name=name,
                    tool_args=arguments,
                    tags=self._tags("tool"),
                    metadata={"server": server, "call_id": event.call_id},
                    session_id=self._memory.session_id,
                )
            case ToolCallFinished(call_id, call):
                return self._output_item(call, {"call_id": call_id})
            case ToolCallKept(call):
                return self._output_item(call, {"kept": True})
            case ToolCallRefused(tool, arguments, reason):
                refused = ToolCall(tool, arguments, False, reason, 0.0)
                return self._output_item(refused, {"refused": True})
            case _:
                assert_never(event)

    def _output_item(self, call: ToolCall, origin: JsonObject) -> MemoryItem:
        """What a plan received for a call, sent or kept."""
        server, name = _split(self._redactor.text(call.tool))
        result = self._result(call.result)
        return MemoryItem(
            timestamp=self._clock(),
            type="tool_output",
            text=shorten(f"Output of {name}: {_json(result)}", _TEXT_CHARS),
            tool_name=name,
            tool_args=self._arguments(call.arguments),
            tool_result={"result": result},
            tags=self._tags("tool"),
            success=call.ok,
            metadata={"server": server, **origin, "seconds": round(call.seconds, 6)},
            session_id=self._memory.session_id,
        )

    def _plan_item(self, event: StepFinished, run: _Run) -> MemoryItem:
        step = event.step
        text = self._clean(_verdict(step.result), MAX_FIELD_CHARS)
        metadata: JsonObject = {
            "step": step.number,
            "attempt": step.attempt,
            "seconds": round(step.seconds, 6),
        }
        metadata |= self._told_thinking(run)
        if isinstance(step.result, PlanFailed):
            metadata["failure"] = step.result.failure.kind
        if step.repairs:
            metadata["repairs"] = [self._clean(repair) for repair in step.repairs[:MAX_REPAIRS]]
        return MemoryItem(
            timestamp=self._clock(),
            type="tool_output",
            text=shorten(f"Output of {SANDBOX_STEP}: {text}", _TEXT_CHARS),
            tool_name=SANDBOX_STEP,
            tool_args=self._arguments({"plan": step.plan.source}),
            tool_result={"result": self._result(text)},
            tags=self._tags("sandbox"),
            success=not isinstance(step.result, PlanFailed),
            metadata=metadata,
            session_id=self._memory.session_id,
        )

    def _tags(self, tag: str) -> list[str]:
        return [tag] if self._settings.tag_interactions else []

    def _clean(self, text: str, limit_chars: int = _TEXT_CHARS) -> str:
        # Secrets first: half of one, cut off, would not be found any more.
        return shorten(self._redactor.text(str(storable(text))), limit_chars)

    def _arguments(self, arguments: JsonObject, limit: int = MAX_FIELD_CHARS) -> JsonObject:
        room = iter(range(MAX_FIELD_VALUES))
        clean = self._redactor.json(storable(_first_values(arguments, room)))
        if len(text := _json(clean)) <= limit:
            return as_object(clean)
        return {"shortened": _shortened(text, limit, room)}

    def _result(self, result: Json) -> Json:
        """The result, or the beginning of its text where it is too long."""
        limit = SUMMARY_CHARS if self._settings.summarize_tool_results else MAX_FIELD_CHARS
        room = iter(range(MAX_FIELD_VALUES))
        clean = self._redactor.json(storable(_first_values(result, room)))
        text = clean if isinstance(clean, str) else _json(clean)
        return clean if len(text) <= limit else _shortened(text, limit, room)


def _unwrapped(event: Event) -> tuple[_Whose, Event]:
    """Whose run an event is of, and the event.

    A subtask of a subtask has both ids, with a dot between.
    """
    ids: list[str] = []
    attempt, role = 1, ""
    while isinstance(event, SubtaskEvent):
        ids.append(event.subtask)
        attempt, role, event = event.attempt, event.role, event.event
    return _Whose(".".join(ids), attempt, role), event


def _verdict(result: ActionResult) -> str:
    match result:
        case FinalAnswer():
            return f"{FINAL_ANSWER} {result.text}"
        case FurtherProcessing():
            return f"{FURTHER_PROCESSING} {result.text}"
        case AskedBack():
            return f"{CLARIFICATION} {result.question}"
        case Unanswered():
            return f"{NO_ANSWER} {result.why}"
        case PlanFailed():
            return f"{result.failure.kind}: {result.failure}"
        case _:
            assert_never(result)


def _first_values(value: Json, room: Iterator[int], levels: int = MAX_LEVELS) -> Json:
    """The value with as many values inside as there is `room` for: no more could be kept."""
    if levels == 0:
        return value
    if isinstance(value, list):
        return [
            _first_values(inner, room, levels - 1) for inner, _ in zip(value, room, strict=False)
        ]
    if isinstance(value, dict):
        return {
            name: _first_values(inner, room, levels - 1)
            for (name, inner), _ in zip(value.items(), room, strict=False)
        }
    return value


def _shortened(text: str, limit_chars: int, room: Iterator[int]) -> str:
    """As `shorten`; where the room for values was not enough, the full size is not known."""
    if next(room, None) is not None:
        return shorten(text, limit_chars)
    return f"{text[:limit_chars]}… [shortened; over {len(text):,} characters in all]"


def _split(tool: str) -> tuple[str, str]:
    """Server and bare name of `server.tool`; ids of servers hold no dot, tool names may."""
    server, dot, name = tool.partition(".")
    return (server, name) if dot else ("", tool)


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)

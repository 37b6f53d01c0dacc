"""Listens to the events of a conversation's runs, and makes spans and measurements of them.

A run is a span, and within it each request to a model and each tool call; of a request that is
answered in parts, each try of a part is one more such span. Where events stop coming, because a
run was interrupted or a part was given up, its end closes all that is open in it.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from opentelemetry.trace import Span, SpanKind
from opentelemetry.util.types import AttributeValue

from config.schema import AgentSection
from core.base.text import one_line
from core.events import (
    ActionChosen,
    Clarified,
    Event,
    GraphPlanned,
    Judged,
    ModelAnswered,
    ModelAsked,
    ModelEvent,
    ModelFailed,
    ModelReplaced,
    ModelRetried,
    Perceived,
    PlanRepaired,
    PlanWritten,
    Replanned,
    Retrying,
    RunFinished,
    RunStarted,
    SubtaskChanged,
    SubtaskEvent,
    ToolCallFinished,
    ToolCallKept,
    ToolCallRefused,
    ToolCallStarted,
)
from core.run.execution import ExecutionContext, current
from core.team.graph import SubtaskState
from core.turn import RunOutcome
from core.values import JsonObject
from core.version import __version__
from modules.trace.otel import names
from modules.trace.otel.recording import (
    NAME_CHARACTERS,
    Contents,
    Recording,
    Timed,
    caller_of,
    model_attributes,
    usage_attributes,
    within,
)

_ENDED: Final[Mapping[SubtaskState, str | None]] = {
    "completed": None,
    "failed": "failed",
    "blocked": "blocked",
    "cancelled": "cancelled",
}
"""States that a subtask stays in, and what kind of error each is."""


@dataclass
class _Work:
    """A run that is under way, or a part's: its span, and what is open in it."""

    timed: Timed
    subtask: str = ""
    workflow: Timed | None = None
    calls: dict[int, Timed] = field(default_factory=dict[int, Timed])
    asked: dict[str, Timed] = field(default_factory=dict[str, Timed])
    parts: dict[str, "_Work"] = field(default_factory=dict[str, "_Work"])

    @property
    def span(self) -> Span:
        """That of the run."""
        return self.timed.span

    @property
    def of_whole(self) -> Span:
        """Where the parts of a request belong: its workflow, where it has one."""
        return self.span if self.workflow is None else self.workflow.span

    def open(self) -> Iterator[Timed]:
        """All that is open in it, what lies within before what it lies in."""
        for part in self.parts.values():
            yield from part.open()
        yield from self.calls.values()
        yield from self.asked.values()
        if self.workflow is not None:
            yield self.workflow
        yield self.timed


class TraceListener:
    """Makes spans of one conversation's runs; a listener of their events.

    `agent` is who answers, `contents` says what was asked, called and answered, where that is
    wanted. `on_end` is called behind each run.
    """

    def __init__(
        self,
        recording: Recording,
        agent: AgentSection,
        contents: Contents | None = None,
        on_end: Callable[[], None] = lambda: None,
    ) -> None:
        self._recording = recording
        self._on_end = on_end
        self._agent = agent
        self._contents = contents
        self._work: _Work | None = None

    async def __call__(self, event: Event) -> None:
        """Deal with one event; nothing is waited for."""
        match event:
            case RunStarted():
                self.close()
                self._work = self._run(event)
            case _ if self._work is not None:
                self._hear(event, self._work)
                if isinstance(event, RunFinished):
                    self._work = None
                    self._on_end()
            case ModelAnswered():  # beside all runs, and paid all the same
                measured = {names.OPERATION: names.CHAT, **model_attributes(event.model)}
                self._recording.used(measured, event.usage, event.first_token_seconds)
            case _:
                pass  # between runs

    def close(self) -> None:
        """End what is open of a run that nobody has told the end of."""
        if self._work is not None:
            self._end_all(self._work, names.UNFINISHED)
            self._work = None

    def _run(self, event: RunStarted) -> _Work:
        """The span of a request's own run, under its caller's where it has one."""
        work = current()
        if work is not None and work.trace_id != event.trace_id:
            work = None
        id_ = self._agent.id if work is None else work.profile or self._agent.id
        # Of a profile that was changed to, no more is known.
        name = self._agent.name if id_ == self._agent.id else id_
        attributes = {
            names.AGENT_NAME: _name(name),
            names.AGENT_ID: _name(id_),
            names.AGENT_VERSION: __version__,
            names.CONVERSATION: event.session_id,
            names.SESSION: event.session_id,
            **model_attributes(event.model),
            **_told_by_door(work),
        }
        del attributes[names.MODEL]  # a span with a model counts as a request to it with some
        timed = self._recording.start(
            names.INVOKE_AGENT,
            _name(name),
            attributes,
            caller_of(work),
            event.span_id,
            event.trace_id,
        )
        self._say(timed.span, names.INPUT_MESSAGES, "user", event.request)
        return _Work(timed)

    def _hear(self, event: Event, work: _Work) -> None:
        """Deal with an event of the request's run, or of a part's."""
        match event:
            case SubtaskEvent():
                part = self._part(event, work)
                self._hear(event.event, part)
                if isinstance(event.event, RunFinished):
                    del work.parts[event.span_id or event.subtask]
            case ActionChosen() | GraphPlanned() | SubtaskChanged() | Replanned() | Judged():
                self._course(event, work)
            case RunFinished(outcome):
                self._finish(work, outcome)
            case ToolCallStarted() | ToolCallFinished() | ToolCallKept() | ToolCallRefused():
                self._call(event, work)
            case ModelAsked() | ModelAnswered() | ModelRetried() | ModelFailed() | ModelReplaced():
                self._model(event, work)
            case Perceived(_, perception):
                self._say(work.span, names.INTENT, None, perception.intent)
            case PlanWritten() | PlanRepaired() | Retrying() | Clarified():
                self._plan(event, work.span)
            case _:
                pass  # told by others, or of no use in a trace

    def _part(self, event: SubtaskEvent, work: _Work) -> _Work:
        """The part that an event is of; its span begins with the first of them."""
        key = event.span_id or event.subtask
        if (part := work.parts.get(key)) is not None:
            return part
        role = _name(event.role or "subtask")
        attributes: dict[str, AttributeValue] = {
            names.AGENT_NAME: role,
            names.SUBTASK: _name(event.subtask),
            names.ATTEMPT: event.attempt,
        }
        if (provider := work.timed.measured.get(names.PROVIDER)) is not None:
            attributes[names.PROVIDER] = provider
        where = within(work.of_whole)
        timed = self._recording.start(names.INVOKE_AGENT, role, attributes, where, event.span_id)
        work.parts[key] = part = _Work(timed, event.subtask)
        return part

    def _course(
        self,
        event: ActionChosen | GraphPlanned | SubtaskChanged | Replanned | Judged,
        work: _Work,
    ) -> None:
        """What was decided about the whole of a request, and what came of its parts."""
        match event:
            case ActionChosen(action):
                work.span.set_attribute(names.ACTION, action)
            case GraphPlanned(graph):
                self._end(work.workflow)  # of another graph, whose run was not the last
                count = {names.COUNT: len(graph.subtasks)}
                where = within(work.span)
                work.workflow = self._recording.start(names.INVOKE_WORKFLOW, "", count, where)
            case SubtaskChanged():
                self._changed(event, work)
            case Replanned(failed):
                work.of_whole.add_event(names.REPLANNED, {names.SUBTASK: _name(failed)})
            case Judged(verdict):
                work.of_whole.add_event(names.JUDGED, {names.STATE: verdict})

    def _changed(self, event: SubtaskChanged, work: _Work) -> None:
        """A part ended, or is tried again: what its runs before have left open ends, too."""
        id_ = event.subtask.id
        if event.state in _ENDED or event.state == "running":
            error = _ENDED.get(event.state) or names.UNFINISHED
            for key in [key for key, part in work.parts.items() if part.subtask == id_]:
                self._end_all(work.parts.pop(key), error)
        if event.state in _ENDED:
            told = {names.SUBTASK: _name(id_), names.STATE: event.state}
            work.of_whole.add_event(names.SUBTASK_ENDED, told)

    def _finish(self, work: _Work, outcome: RunOutcome) -> None:
        """The run ended, and so does all that is open in it."""
        error = None if outcome.answer is not None else outcome.status
        for timed in work.open():
            if timed is not work.timed:
                is_workflow = timed is work.workflow
                self._recording.end(timed, error if is_workflow else error or names.UNFINISHED)
        work.span.set_attribute(names.STATUS, outcome.status)
        self._say(work.span, names.OUTPUT_MESSAGES, "assistant", outcome.answer or outcome.message)
        self._recording.end(work.timed, error)

    def _end(self, timed: Timed | None, error: str | None = None) -> None:
        if timed is not None:
            self._recording.end(timed, error)

    def _end_all(self, work: _Work, error: str) -> None:
        for timed in work.open():
            self._recording.end(timed, error)

    def _call(
        self,
        event: ToolCallStarted | ToolCallFinished | ToolCallKept | ToolCallRefused,
        work: _Work,
    ) -> None:
        match event:
            case ToolCallStarted(id_, tool, arguments, span_id):
                self._end(work.calls.pop(id_, None), names.UNFINISHED)
                work.calls[id_] = self._begun_call(tool, arguments, work, str(id_), span_id)
            case ToolCallFinished(id_, call):
                timed = work.calls.pop(id_, None)
                timed = timed or self._begun_call(call.tool, call.arguments, work, str(id_))
                self._say(timed.span, names.CALL_RESULT, None, call.result)
                self._recording.end(timed, None if call.ok else names.TOOL_ERROR)
            case ToolCallKept(call):
                timed = self._begun_call(call.tool, call.arguments, work)
                timed.span.set_attribute(names.KEPT, True)
                self._say(timed.span, names.CALL_RESULT, None, call.result)
                self._recording.end(timed, None if call.ok else names.TOOL_ERROR)
            case ToolCallRefused(tool, arguments):
                timed = self._begun_call(tool, arguments, work)
                self._recording.end(timed, names.REFUSED)

    def _begun_call(
        self, tool: str, arguments: JsonObject, work: _Work, id_: str = "", span_id: str = ""
    ) -> Timed:
        name = _name(tool)
        attributes = {names.TOOL: name, names.TOOL_TYPE: "function"}
        if id_:
            attributes[names.CALL_ID] = id_
        inside = within(work.span)
        timed = self._recording.start(names.EXECUTE_TOOL, name, attributes, inside, span_id)
        self._say(timed.span, names.CALL_ARGUMENTS, None, arguments)
        return timed

    def _model(self, event: ModelEvent, work: _Work) -> None:
        """A request to a model is one span, however often it is sent."""
        match event:
            case ModelAsked(model, purpose, span_id):
                if span_id not in work.asked or not span_id:
                    self._end(work.asked.pop(span_id, None), names.UNFINISHED)
                    work.asked[span_id] = self._begun_request(model, purpose, work, span_id)
            case ModelAnswered():
                timed = work.asked.pop(event.span_id, None)
                timed = timed or self._begun_request(event.model, event.purpose, work)
                timed.span.set_attributes(usage_attributes(event.usage))
                first = event.first_token_seconds
                if first is not None:
                    timed.span.set_attribute(names.FIRST_CHUNK, first)
                self._say(timed.span, names.INPUT_MESSAGES, "user", event.prompt)
                self._say(timed.span, names.OUTPUT_MESSAGES, "assistant", event.reply)
                self._recording.used(timed.measured, event.usage, first)
                self._recording.end(timed)
            case ModelRetried(_, _, attempt, pause, span_id):
                timed = work.asked.get(span_id)
                span = work.span if timed is None else timed.span
                told = {names.ATTEMPT: attempt, names.SECONDS: float(pause)}
                span.add_event(names.MODEL_RETRIED, told)
            case ModelFailed(model, purpose, _, span_id):
                timed = work.asked.pop(span_id, None)
                timed = timed or self._begun_request(model, purpose, work)
                self._recording.end(timed, names.UNAVAILABLE)
            case ModelReplaced(_, successor):
                work.span.add_event(names.MODEL_REPLACED, {names.MODEL: _name(successor)})
            case _:
                pass  # it is writing

    def _begun_request(self, model: str, purpose: str, work: _Work, span_id: str = "") -> Timed:
        attributes = {**model_attributes(model), names.PURPOSE: purpose}
        name, inside = str(attributes[names.MODEL]), within(work.span)
        return self._recording.start(
            names.CHAT, name, attributes, inside, span_id, kind=SpanKind.CLIENT
        )

    def _plan(self, event: PlanWritten | PlanRepaired | Retrying | Clarified, span: Span) -> None:
        told: dict[str, AttributeValue] = {names.STEP: event.step}
        match event:
            case PlanWritten(_, attempt, plan):
                name, text = names.PLAN_WRITTEN, plan.source
                told[names.ATTEMPT] = attempt
            case PlanRepaired(_, attempt, repairs):
                name, text = names.PLAN_REPAIRED, "; ".join(repairs)
                told |= {names.ATTEMPT: attempt, names.COUNT: len(repairs)}
            case Retrying(_, attempt, failure):
                name, text = names.PLAN_FAILED, str(failure)
                told |= {names.ATTEMPT: attempt, names.ERROR_TYPE: failure.kind}
            case Clarified(_, question, answer):
                name, text = names.CLARIFIED, f"{question} → {answer or 'no answer'}"
        if self._contents is not None:
            told[names.TEXT] = self._contents.text(text)
        span.add_event(name, told)

    def _say(self, span: Span, name: str, role: str | None, value: object) -> None:
        """Add what was said to a span, if contents are wanted: a message, a text or a value."""
        if self._contents is None or not span.is_recording():
            return
        if role is not None:
            span.set_attribute(name, self._contents.message(role, str(value)))
        elif isinstance(value, str):
            span.set_attribute(name, self._contents.text(value))
        else:
            span.set_attribute(name, self._contents.json(value))


def _told_by_door(work: ExecutionContext | None) -> dict[str, str]:
    """What a door knows of a request, as far as it does."""
    if work is None:
        return {}
    told = {
        names.USER: work.user,
        names.CONVERSATION: work.conversation,
        names.REQUEST_ID: work.request_id,
        names.PROFILE: work.profile,
        **{f"cortex_r.metadata.{key}": text for key, text in work.metadata},
    }
    return {name: text for name, text in told.items() if text}


def _name(text: str) -> str:
    return one_line(text, NAME_CHARACTERS)

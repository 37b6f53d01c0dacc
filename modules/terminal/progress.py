"""Progress on stderr: a listener that says what the run is doing, a line a stage."""

import time
from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from contextlib import AbstractContextManager
from itertools import islice
from typing import Literal, TypeAlias, assert_never

from core.base.json_preview import json_start
from core.base.redaction import Redactor
from core.base.text import clause, sentence
from core.events import (
    Clarified,
    Event,
    ModelAnswered,
    ModelAsked,
    ModelReplaced,
    ModelRetried,
    ModelWriting,
    Notice,
    Observed,
    Perceived,
    PlanRepaired,
    PlanWritten,
    Retrying,
    RunFinished,
    RunStarted,
    ServerLogged,
    StepFinished,
    ToolCallFinished,
    ToolCallKept,
    ToolCallProgress,
    ToolCallRefused,
    ToolCallStarted,
)
from core.turn import ModelPurpose, PlanFailed, ToolCall
from core.values import Json
from modules.terminal.model_lines import model_lines, usage_text
from modules.terminal.printing import one_line
from modules.terminal.safe_text import printable, shown_name
from modules.terminal.streams import TextSink
from modules.terminal.waits import Schedule, Waits, scheduled

_PURPOSES: Mapping[ModelPurpose, str] = {
    "perception": "perception",
    "decision": "a plan",
    "summary": "a summary",
    "text": "a text",
}
"""What a model is asked for, in words."""

Loudness: TypeAlias = Literal["quiet", "normal", "verbose"]

VALUE_CHARACTERS = 200
"""How much of a value one line shows."""

REASON_CHARACTERS = 500
"""How much of the reason why a call was refused one line shows."""

NAME_CHARACTERS = 100
"""How much of an argument's name one line shows."""

ARGUMENTS_SHOWN = 20
"""How many arguments of a call one line shows."""

SERVER_LOG_LINES = 50
"""How many log lines of one server are shown between two requests, unless all is asked for."""

CALL_PROGRESS_LINES = 20
"""How many lines of progress are shown of one call, unless all is asked for."""

REASON_RECOGNISED_CHARACTERS = 60
"""So much of a failed call's reason, found in the message that ends a run, is the same reason."""

_MILD_LEVELS = frozenset({"debug", "info", "notice"})
"""Log levels of servers that only "verbose" shows; what is not of RFC 5424 counts as a warning."""


class Progress:
    """Writes events to `stream`; "quiet" keeps notices, "verbose" adds plans and stages.

    Secrets are taken out of every line, for stderr often ends in a log.

    A `stream` of None, which `sys.stderr` is when a program starts with stderr closed, is told
    nothing.
    """

    def __init__(
        self,
        stream: TextSink | None,
        loudness: Loudness,
        redactor: Redactor | None = None,
        *,
        is_held: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = time.monotonic,
        schedule: Schedule = scheduled,
    ) -> None:
        """Write nothing yet; without `redactor`, no secrets are known.

        While `is_held`, somebody else has the terminal: nothing is written over there. `clock`
        gives seconds, and `schedule` calls back, for what is waited for.
        """
        self._stream = stream
        self._loudness = loudness
        self._redactor = redactor if redactor is not None else Redactor({})
        self._server_log_lines: Counter[str] = Counter()
        self._progress_lines: Counter[int] = Counter()
        self._failed: ToolCall | None = None
        self._waits = Waits(
            stream,
            self.say,
            verbose=loudness == "verbose",
            quiet=loudness == "quiet",
            is_held=is_held,
            clock=clock,
            schedule=schedule,
        )

    async def __call__(self, event: Event) -> None:
        """Tell one event."""
        self.tell(event)

    def tell(self, event: Event) -> None:
        """Tell one event, from where nothing can be awaited."""
        self._follow(event)
        for stage, text in self._lines(event):
            self.say(stage, text)

    def _follow(self, event: Event) -> None:
        """Name what is waited for from now on, and no more what has come."""
        match event:
            case PlanWritten():
                self._wait("plan", "sandbox", "the plan to run")
            case StepFinished():
                self._waits.end("plan")
            case ToolCallStarted(call_id, tool):
                self._wait(("tool", call_id), "tool", shown_name(tool))
            case ToolCallFinished(call_id):
                self._waits.end(("tool", call_id))
            case RunFinished():
                self._waits.end_all()
            case _:
                self._follow_model(event)

    def _follow_model(self, event: Event) -> None:
        match event:
            case ModelAsked(model, purpose):
                self._wait("model", "model", f"{model} ({_PURPOSES[purpose]})")
            case ModelWriting():
                self._wait("model", "model", _writing_line(event), at_once=True)
            case ModelRetried(model):
                self._wait("model", "model", f"the next try of {model}")
            case ModelReplaced(_, successor):
                self._wait("model", "model", successor)
            case ModelAnswered():
                self._waits.end("model")
            case _:
                pass

    def _wait(self, key: Hashable, stage: str, text: str, *, at_once: bool = False) -> None:
        self._waits.begin(key, stage, self._harmless(text), at_once=at_once)

    def _harmless(self, text: str) -> str:
        """For the line that is written over, whoever wrote it."""
        return printable(self._redactor.text(one_line(text, VALUE_CHARACTERS)))

    def during(self, stage: str, text: str) -> AbstractContextManager[None]:
        """Name the wait inside."""
        return self._waits.during(stage, self._harmless(text))

    def end_waits(self) -> None:
        """Leave the terminal's line empty: somebody else writes, or the run is over."""
        self._waits.end_all()

    def make_room(self) -> None:
        """Empty the terminal's line for somebody else, who has the terminal next."""
        self._waits.live.clear()

    async def notice(self, text: str) -> None:
        """Tell something that did not come up in a run, such as a server that can't start."""
        await self(Notice("loop", text))

    async def waiting(self, text: str) -> None:
        """Tell what is being waited for, unless quiet is wanted."""
        if self._loudness != "quiet":
            self.say("loop", text)

    def say(self, stage: str, text: str) -> None:
        """Write one line, control characters made visible; a closed stderr is no reason to fail."""
        if self._stream is None:
            return
        with self._waits.lock:
            self._waits.live.clear()
            try:
                self._stream.write(f"[{stage}] {printable(self._redactor.text(text))}\n")
                self._stream.flush()
            except (OSError, ValueError):
                self._loudness = "quiet"
            if self._waits.live.is_live:
                self._waits.tick()

    def _lines(self, event: Event) -> list[tuple[str, str]]:
        """The (stage, text) pairs that an event is worth at this loudness."""
        if isinstance(event, Notice):
            return [(event.source, event.text)]
        if self._loudness == "quiet":
            return []
        if self._loudness == "verbose":
            return _verbose(event)
        if isinstance(event, RunStarted):
            self._server_log_lines.clear()
            self._progress_lines.clear()
        if isinstance(event, ServerLogged):
            return [*self._failed_call(event), *self._server_log(event)]
        if isinstance(event, ToolCallProgress):
            return [*self._failed_call(event), *self._call_progress(event)]
        return [*self._failed_call(event), *_normal(event)]

    def _failed_call(self, event: Event) -> list[tuple[str, str]]:
        """The line of a call that failed, once it is known whether the next line has its reason."""
        call = self._failed
        if isinstance(event, StepFinished | ModelAsked | ModelAnswered | Perceived):
            return []
        self._failed = None
        if isinstance(event, ToolCallFinished) and not event.call.ok:
            self._failed = event.call
        if call is None:
            return []
        reason = clause(" ".join(call.error_text.split()))[:REASON_RECOGNISED_CHARACTERS]
        match event:
            case RunFinished(outcome):
                is_told = reason in " ".join(outcome.message.split())
            case Retrying(failure=failure):
                is_told = reason in " ".join(str(failure).split())
            case _:
                is_told = False
        return [("tool", call_line(call, with_reason=not is_told))]

    def _call_progress(self, event: ToolCallProgress) -> list[tuple[str, str]]:
        """What a call reports of itself, until there is too much of it."""
        self._progress_lines[event.call_id] += 1
        count = self._progress_lines[event.call_id]
        if count > CALL_PROGRESS_LINES:
            return []
        lines = _normal(event)
        if count == CALL_PROGRESS_LINES:
            lines.append(
                (
                    "tool",
                    f"{shown_name(event.tool)} reports more than is shown; --verbose shows all",
                )
            )
        return lines

    def _server_log(self, event: ServerLogged) -> list[tuple[str, str]]:
        """What a server finds worth a warning, until there is too much of it."""
        if event.level in _MILD_LEVELS:
            return []
        self._server_log_lines[event.server] += 1
        count = self._server_log_lines[event.server]
        if count > SERVER_LOG_LINES:
            return []
        lines = [("mcp", _server_log_line(event))]
        if count == SERVER_LOG_LINES:
            lines.append(("mcp", f"{event.server} logs more than is shown; --verbose shows all"))
        return lines


def _normal(event: Event) -> list[tuple[str, str]]:
    match event:
        case ToolCallFinished(_, call) if not call.ok:
            return []  # told with what comes next
        case ToolCallFinished(_, call) | ToolCallKept(call):
            return [("tool", call_line(call))]
        case ToolCallProgress():
            return [("tool", _progress_line(event))]
        case ToolCallRefused(tool, arguments, reason):
            refused = f"refused {shown_name(tool)}({_arguments(arguments)})"
            return [("tool", f"{refused}: {one_line(reason, REASON_CHARACTERS)}")]
        case Observed(step, text):
            return [("loop", f"step {step} found text to go on with ({_characters(len(text))})")]
        case Retrying():
            return [("loop", _retry_line(event))]
        case ModelRetried() | ModelReplaced():
            return model_lines(event, is_verbose=False)
        case Clarified(_, question, None):
            asked = sentence(one_line(question, VALUE_CHARACTERS))
            return [("loop", f"no answer to: {asked} The likeliest reading is taken")]
        case RunFinished(outcome) if outcome.usage.tokens:
            return [("model", usage_text(outcome.usage))]
        case _:
            return []


def _verbose(event: Event) -> list[tuple[str, str]]:
    match event:
        case RunStarted(session_id, _, model):
            return [("loop", f"session {session_id}, model {model}")]
        case Perceived(step, perception):
            servers = _short(", ".join(perception.selected_servers)) or "none"
            hint = f", hint {_short(perception.tool_hint)}" if perception.tool_hint else ""
            intent = _short(perception.intent)
            return [("perception", f"step {step}: {intent}; servers {servers}{hint}")]
        case PlanWritten() | PlanRepaired():
            return _plan_lines(event)
        case ToolCallStarted(_, tool, arguments):
            return [("tool", f"calls {shown_name(tool)}({_arguments(arguments)})")]
        case StepFinished(step):
            outcome = "failed" if isinstance(step.result, PlanFailed) else "worked"
            return [("sandbox", f"plan {step.attempt} {outcome} in {step.seconds * 1000:.0f} ms")]
        case RunFinished(outcome):
            spent = ", ".join(f"{k} {v * 1000:.0f} ms" for k, v in outcome.durations.items())
            return [("loop", f"{outcome.status}; {spent}"), *_normal(event)]
        case ModelAsked() | ModelAnswered():
            return model_lines(event, is_verbose=True)
        case ServerLogged():
            return [("mcp", _server_log_line(event))]
        case ToolCallFinished(_, call):
            return [("tool", call_line(call))]
        case _:  # what is told to everybody
            return _normal(event)


def call_line(call: ToolCall, *, with_reason: bool = True) -> str:
    """`server.tool(a=1) → 2 (3 ms)`; in place of the time, that a call was not sent but kept.

    The reason of a failure is left out where it is told elsewhere.
    """
    if call.ok:
        result = f"→ {json_start(call.result, VALUE_CHARACTERS)}"
    else:
        result = (
            f"failed: {one_line(call.error_text, VALUE_CHARACTERS)}" if with_reason else "failed"
        )
    took = "kept from the failed plan" if call.kept else f"{call.seconds * 1000:.0f} ms"
    return f"{shown_name(call.tool)}({_arguments(call.arguments)}) {result} ({took})"


def _plan_lines(event: PlanWritten | PlanRepaired) -> list[tuple[str, str]]:
    match event:
        case PlanWritten(step, attempt, plan, path):
            return [("strategy", path), ("plan", f"step {step}, plan {attempt}:\n{plan.source}")]
        case PlanRepaired(repairs=repairs):
            return [("plan", f"repaired: {one_line('; '.join(repairs), VALUE_CHARACTERS)}")]
        case _:
            assert_never(event)


def _progress_line(event: ToolCallProgress) -> str:
    message = one_line(event.message or "", VALUE_CHARACTERS)
    if event.total is None:  # of how much, nobody knows: words say more than the number
        return f"{shown_name(event.tool)}: {message or f'{event.progress:g}'}"
    return f"{shown_name(event.tool)}: {event.progress:g}/{event.total:g} {message}".rstrip()


def _writing_line(event: ModelWriting) -> str:
    written = f"{_characters(event.characters)} written"
    if event.thinking_characters:
        written += f", {_characters(event.thinking_characters)} thought"
    return f"{one_line(event.model, NAME_CHARACTERS)}: {written}"


def _server_log_line(event: ServerLogged) -> str:
    level, text = one_line(event.level, 20), one_line(event.text, VALUE_CHARACTERS)
    return f"{event.server} {level}: {text}"


def _retry_line(event: Retrying) -> str:
    why = clause(one_line(str(event.failure), VALUE_CHARACTERS))
    failed = f"plan {event.attempt} of step {event.step} failed: {why}"
    match event.lifelines_left:
        case 0:
            return f"{failed}; planning again, for the last time"
        case 1:
            return f"{failed}; planning again, 1 lifeline left"
        case left:
            return f"{failed}; planning again, {left} lifelines left"


def _characters(number: int) -> str:
    return "1 character" if number == 1 else f"{number:,} characters"


def _arguments(arguments: dict[str, Json]) -> str:
    inner = arguments.get("input")
    fields = inner if len(arguments) == 1 and isinstance(inner, dict) else arguments
    shown = [
        f"{one_line(name, NAME_CHARACTERS)}={json_start(value, VALUE_CHARACTERS)}"
        for name, value in islice(fields.items(), ARGUMENTS_SHOWN)
    ]
    return ", ".join([*shown, "…"] if len(fields) > ARGUMENTS_SHOWN else shown)


def _short(text: str) -> str:
    return text if len(text) <= VALUE_CHARACTERS else f"{text[:VALUE_CHARACTERS]}…"

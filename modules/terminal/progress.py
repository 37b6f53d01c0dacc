"""Progress on stderr: a listener that says what the run is doing, a line a stage."""

import json
import re
from typing import Literal, TextIO, TypeAlias, assert_never

from core.events import (
    Answered,
    Event,
    Notice,
    Observed,
    Perceived,
    PlanWritten,
    Retrying,
    RunFinished,
    RunStarted,
    StepFinished,
    ToolCallFinished,
    ToolCallProgress,
    ToolCallStarted,
)
from core.turn import PlanFailed, ToolCall
from core.values import Json

Loudness: TypeAlias = Literal["quiet", "normal", "verbose"]

VALUE_CHARACTERS = 200
"""How much of a value one line shows."""

_DRIVES_A_TERMINAL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""C0 and C1 but for tab and line end, line separators, bidirectional overrides, lone surrogates."""


class Progress:
    """Writes events to `stream`; "quiet" keeps notices, "verbose" adds plans and stages.

    A `stream` of None, which `sys.stderr` is when a program starts with stderr closed, is told
    nothing.
    """

    def __init__(self, stream: TextIO | None, loudness: Loudness) -> None:
        """Write nothing yet."""
        self._stream = stream
        self._loudness = loudness

    async def __call__(self, event: Event) -> None:
        """Tell one event."""
        for stage, text in self._lines(event):
            self.say(stage, text)

    async def notice(self, text: str) -> None:
        """Tell something that did not come up in a run, such as a server that can't start."""
        await self(Notice("loop", text))

    def say(self, stage: str, text: str) -> None:
        """Write one line, control characters made visible; a closed stderr is no reason to fail."""
        if self._stream is None:
            return
        try:
            self._stream.write(f"[{stage}] {printable(text)}\n")
            self._stream.flush()
        except (OSError, ValueError):
            self._loudness = "quiet"

    def _lines(self, event: Event) -> list[tuple[str, str]]:
        """The (stage, text) pairs that an event is worth at this loudness."""
        if isinstance(event, Notice):
            return [(event.source, event.text)]
        if self._loudness == "quiet":
            return []
        if self._loudness == "verbose":
            return _verbose(event)
        return _normal(event)


def _normal(event: Event) -> list[tuple[str, str]]:
    match event:
        case ToolCallFinished(_, call):
            return [("tool", call_line(call))]
        case ToolCallProgress():
            return [("tool", _progress_line(event))]
        case Observed(step, text):
            return [("loop", f"step {step} found {len(text)} characters to work on")]
        case Retrying():
            return [("loop", _retry_line(event))]
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
        case PlanWritten(step, attempt, plan, path):
            head = ("strategy", path)
            return [head, ("plan", f"step {step}, plan {attempt}:\n{plan.source}")]
        case ToolCallStarted(_, tool, arguments):
            return [("sandbox", f"calls {tool}({_arguments(arguments)})")]
        case StepFinished(step):
            outcome = "failed" if isinstance(step.result, PlanFailed) else "worked"
            return [("sandbox", f"plan {step.attempt} {outcome} in {step.seconds * 1000:.0f} ms")]
        case RunFinished(outcome):
            spent = ", ".join(f"{k} {v * 1000:.0f} ms" for k, v in outcome.durations.items())
            return [("loop", f"{outcome.status}; {spent}")]
        case Answered() | Notice():
            return []
        case ToolCallFinished() | ToolCallProgress() | Observed() | Retrying():
            return _normal(event)
        case _:
            assert_never(event)


def call_line(call: ToolCall) -> str:
    """`server.tool(a=1) → 2 (3 ms)`."""
    arrow = "→" if call.ok else "failed:"
    result = value_text(call.result) if call.ok else str(call.result)
    return (
        f"{call.tool}({_arguments(call.arguments)}) {arrow} {_short(result)}"
        f" ({call.seconds * 1000:.0f} ms)"
    )


def value_text(value: Json) -> str:
    """A JSON value on one line; what JSON can't write is said in words, not raised."""
    try:
        return json.dumps(value, ensure_ascii=False)
    except (ValueError, RecursionError):  # thousands of digits, or of levels
        return f"<{type(value).__name__} too large to show>"


def printable(text: str) -> str:
    """`text` without characters that could drive a terminal or reorder its line.

    They show as escapes. Newlines and tabs stay, and so do joiners and spaces of all kinds,
    which emoji and many scripts need.
    """
    return _DRIVES_A_TERMINAL.sub(lambda found: _escaped(found.group()), text)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def _progress_line(event: ToolCallProgress) -> str:
    total = f"/{event.total:g}" if event.total is not None else ""
    return f"{event.tool}: {event.progress:g}{total} {_short(event.message or '')}".rstrip()


def _retry_line(event: Retrying) -> str:
    left = f"{event.lifelines_left} lifeline{'s' if event.lifelines_left != 1 else ''} left"
    return f"plan {event.attempt} of step {event.step} failed: {_short(str(event.failure))}; {left}"


def _arguments(arguments: dict[str, Json]) -> str:
    inner = arguments.get("input")
    fields = inner if len(arguments) == 1 and isinstance(inner, dict) else arguments
    return ", ".join(f"{name}={_short(value_text(value))}" for name, value in fields.items())


def _short(text: str) -> str:
    return text if len(text) <= VALUE_CHARACTERS else f"{text[:VALUE_CHARACTERS]}…"

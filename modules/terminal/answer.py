"""Answers on stdout: bare text for scripts, a label for people, one JSON object with `--json`."""

import dataclasses
import json
import math
from typing import TextIO, assert_never

from core.turn import ActionResult, FinalAnswer, FurtherProcessing, PlanFailed, RunOutcome, Step
from core.values import Json, JsonObject
from modules.terminal.safe_text import printable

LABEL = "💡 Final Answer:"

MAX_INTEGER_BITS = 14_284
"""4,300 decimal digits, the default of `sys.set_int_max_str_digits`."""


def print_answer(answer: str, stream: TextIO) -> None:
    """Write an answer: labelled and made harmless for a terminal, bare for a pipe or file.

    Raises:
        BrokenPipeError: the reader has gone.
    """
    text = f"{LABEL} {printable(answer)}" if stream.isatty() else answer
    _write(f"{text}\n", stream)


def print_json(outcome: RunOutcome, session_id: str, model: str, stream: TextIO) -> None:
    """Write an outcome as one line of JSON (see `outcome_document`).

    Raises:
        BrokenPipeError: the reader has gone.
    """
    document = outcome_document(outcome, session_id, model)
    text = json.dumps(document, ensure_ascii=not _is_unicode(stream), allow_nan=False)
    _write(f"{text}\n", stream)


def outcome_document(outcome: RunOutcome, session_id: str, model: str) -> JsonObject:
    """An outcome as JSON: answer, status, session, steps with plans and calls, usage, durations.

    `answer` is null unless `status` is "done"; `message` then says why. Durations are seconds.
    Numbers that JSON lacks (NaN, infinities) stand as text, and so do integers of more digits
    than Python reads back (4,300), in hexadecimal.
    """
    usage: JsonObject = dict(dataclasses.asdict(outcome.usage))
    return {
        "answer": outcome.answer,
        "status": outcome.status,
        "message": outcome.message,
        "exit_code": int(outcome.exit_code),
        "session_id": session_id,
        "model": model,
        "steps": [_step(step) for step in outcome.steps],
        "usage": usage,
        "durations": {name: round(value, 6) for name, value in outcome.durations.items()},
    }


def _step(step: Step) -> JsonObject:
    perception: JsonObject = step.perception.model_dump(mode="json")
    kind, text = _result(step.result)
    return {
        "step": step.number,
        "attempt": step.attempt,
        "perception": perception,
        "plan": step.plan.source,
        "result": kind,
        "text": text,
        "calls": [
            {
                "tool": call.tool,
                "arguments": _finite(call.arguments),
                "ok": call.ok,
                "result": _finite(call.result),
                "seconds": round(call.seconds, 6),
            }
            for call in step.result.calls
        ],
        "seconds": round(step.seconds, 6),
    }


def _result(result: ActionResult) -> tuple[str, str]:
    match result:
        case FinalAnswer(text):
            return "final_answer", text
        case FurtherProcessing(text):
            return "further_processing", text
        case PlanFailed(failure):
            return "failed", f"{failure.kind}: {failure}"
        case _:
            assert_never(result)


def _finite(value: Json) -> Json:
    """The value with what strict JSON readers refuse as text: NaN, infinities, huge integers."""
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, int):
        return value if value.bit_length() <= MAX_INTEGER_BITS else hex(value)
    if isinstance(value, list):
        return [_finite(item) for item in value]
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return value


def _is_unicode(stream: TextIO) -> bool:
    """Whether the stream can write every character; a `StringIO` has no encoding and can."""
    return (stream.encoding or "utf-8").lower().replace("-", "").startswith("utf")


def _write(text: str, stream: TextIO) -> None:
    """Write and flush; what the stream's encoding lacks (emoji in Latin-1) becomes an escape."""
    try:
        stream.write(text)
    except UnicodeEncodeError as error:
        encoding = error.encoding
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
    stream.flush()

"""Answers on stdout: bare text for scripts, a label for people, one JSON object with `--json`."""

import dataclasses
import json
import math
import os
import re
from collections.abc import Mapping
from typing import Final, TextIO, assert_never, cast

from core.errors import ExitCode
from core.turn import (
    ActionResult,
    AskedBack,
    FinalAnswer,
    FurtherProcessing,
    PlanFailed,
    RunOutcome,
    Step,
    ToolCall,
)
from core.values import Json, JsonObject
from modules.terminal.printing import json_safe, print_document, printable, write

_PYTHON_WORDS: Mapping[str, Json] = {"True": True, "False": False, "None": None}

_LINE_BREAK = re.compile(r"\r\n|\r|\n")


LABEL: Final = "💡 Final Answer:"


def print_answer(answer: str, stream: TextIO) -> None:
    """Write an answer: labelled and laid out for a terminal, bare for a pipe or file.

    On a terminal it is taken for markdown, unless it is a value (see `value_of`), and nothing in
    it can drive the terminal.

    Raises:
        BrokenPipeError: the reader has gone.
    """
    text = answer
    if stream.isatty():
        text = f"{LABEL} {printable(answer)}"
        if isinstance(value_of(answer), str):
            from modules.terminal.display.page import page_text  # late: rich takes 0.06 s

            text = page_text(answer, stream, LABEL, os.environ) or text
    write(f"{text}\n", stream)


def print_failure_line(message: str, stream: TextIO) -> None:
    """Write why a request has no answer in an answer's place, as one line in brackets.

    Raises:
        BrokenPipeError: the reader has gone.
    """
    write(f"[{printable(one_line_of(message.strip()))}]\n", stream)


def one_line_of(text: str) -> str:
    r"""The text with `\n` for each line break."""
    return _LINE_BREAK.sub(r"\\n", text)


def print_json(outcome: RunOutcome, session_id: str, model: str, stream: TextIO) -> None:
    """Write an outcome as one line of JSON (see `outcome_document`).

    Raises:
        BrokenPipeError: the reader has gone.
    """
    print_document(outcome_document(outcome, session_id, model), stream)


def print_error_json(
    message: str, code: ExitCode, session_id: str, model: str, stream: TextIO
) -> None:
    """Write as an outcome that a request could not be asked at all.

    Raises:
        BrokenPipeError: the reader has gone.
    """
    outcome = RunOutcome("failed", answer=None, message=message)
    document = outcome_document(outcome, session_id, model)
    print_document({**document, "exit_code": int(code)}, stream)


def outcome_document(outcome: RunOutcome, session_id: str, model: str) -> JsonObject:
    """An outcome as JSON: answer, status, session, steps with plans and calls, usage, durations.

    `value` is the answer as a value, where it is one (see `value_of`). `answer` is null unless
    `status` is "done"; `message` then says why. Durations are seconds.
    A call that is `kept` was not sent: its result and seconds are those of a failed plan's call.
    Nor was one that is `refused`, for what its result says.
    Numbers that JSON lacks (NaN, infinities) stand as text, and so do integers of more digits
    than Python reads back (4,300), in hexadecimal.
    """
    usage: JsonObject = dict(dataclasses.asdict(outcome.usage))
    usage["by_model"] = {
        name: dict(dataclasses.asdict(used)) for name, used in outcome.usage_by_model.items()
    }
    return {
        "answer": outcome.answer,
        "value": None if outcome.answer is None else value_of(outcome.answer),
        "status": outcome.status,
        "message": outcome.message,
        "exit_code": int(outcome.exit_code),
        "session_id": session_id,
        "model": model,
        "steps": [_step(step) for step in outcome.steps],
        "usage": usage,
        "durations": {name: round(value, 6) for name, value in outcome.durations.items()},
    }


def value_of(answer: str) -> Json:
    """The number, list, object or truth value that an answer is; a text is its own value.

    JSON and Python's `True`, `False` and `None` count. Integers of more digits than Python reads
    back (4,300) and numbers that JSON lacks stay text.
    """
    if answer in _PYTHON_WORDS:
        return _PYTHON_WORDS[answer]
    try:
        return cast("Json", json.loads(answer, parse_constant=_refuse, parse_float=_finite))
    except (ValueError, RecursionError):
        return answer


def _refuse(word: str) -> Json:
    raise ValueError(word)


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(text)
    return value


def call_document(call: ToolCall) -> JsonObject:
    """A tool call as JSON; seconds to the microsecond."""
    return {
        "tool": call.tool,
        "arguments": json_safe(call.arguments),
        "ok": call.ok,
        "result": json_safe(call.result),
        "seconds": round(call.seconds, 6),
    }


def _step(step: Step) -> JsonObject:
    perception: JsonObject = step.perception.model_dump(mode="json")
    kind, text = _result(step.result)
    return {
        "step": step.number,
        "attempt": step.attempt,
        "perception": perception,
        "plan": step.plan.source,
        "repairs": list(step.repairs),
        "result": kind,
        "text": text,
        "calls": [
            {**call_document(call), "kept": call.kept, "refused": call.refused}
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
        case AskedBack(question):
            return "asked_back", question
        case PlanFailed(failure):
            return "failed", f"{failure.kind}: {failure}"
        case _:
            assert_never(result)

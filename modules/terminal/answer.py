"""Answers on stdout: bare text for scripts, a label for people, one JSON object with `--json`."""

import dataclasses
import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import date
from pathlib import Path
from typing import Final, Literal, TextIO, TypeAlias, assert_never, cast

from pydantic import BaseModel
from typing_extensions import TypedDict

from core.base.redaction import Redactor
from core.base.text import lazy_pattern
from core.errors import BudgetScope, ExitCode, Measure, SpentBudget
from core.run.execution import current_ids
from core.team.graph import GraphOutcome, SubtaskState
from core.turn import (
    ActionResult,
    AskedBack,
    FinalAnswer,
    FurtherProcessing,
    PerceptionResult,
    PlanFailed,
    RunOutcome,
    RunStatus,
    Step,
    ToolCall,
    Unanswered,
    Usage,
    Verdict,
)
from core.values import Json, JsonObject
from modules.terminal.streams import json_safe, print_document, printable, write

SCHEMA_VERSION: Final = 1
"""Of what `--json` and stream-json print: it grows when a field goes or changes its meaning."""

StepResult: TypeAlias = Literal[
    "final_answer", "further_processing", "asked_back", "no_answer", "failed"
]


class CallDocument(TypedDict):
    """A tool call.

    One that is `kept` was not sent: its result and seconds are those of a failed plan's call. Nor
    was one that is `refused`, for what its result says.
    """

    tool: str
    arguments: JsonObject
    ok: bool
    result: Json
    seconds: float
    kept: bool
    refused: bool


class StepEnd(TypedDict):
    """How a plan ended: in an answer, text for the next step, a question or a failure."""

    step: int
    attempt: int
    result: StepResult
    text: str
    seconds: float


class StepDocument(StepEnd):
    """One plan, what was repaired in it, and what came of it; `seconds` is wall time."""

    perception: PerceptionResult
    plan: str
    repairs: list[str]
    calls: list[CallDocument]


class UsageDocument(TypedDict):
    """Model use: tokens where the model counts them, and US dollars where its price is known."""

    model_calls: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cost: float
    unpriced_calls: int
    estimated_calls: int
    by_model: dict[str, Usage]


class SubtaskDocument(TypedDict):
    """How a part of a request ended; `after` are the ids of all parts that come before it.

    `role` is who did it, else who should have. `attempts` is 0 and `seconds` null of one that never
    began; `seconds` are those of the last attempt. `result` is null unless `state` is "completed";
    `reason` then says why.
    """

    id: str
    description: str
    role: str | None
    state: SubtaskState
    after: list[str]
    attempts: int
    seconds: float | None
    result: str | None
    reason: str | None


class GraphDocument(TypedDict):
    """How a request was answered in parts; `stopped` says why it ended early, empty if not."""

    goal: str
    stopped: str
    subtasks: list[SubtaskDocument]


class LimitDocument(TypedDict):
    """A budget, and what is spent of it; more is allowed with `key` in the profile.

    `day` is a user's day by this machine's calendar; `cost` is in US dollars, `calls` are tool
    calls, `seconds` those of runs.
    """

    scope: BudgetScope
    measure: Measure
    spent: float
    limit: float
    key: str


class BudgetDocument(LimitDocument):
    """The budget that ended a request; `is_before`: it was refused before its run began."""

    is_before: bool


class ResultDocument(TypedDict):
    """How a request ended; the one object of `--json`, and the last of stream-json.

    `value` is the answer as a value, where it is one. `answer` is null unless `status` is "done";
    `message` then says why, and `rejected_answer` is the last answer that did not fit the schema of
    `--json-schema`, or was judged to be incomplete. `verdict` is the last judgement, null where
    nobody judged. `grounded` is false of an answer that is from the model's own knowledge, and null
    without an answer. `exit_code` is what this request alone would have ended with.
    `model` is the one that wrote the last plan, of a chain the one that answered; it and
    `session_id` are empty where there was none. Logs and OpenTelemetry name the run by `trace_id`;
    it is empty where none began. Durations are seconds. `graph` is null where the request was not
    answered in parts; `steps` are those of all parts. `budget` is null unless it ended the request.
    """

    type: Literal["result"]
    schema: Literal[1]
    answer: str | None
    value: Json
    status: RunStatus
    verdict: Verdict | None
    message: str
    rejected_answer: str | None
    grounded: bool | None
    exit_code: int
    session_id: str
    trace_id: str
    model: str
    steps: list[StepDocument]
    graph: GraphDocument | None
    budget: BudgetDocument | None
    usage: UsageDocument
    durations: dict[str, float]


_PYTHON_WORDS: Mapping[str, Json] = {"True": True, "False": False, "None": None}

_ELEMENT_CHARACTERS: Final = 4
"""What quotes and commas of an element take."""

_LINE_BREAK = lazy_pattern(r"\r\n|\r|\n")


LABEL: Final = "💡 Final Answer:"

UNFINISHED_LABEL: Final = "💡 Unfinished Answer:"
"""Stands before what was written of an answer that a person has interrupted."""


def print_answer(
    answer: str, stream: TextIO, folders: Sequence[Path] = (), label: str = LABEL
) -> None:
    """Write an answer: labelled and laid out for a terminal, bare for a pipe or file.

    On a terminal it is taken for markdown, unless it is a value (see `value_of`), and nothing in
    it can drive the terminal. Sources are looked for in `folders`.

    Raises:
        BrokenPipeError: the reader has gone.
    """
    text = answer
    if stream.isatty():
        text = f"{label} {printable(answer)}"
        if isinstance(value_of(answer), str):
            from modules.terminal.display.page import page_text  # late: rich takes 0.06 s

            text = page_text(answer, stream, label, os.environ, folders) or text
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


def print_json(
    outcome: RunOutcome,
    session_id: str,
    model: str,
    stream: TextIO,
    redactor: Redactor | None = None,
) -> None:
    """Write an outcome as one line of JSON (see `ResultDocument`).

    `redactor` goes over all but the answer, in which a figure may look like a secret.

    Raises:
        BrokenPipeError: the reader has gone.
    """
    printed = plain_json(outcome_document(outcome, session_id, model))
    if redactor is not None and isinstance(printed, dict):
        answer: JsonObject = {"answer": printed["answer"], "value": printed["value"]}
        printed = redactor.object(printed) | answer
    print_document(printed, stream)


def print_error_json(
    message: str, code: ExitCode, session_id: str, model: str, stream: TextIO
) -> None:
    """Write as an outcome that a request could not be asked at all.

    Raises:
        BrokenPipeError: the reader has gone.
    """
    status = "interrupted" if code == ExitCode.INTERRUPTED else "failed"
    outcome = RunOutcome(status, answer=None, message=message, trace_id=current_ids()[0])
    document = outcome_document(outcome, session_id, model)
    document["exit_code"] = int(code)
    print_document(plain_json(document), stream)


def outcome_document(outcome: RunOutcome, session_id: str, model: str) -> ResultDocument:
    """An outcome as it is printed, once `plain_json` has made JSON of it."""
    used = outcome.usage
    return {
        "type": "result",
        "schema": SCHEMA_VERSION,
        "answer": outcome.answer,
        "value": None if outcome.answer is None else value_of(outcome.answer),
        "status": outcome.status,
        "verdict": outcome.verdict,
        "message": outcome.message,
        "rejected_answer": outcome.rejected_answer,
        "grounded": outcome.grounded,
        "exit_code": int(outcome.exit_code),
        "session_id": session_id,
        "trace_id": outcome.trace_id,
        "model": model,
        "steps": [step_document(step) for step in outcome.steps],
        "graph": None if outcome.graph is None else graph_document(outcome.graph),
        "budget": None if outcome.budget is None else budget_document(outcome.budget),
        "usage": {
            "model_calls": used.model_calls,
            "input_tokens": used.input_tokens,
            "output_tokens": used.output_tokens,
            "cached_tokens": used.cached_tokens,
            "cost": used.cost,
            "unpriced_calls": used.unpriced_calls,
            "estimated_calls": used.estimated_calls,
            "by_model": dict(outcome.usage_by_model),
        },
        "durations": {name: round(value, 6) for name, value in outcome.durations.items()},
    }


def budget_document(budget: SpentBudget) -> BudgetDocument:
    """A budget that is used up, as it is printed."""
    return {
        "scope": budget.scope,
        "measure": budget.measure,
        "spent": round(budget.spent, 6),
        "limit": budget.limit,
        "key": budget.key,
        "is_before": budget.is_before,
    }


def graph_document(outcome: GraphOutcome) -> GraphDocument:
    """How a graph ended, as it is printed."""
    return {
        "goal": outcome.graph.goal,
        "stopped": outcome.stopped,
        "subtasks": [
            {
                "id": subtask.id,
                "description": subtask.description,
                "role": outcome.roles.get(subtask.id, subtask.role),
                "state": outcome.states.get(subtask.id, "pending"),
                "after": [*subtask.dependencies],
                "attempts": outcome.attempts.get(subtask.id, 0),
                "seconds": _rounded(outcome.seconds.get(subtask.id)),
                "result": outcome.results.get(subtask.id),
                "reason": outcome.reasons.get(subtask.id),
            }
            for subtask in outcome.graph.subtasks
        ],
    }


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 6)


LEVELS_MAX: Final = 100
"""Deeper ones are left out where there is a `Room`: Python itself reads some hundreds."""


def plain_json(value: object, *, room: "Room | None" = None, level: int = 0) -> Json:
    """JSON of a value made of data classes, Pydantic's models, mappings, sequences, dates and JSON.

    Numbers that JSON lacks (NaN, infinities) stand as text, and so do integers of more digits
    than Python reads back (4,300), in hexadecimal. What `room` has no place for is left out: of
    texts the end, of lists and maps the last elements, and what is nested too deeply, with a "…" in
    their place. Fields of data classes are all there. `level` is how deep `value` itself is.
    """
    if room is not None and level > LEVELS_MAX:
        return "…"
    match value:
        case str():
            return value if room is None else room.text(value)
        case None | bool() | int() | float():
            return json_safe(value)
        case date():
            return value.isoformat()
        case BaseModel():
            return plain_json(value.model_dump(mode="json"), room=room, level=level)
        case Mapping():
            return _plain_object(cast("Mapping[str, object]", value), room, level + 1)
        case list() | tuple():
            return _plain_list(cast("Sequence[object]", value), room, level + 1)
        case _ if dataclasses.is_dataclass(value):
            named = ((field.name, getattr(value, field.name)) for field in fields(value))
            return {name: plain_json(each, room=room, level=level + 1) for name, each in named}
        case _:
            raise TypeError(f"no JSON can be made of {type(value).__name__}")


def _plain_object(value: Mapping[str, object], room: "Room | None", level: int) -> JsonObject:
    made: JsonObject = {}
    for name, each in value.items():
        if room is not None and not room.take(len(name)):
            made["…"] = f"{len(value) - len(made):,} more"
            break
        made[name] = plain_json(each, room=room, level=level)
    return made


def _plain_list(value: Sequence[object], room: "Room | None", level: int) -> list[Json]:
    made: list[Json] = []
    for each in value:
        if room is not None and not room.take(1):
            made.append(f"… {len(value) - len(made):,} more")
            break
        made.append(plain_json(each, room=room, level=level))
    return made


class Room:
    """How many characters a document may still take."""

    def __init__(self, characters: int) -> None:
        self._left = characters

    @property
    def left(self) -> int:
        """How many are left; below 0 where the last had not quite the room."""
        return self._left

    def take(self, characters: int) -> bool:
        """Whether anything is left for one more element, whose name has so many characters."""
        self._left -= characters + _ELEMENT_CHARACTERS
        return self._left > 0

    def text(self, text: str) -> str:
        """As much of the text as there is room for."""
        kept = text if len(text) <= self._left else f"{text[: max(self._left, 0)]}…"
        self._left -= len(kept)
        return kept


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


def call_document(call: ToolCall) -> CallDocument:
    """A tool call as it is printed; seconds to the microsecond."""
    return {
        "tool": call.tool,
        "arguments": call.arguments,
        "ok": call.ok,
        "result": call.result,
        "seconds": round(call.seconds, 6),
        "kept": call.kept,
        "refused": call.refused,
    }


def step_document(step: Step) -> StepDocument:
    """A step as it is printed."""
    return {
        **step_end(step),
        "perception": step.perception,
        "plan": step.plan.source,
        "repairs": list(step.repairs),
        "calls": [call_document(call) for call in step.result.calls],
    }


def step_end(step: Step) -> StepEnd:
    """What came of a step, without what events before it have told."""
    kind, text = result_told(step.result)
    return {
        "step": step.number,
        "attempt": step.attempt,
        "result": kind,
        "text": text,
        "seconds": round(step.seconds, 6),
    }


def result_told(result: ActionResult) -> tuple[StepResult, str]:
    """What kind of result it is, and its text."""
    match result:
        case FinalAnswer(text):
            return "final_answer", text
        case FurtherProcessing(text):
            return "further_processing", text
        case AskedBack(question):
            return "asked_back", question
        case Unanswered(why):
            return "no_answer", why
        case PlanFailed(failure):
            return "failed", f"{failure.kind}: {failure}"
        case _:
            assert_never(result)

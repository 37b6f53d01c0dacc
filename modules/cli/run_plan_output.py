"""What became of a plan that was run by hand: its exit code, its text, its JSON."""

from dataclasses import dataclass
from typing import Literal, TypeAlias, assert_never

from core.base.redaction import Redactor
from core.errors import ExitCode
from core.turn import (
    FINAL_ANSWER,
    FURTHER_PROCESSING,
    ActionResult,
    AskedBack,
    FinalAnswer,
    FurtherProcessing,
    PlanFailed,
    PlanFailure,
)
from core.values import Json, JsonObject
from modules.action import format_result
from modules.cli.result_output import shown_value
from modules.terminal.answer import call_document
from modules.terminal.printing import json_safe

Verdict: TypeAlias = Literal["final_answer", "further_processing", "asked_back", "value"]


@dataclass(frozen=True, slots=True)
class PlanReport:
    """A plan that has ended.

    `value` is what `solve()` returned, `printed` what it printed, `repairs` what was repaired
    before, `seconds` wall time from the check to the end. `is_world_down` says that a
    server of the plan did not start or did not answer.
    """

    result: ActionResult
    value: Json
    printed: str
    repairs: tuple[str, ...]
    seconds: float
    is_world_down: bool

    @property
    def verdict(self) -> Verdict | None:
        """What kind of answer it is; None if the plan failed or returned nothing.

        A value without a prefix is an answer to somebody who tries a plan out.
        """
        match self.result:
            case FinalAnswer():
                return "final_answer"
            case FurtherProcessing():
                return "further_processing"
            case AskedBack():
                return "asked_back"
            case PlanFailed(PlanFailure(kind="no_verdict")) if self._says_something():
                return "value"
            case PlanFailed():
                return None
            case _:
                assert_never(self.result)

    @property
    def answer(self) -> str | None:
        """What belongs on stdout."""
        match self.result:
            case FinalAnswer(text) | FurtherProcessing(text):
                return text
            case AskedBack(question):
                return question
            case PlanFailed():
                return shown_value(self.value) if self.verdict is not None else None
            case _:
                assert_never(self.result)

    @property
    def failure(self) -> PlanFailure | None:
        """Why there is no answer."""
        if isinstance(self.result, PlanFailed) and self.verdict is None:
            return self.result.failure
        return None

    @property
    def exit_code(self) -> ExitCode:
        """1 if a failed plan isn't to blame: a server that is down, a worker that died."""
        if (failure := self.failure) is None:
            return ExitCode.ANSWERED
        blameless = failure.kind == "crash" or (failure.kind == "tool" and self.is_world_down)
        return ExitCode.WORLD_FAILED if blameless else ExitCode.NO_ANSWER

    def _says_something(self) -> bool:
        """Whether there is a value that lacks nothing but a prefix."""
        if self.value is None:
            return False
        text = format_result(self.value).strip()
        return bool(text) and not text.startswith((FINAL_ANSWER, FURTHER_PROCESSING))


def failure_text(failure: PlanFailure, name: str) -> str:
    """Why the plan of that name failed, and the line where it did, with its number.

    Further lines of a message are indented: none may look like a line of ours.
    """
    message = failure.message.replace("\n", "\n  ")
    if failure.line is None:
        return f"{name}: the plan failed ({failure.kind}): {message}"
    told = f"{name}:{failure.line}: the plan failed ({failure.kind}): {message}"
    return f"{told}\n  {failure.line} | {failure.line_text or ''}".rstrip()


def plan_document(report: PlanReport, redactor: Redactor) -> JsonObject:
    """The report as JSON; numbers that JSON lacks stand as text, and no secret in the failure."""
    failure: JsonObject | None = None
    if (failed := report.failure) is not None:
        told: JsonObject = {"kind": failed.kind, "message": failed.message}
        failure = redactor.object(told | {"line": failed.line, "text": failed.line_text})
    return {
        "ok": report.exit_code == ExitCode.ANSWERED,
        "verdict": report.verdict,
        "answer": report.answer,
        "value": json_safe(report.value),
        "printed": report.printed,
        "calls": [call_document(call) for call in report.result.calls],
        "repairs": [*report.repairs],
        "failure": failure,
        "seconds": round(report.seconds, 6),
        "exit_code": int(report.exit_code),
    }

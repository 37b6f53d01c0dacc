"""Why a request has no answer, as a problem document (RFC 9457), by what the error is."""

from collections.abc import Mapping
from dataclasses import field
from typing import Final

from config.settings import SettingsError
from core.base.frozen import frozen
from core.errors import (
    BudgetSpent,
    CortexError,
    ModelUnavailable,
    SpentBudget,
    StorageError,
    UserError,
    WorldError,
)
from core.turn import RunOutcome
from core.values import Json, JsonObject
from modules.service.pool import Busy
from modules.terminal.answer import plain_json

PROBLEMS: Final[Mapping[str, tuple[int, str]]] = {
    "bad-request": (400, "The request can't be answered as it is"),
    "unauthorized": (401, "A token is needed"),
    "budget-spent": (402, "A budget is spent"),
    "forbidden": (403, "This is not allowed from here"),
    "not-found": (404, "There is no such thing"),
    "method-not-allowed": (405, "This can't be done with it"),
    "too-slow": (408, "The request did not come in time"),
    "conversation-busy": (409, "The conversation answers another request"),
    "conflict": (409, "It is there already"),
    "too-large": (413, "The request is too large"),
    "unsupported-media-type": (415, "The body is of another kind"),
    "too-many-requests": (429, "Too many requests are under way"),
    "no-answer": (422, "No answer was found"),
    "bug": (500, "A bug in Cortex-R"),
    "failed": (502, "Something that the answer needs failed"),
    "unavailable": (503, "The service is not available now"),
}
"""The kinds of problems, with the status of HTTP and a title each; docs/http.md explains them."""

RETRY_SECONDS: Final = 5
"""When to come again where nothing better is known."""


@frozen
class Problem:
    """One problem; `kind` is a key of PROBLEMS.

    Attributes:
        detail: what is wrong, and what to do next.
        retry_seconds: when to try again; None where that is no use.
        more: further members of the document.
    """

    kind: str
    detail: str
    retry_seconds: float | None = None
    more: Mapping[str, Json] = field(default_factory=dict[str, Json])

    @property
    def status(self) -> int:
        """The status of HTTP."""
        return PROBLEMS[self.kind][0]

    def document(self, trace_id: str = "") -> JsonObject:
        """The problem as JSON; `type` leads to its explanation."""
        told: JsonObject = {
            "type": f"/problems#{self.kind}",
            "title": PROBLEMS[self.kind][1],
            "status": self.status,
            "detail": self.detail,
            **self.more,
        }
        if self.retry_seconds is not None:
            told["retry_after"] = self.retry_seconds
        return told | ({"trace_id": trace_id} if trace_id else {})


def problem_of(error: Exception) -> Problem:
    """What an error is to who asked; of a bug of ours nothing is told but that it is one."""
    match error:
        case Busy():
            return Problem(error.problem, str(error), RETRY_SECONDS)
        case BudgetSpent():
            return _spent(str(error), error.budget)
        case UserError() | SettingsError():
            return Problem("bad-request", str(error))
        case ModelUnavailable():
            pause = error.retry_after_seconds or (RETRY_SECONDS if error.transient else None)
            return Problem("failed", str(error), pause)
        case StorageError() | WorldError() | CortexError():
            return Problem("failed", str(error))
        case _:
            return Problem("bug", "it is in the log of the service, under the trace id")


def problem_of_outcome(outcome: RunOutcome) -> Problem | None:
    """Why a run has no answer; None where it has one, or somebody ended it."""
    if outcome.budget is not None:
        return _spent(outcome.message, outcome.budget)
    match outcome.status:
        case "no_answer":
            return Problem("no-answer", outcome.message)
        case "failed":
            return Problem("failed", outcome.message)
        case _:
            return None


def _spent(detail: str, budget: SpentBudget | None) -> Problem:
    more = {} if budget is None else {"budget": plain_json(budget)}
    return Problem("budget-spent", detail, more=more)

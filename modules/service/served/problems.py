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


@frozen
class ProblemKind:
    """A kind of problem: its status of HTTP, a title, and what to know of it."""

    status: int
    title: str
    explanation: str


PROBLEMS: Final[Mapping[str, ProblemKind]] = {
    "bad-request": ProblemKind(
        400,
        "The request can't be answered as it is",
        "`detail` says what is wrong with the request.",
    ),
    "unauthorized": ProblemKind(
        401, "A token is needed", "Send `Authorization: Bearer TOKEN` with a token of the service."
    ),
    "budget-spent": ProblemKind(
        402, "A budget is spent", "`budget` says which one; `detail` says what allows more."
    ),
    "forbidden": ProblemKind(
        403,
        "This is not allowed from here",
        "The `Host`, `Origin` or `Sec-Fetch-Site` is none that the service answers, or the folder "
        "of documents is shared.",
    ),
    "not-found": ProblemKind(
        404, "There is no such thing", "Also for what belongs to another user."
    ),
    "method-not-allowed": ProblemKind(
        405, "This can't be done with it", "`Allow` names the methods that there are."
    ),
    "too-slow": ProblemKind(
        408, "The request did not come in time", "The body did not come in time."
    ),
    "conversation-busy": ProblemKind(
        409,
        "The conversation answers another request",
        "Wait for the end of its run, or cancel that.",
    ),
    "conflict": ProblemKind(
        409, "It is there already", "`detail` says how to replace what is there."
    ),
    "too-large": ProblemKind(
        413, "The request is too large", "`detail` says how much may be sent."
    ),
    "unsupported-media-type": ProblemKind(
        415, "The body is of another kind", "Bodies are `application/json`, except documents."
    ),
    "too-many-requests": ProblemKind(
        429,
        "Too many requests are under way",
        "`Retry-After` says in how many seconds to come again.",
    ),
    "no-answer": ProblemKind(
        422, "No answer was found", "Within a run only: its limits are spent, or its plans failed."
    ),
    "bug": ProblemKind(
        500,
        "A bug in Cortex-R",
        "`trace_id` finds it in the log of the service; nothing else is told.",
    ),
    "failed": ProblemKind(
        502,
        "Something that the answer needs failed",
        "Something outside failed: a model, a server of tools, the disk.",
    ),
    "unavailable": ProblemKind(
        503,
        "The service is not available now",
        "The service ends, or all agents are in use; see `Retry-After`.",
    ),
}
"""By the end of their `type`."""

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
        return PROBLEMS[self.kind].status

    def document(self, trace_id: str = "") -> JsonObject:
        """The problem as JSON; `type` leads to its explanation."""
        told: JsonObject = {
            "type": f"/problems#{self.kind}",
            "title": PROBLEMS[self.kind].title,
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
            return Problem("bug", "a bug of ours; the log of the service has it by the trace id")


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

"""How a request is refused over HTTP: a problem document as the answer, and its headers."""

from collections.abc import Mapping
from typing import Final

from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from core.base.redaction import Redactor
from core.base.text import one_line
from modules.service.served.problems import PROBLEMS, RETRY_SECONDS, Problem, problem_of
from modules.service.served.runs import NoSuchQuestion, NoSuchRun
from modules.service.wrong_fields import wrong_fields

PROBLEM_TYPE: Final = "application/problem+json"

DETAIL_CHARACTERS: Final = 2_000
"""How much a problem says; texts of others may be in it."""

_BY_STATUS: Final = {each.status: kind for kind, each in reversed([*PROBLEMS.items()])}
"""The kind for what starlette itself refuses."""

_TOLD: Final = {
    404: "there is nothing at this path; /openapi.json lists the paths",
    405: "this path takes other methods; see the header Allow",
}


class Refused(Exception):
    """Ends a request with a problem document."""

    def __init__(
        self,
        kind: str,
        detail: str,
        *,
        headers: Mapping[str, str] | None = None,
        retry_seconds: float | None = None,
    ) -> None:
        """`kind` is a key of PROBLEMS."""
        super().__init__(detail)
        self.problem = Problem(kind, detail, retry_seconds)
        self.headers = dict(headers or {})


def refusal_of(error: Exception) -> tuple[Problem, Mapping[str, str]]:
    """What an error is to who sent the request, and the headers that say more of it."""
    match error:
        case Refused():
            return error.problem, error.headers
        case HTTPException():
            kind = _BY_STATUS.get(error.status_code, "bad-request")
            told = _TOLD.get(error.status_code, error.detail)
            return Problem(kind, told), error.headers or {}
        case ValidationError():
            return Problem("bad-request", wrong_fields(error)), {}
        case NoSuchRun():
            return Problem("not-found", "you have no run of that id"), {}
        case NoSuchQuestion():
            return Problem("not-found", "no question of that id is open (any more)"), {}
        case _:
            return problem_of(error), {}


def problem_response(
    problem: Problem, headers: Mapping[str, str], redactor: Redactor, trace_id: str
) -> JSONResponse:
    """The answer that refuses; no secret is in it."""
    document = redactor.object(problem.document(trace_id))
    document["detail"] = one_line(str(document["detail"]), DETAIL_CHARACTERS)
    told = dict(headers)
    if problem.retry_seconds is not None or problem.status in (429, 503):
        told["Retry-After"] = str(max(1, round(problem.retry_seconds or RETRY_SECONDS)))
    return JSONResponse(document, problem.status, told, PROBLEM_TYPE)

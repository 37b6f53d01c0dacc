"""Errors as OpenAI's API tells them: `{"error": {"message", "type", "param", "code"}}`.

The rest of the service tells problem documents (RFC 9457), which OpenAI's clients would not read.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from starlette.responses import Response

from core.base.redaction import Redactor
from core.values import JsonObject
from modules.service.http.problems import Refused
from modules.service.served.problems import Problem

NO_RETRY: Final = {"x-should-retry": "false"}
"""Told to OpenAI's own clients: they would send a request again that failed by 429 or 5xx, and with
it all that a run has done to the world."""

_TYPES: Final[Mapping[str, str]] = {
    "unauthorized": "authentication_error",
    "forbidden": "permission_error",
    "not-found": "not_found_error",
    "budget-spent": "rate_limit_error",
    "too-many-requests": "rate_limit_error",
}
_CODES: Final[Mapping[str, str]] = {
    "unauthorized": "invalid_api_key",
    "budget-spent": "insufficient_quota",
    "not-found": "unknown_url",
    "too-large": "request_too_large",
    "too-many-requests": "rate_limit_exceeded",
    "unavailable": "service_unavailable",
}
"""Both by the kind of problem, where OpenAI has another word for it."""


class Unfit(Refused):
    """A request that can't be answered; `param` is the part of the body that is wrong."""

    def __init__(
        self,
        detail: str,
        param: str | None = None,
        code: str | None = None,
        kind: str = "bad-request",
    ) -> None:
        """`detail` says what to do next; `kind` is a key of PROBLEMS."""
        super().__init__(kind, detail)
        self.problem = replace(self.problem, more={"param": param, "code": code})


def error_document(problem: Problem, redactor: Redactor) -> JsonObject:
    """What the body of the error says."""
    usual = "server_error" if problem.status >= 500 else "invalid_request_error"
    code = None if problem.kind == "bad-request" else problem.kind.replace("-", "_")
    error: JsonObject = {
        "message": problem.detail,
        "type": _TYPES.get(problem.kind, usual),
        "param": problem.more.get("param"),
        "code": problem.more.get("code") or _CODES.get(problem.kind, code),
    }
    return redactor.object({"error": error})


def error_response(problem: Problem, redactor: Redactor) -> Response:
    """The error as an answer of HTTP; what never began may be tried again."""
    headers = NO_RETRY
    if problem.kind in ("unavailable", "too-many-requests") and not problem.more:
        pause = problem.retry_seconds
        headers = {} if pause is None else {"retry-after": str(math.ceil(pause))}
    status = 429 if problem.kind == "budget-spent" else problem.status  # so OpenAI says it
    return json_response(error_document(problem, redactor), status, headers)


def json_response(
    value: JsonObject, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """An answer in ASCII, so that it can hold any text that JSON can."""
    return Response(json.dumps(value), status, headers, media_type="application/json")

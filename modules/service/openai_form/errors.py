"""Errors as OpenAI's API tells them: `{"error": {"message", "type", "param", "code"}}`.

The rest of the service tells problem documents (RFC 9457), which OpenAI's clients would not read.
"""

import json
import math
from collections.abc import Mapping
from typing import Final

from starlette.responses import Response

from core.base.json_text import JsonObject
from modules.service.served.problems import Problem

PREFIX: Final = "/v1"
"""What lies below it is in OpenAI's form."""

NO_RETRY: Final = {"x-should-retry": "false"}
"""Told to OpenAI's own clients: they would send a request again that failed by 429 or 5xx, and with
it all that a run has done to the world."""

_TYPES: Final[Mapping[int, str]] = {
    401: "authentication_error",
    402: "insufficient_quota",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}
_CODES: Final[Mapping[int, str]] = {
    401: "invalid_api_key",
    402: "insufficient_quota",
    413: "request_too_large",
    429: "rate_limit_exceeded",
    503: "service_unavailable",
}


class Refused(Exception):
    """A request that gets an error in place of an answer.

    Attributes:
        status: that of HTTP.
        param: the part of the body that is wrong.
        code: what is wrong, for programs.
        headers: sent with the error.
    """

    def __init__(
        self,
        status: int,
        message: str,
        param: str | None = None,
        code: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """`message` says what to do next."""
        super().__init__(message)
        self.status, self.param, self.code = status, param, code or _CODES.get(status)
        self.headers = dict(headers or {})

    @property
    def document(self) -> JsonObject:
        """What the body of the error says."""
        usual = "server_error" if self.status >= 500 else "invalid_request_error"
        kind = _TYPES.get(self.status, usual)
        told: JsonObject = {"message": str(self), "type": kind, "param": self.param}
        return {"error": {**told, "code": self.code}}

    @property
    def response(self) -> Response:
        """The error as an answer of HTTP."""
        return json_response(self.document, self.status, self.headers)


def stopped() -> Refused:
    """Somebody else ended the run: the service ends, say."""
    return Refused(503, "the run was stopped; ask again", code="interrupted", headers=NO_RETRY)


def refused_for(problem: Problem) -> Refused:
    """What the rest of the service tells as a problem, in this form.

    What never began may be tried again.
    """
    pause, headers = problem.retry_seconds, dict(NO_RETRY)
    if problem.kind in ("unavailable", "too-many-requests"):
        headers = {} if pause is None else {"retry-after": str(math.ceil(pause))}
    status = {402: 429}.get(problem.status, problem.status)  # so OpenAI says it
    code = _CODES.get(problem.status, problem.kind.replace("-", "_"))
    code = "unknown_url" if problem.kind == "not-found" else code
    return Refused(status, problem.detail, code=code, headers=headers)


def problem_refused(problem: Problem) -> Response:
    """What the guard of the service refuses, in this form."""
    return refused_for(problem).response


def json_response(
    value: JsonObject, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """An answer that no cache keeps; in ASCII, so that it can hold any text that JSON can."""
    sent = {"cache-control": "no-store", **(headers or {})}
    return Response(json.dumps(value), status, sent, media_type="application/json")

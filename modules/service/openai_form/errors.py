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

NO_RETRY: Final = {"x-should-retry": "false"}
"""Told to OpenAI's own clients: they would send a request again that failed by 429 or 5xx, and with
it all that a run has done to the world."""

_TYPES: Final[Mapping[int, str]] = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}
_CODES: Final[Mapping[str, str]] = {
    "unauthorized": "invalid_api_key",
    "budget-spent": "insufficient_quota",
    "not-found": "unknown_url",
    "too-large": "request_too_large",
    "too-many-requests": "rate_limit_exceeded",
    "unavailable": "service_unavailable",
}
"""By the kind of problem, where OpenAI has another word for it."""


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
        self.status, self.param, self.code = status, param, code
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


def refused_for(problem: Problem) -> Refused:
    """What the rest of the service tells as a problem, in this form.

    What never began may be tried again.
    """
    pause, headers = problem.retry_seconds, NO_RETRY
    if problem.kind in ("unavailable", "too-many-requests"):
        headers = {} if pause is None else {"retry-after": str(math.ceil(pause))}
    status = 429 if problem.status == 402 else problem.status  # so OpenAI says it
    code = _CODES.get(problem.kind, problem.kind.replace("-", "_"))
    return Refused(status, problem.detail, code=code, headers=headers)


def json_response(
    value: JsonObject, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """An answer in ASCII, so that it can hold any text that JSON can."""
    return Response(json.dumps(value), status, headers, media_type="application/json")

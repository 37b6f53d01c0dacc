"""Errors as OpenAI's API tells them: `{"error": {"message", "type", "param", "code"}}`.

What stands in front of the routes (tokens, sizes, limits) tells problem documents (RFC 9457), as
the rest of the service does. Under `/v1` clients would not read them: they are put into this form.
"""

import json
import math
from collections.abc import Mapping
from typing import Final, cast

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from core.base.json_text import Json, JsonObject
from modules.service.problems import Problem

PREFIX: Final = "/v1"
"""Paths below it are in OpenAI's form."""

NO_RETRY: Final = {"x-should-retry": "false"}
"""Told to OpenAI's own clients: they would send a request again that failed by 429 or 5xx, and with
it all that a run has done to the world."""

PROBLEM: Final = b"application/problem+json"
PROBLEM_BYTES_MAX: Final = 64 * 1024

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
    return Refused(status, problem.detail, code=code, headers=headers)


def json_response(
    value: JsonObject, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """An answer that no cache keeps; in ASCII, so that it can hold any text that JSON can."""
    sent = {"cache-control": "no-store", **(headers or {})}
    return Response(json.dumps(value), status, sent, media_type="application/json")


class OpenAIErrors:
    """ASGI middleware: problem documents under `/v1` become errors in OpenAI's form.

    It stands outside of all that may refuse a request.
    """

    def __init__(self, app: ASGIApp) -> None:
        """Wrap `app`."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand on what is no error, and what is not below `/v1`."""
        path = str(scope.get("path", ""))
        if scope["type"] != "http" or not (path == PREFIX or path.startswith(f"{PREFIX}/")):
            await self._app(scope, receive, send)
            return
        await self._app(scope, receive, _Translation(send))


class _Translation:
    """Sends what an application sends; of a problem document, once it is whole, its translation."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._start: Message | None = None
        self._body = b""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _is_problem(message):
            self._start = message
        elif self._start is None or message["type"] != "http.response.body":
            await self._send(message)
        else:
            self._body += cast("bytes", message.get("body", b""))[:PROBLEM_BYTES_MAX]
            if not message.get("more_body"):
                await self._send_translated(self._start)

    async def _send_translated(self, start: Message) -> None:
        status = cast("int", start["status"])
        refused = Refused(status, _told(self._body) or f"the request failed with status {status}")
        body = json.dumps(refused.document).encode()
        changed = {b"content-type": b"application/json", b"content-length": b"%d" % len(body)}
        kept = [(name, value) for name, value in _headers(start) if name.lower() not in changed]
        await self._send({**start, "headers": [*kept, *changed.items()]})
        await self._send({"type": "http.response.body", "body": body})


def _headers(start: Message) -> list[tuple[bytes, bytes]]:
    return list(cast("list[tuple[bytes, bytes]]", start.get("headers", [])))


def _is_problem(start: Message) -> bool:
    return any(
        name.lower() == b"content-type" and value.startswith(PROBLEM)
        for name, value in _headers(start)
    )


def _told(body: bytes) -> str:
    """What a problem document says to people."""
    try:
        problem: Json = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    match problem:
        case {"detail": str(detail)} if detail:
            return detail
        case {"title": str(title)}:
            return title
        case _:
            return ""

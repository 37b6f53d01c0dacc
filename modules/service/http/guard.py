"""What every request passes before an endpoint sees it, and every answer behind it.

A page of a foreign site must not reach a service on loopback: the `Host` has to be one of ours,
which ends DNS rebinding, and so has the `Origin`. Then the token counts. Bodies are bounded in size
and in the time that they may take. What goes wrong becomes a problem document.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import field
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from core.base.frozen import frozen
from core.base.http import is_loopback
from core.base.redaction import Redactor
from core.base.text import size_text
from core.run.execution import ExecutionContext, begin, working
from modules.service.http.problems import Refused, problem_response, refusal_of
from modules.service.http.tokens import Tokens
from modules.service.pool import DEFAULT_PROFILE, User
from modules.service.served.problems import Problem

log = logging.getLogger(__name__)

BODY_BYTES_MAX: Final = 4 * 1024 * 1024
"""A longer body is refused; texts beside a message count."""

DOCUMENT_BYTES_MAX: Final = 100 * 1024 * 1024
"""As `documents.file_bytes` of a profile has it: a larger file would not be indexed."""

DOCUMENTS: Final = "/documents/"
"""Where files are put."""

BODY_SECONDS: Final = 30.0
BODY_BYTES_A_SECOND: Final = 64 * 1024

LINGER_SECONDS: Final = 2.0
"""So long what a refused client still sends is read, and thrown away."""

OPEN_PATHS: Final = frozenset({"/", "/health", "/problems"})
"""What anybody may see: a page without data, whether the service is up, what problems mean."""

PREFLIGHT_SECONDS: Final = 600
"""So long a browser remembers what an allowed origin may do."""

ALLOWED_HEADERS: Final = (
    "authorization, content-type, last-event-id, traceparent, tracestate, mcp-session-id, "
    "mcp-protocol-version"
)
EXPOSED_HEADERS: Final = "x-run-id, traceparent, retry-after, mcp-session-id"

SAFE_HEADERS: Final = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "x-frame-options": "DENY",
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
}
"""On every answer that does not say otherwise itself, as the page does."""

_USER: Final = "cortex.user"
_EXECUTION: Final = "cortex.execution"


@frozen
class GuardSetting:
    """Who may come: by token, by the names that the service has, and from which other sites.

    Attributes:
        tokens: the tokens that there are.
        redactor: takes secrets out of problems.
        hosts: names of this service beside those of loopback, in small letters.
        origins: of other sites that may use it, such as `https://chat.example`.
        body_seconds: so long a body may take, and a second more for each `BODY_BYTES_A_SECOND`.
        refusals: how problems are told below these paths, where another protocol has its own form.
        bodies: how many bytes a body may have below these paths, in place of `BODY_BYTES_MAX`.
    """

    tokens: Tokens
    redactor: Redactor
    hosts: frozenset[str] = frozenset()
    origins: frozenset[str] = frozenset()
    body_seconds: float = BODY_SECONDS
    refusals: Mapping[str, Callable[[Problem], Response]] = field(
        default_factory=dict[str, Callable[[Problem], Response]]
    )
    bodies: Mapping[str, int] = field(default_factory=dict[str, int])


def user_of(request: Request) -> User:
    """Whose request it is."""
    user: User = request.scope[_USER]
    return user


def profile_of(request: Request, named: str | None = None) -> str:
    """The profile that a request means: `?profile=`, else the usual one of the user's."""
    named = named or request.query_params.get("profile")
    profiles = user_of(request).profiles
    usual = DEFAULT_PROFILE
    if profiles is not None and usual not in profiles:
        usual = profiles[0]
    return named or usual


def execution_of(request: Request) -> ExecutionContext:
    """The trace that the request belongs to."""
    execution: ExecutionContext = request.scope[_EXECUTION]
    return execution


class Guard:
    """An ASGI application around that of the endpoints."""

    def __init__(
        self, app: ASGIApp, setting: GuardSetting, on_answer: Callable[[str, int], None]
    ) -> None:
        """`on_answer` hears the method and the status of every answer."""
        self._app = app
        self._setting = setting
        self._on_answer = on_answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        headers = Headers(scope=scope)
        execution = begin(headers.get("traceparent"), headers.get("tracestate"))
        answer = _Answer(scope, send, self._on_answer)
        answer.headers["traceparent"] = execution.traceparent
        body = _Body(scope, headers, receive, self._setting)
        answer.body = body
        with working(execution):
            try:
                origin = self._checked_origin(scope, headers)
                answer.headers |= {} if origin is None else _cors(origin)
                if origin is not None and _is_preflight(scope, headers):
                    await Response(None, 204, _preflight())(scope, body, answer)
                    return
                user = self._setting.tokens.user_of(headers.get("authorization"))
                if user is None and scope["path"] not in OPEN_PATHS:
                    told = "send a token of this service: Authorization: Bearer TOKEN"
                    raise Refused("unauthorized", told, headers={"WWW-Authenticate": "Bearer"})
                body.check()
                scope[_USER], scope[_EXECUTION] = user, execution
                scope["app"] = self  # so that starlette raises what it refuses
                await self._app(scope, body, answer)
            except ClientDisconnect:
                return
            except asyncio.CancelledError:  # by uvicorn at its end, which would answer 500
                if not answer.is_begun:
                    ends = Refused("unavailable", "the service ends; try again in a while")
                    refusal = self._refusal(ends, scope["path"], execution.trace_id)
                    await refusal(scope, body, answer)
                raise
            except Exception as error:
                refusal = self._refusal(error, scope["path"], execution.trace_id)
                if answer.is_begun:
                    raise  # so that the connection ends, as the answer is not whole
                await _refuse(refusal, scope, body, answer)

    def _refusal(self, error: Exception, path: str, trace_id: str) -> Response:
        problem, headers = refusal_of(error)
        if problem.kind == "bug":
            log.error("a request failed by a bug of ours", exc_info=error)
        for below, form in self._setting.refusals.items():
            if path.startswith(below):
                refusal = form(problem)
                refusal.headers.update(headers)
                return refusal
        return problem_response(problem, headers, self._setting.redactor, trace_id)

    def _checked_origin(self, scope: Scope, headers: Headers) -> str | None:
        """The origin of another site that may use the service; None for our own, and programs.

        Raises:
            Refused: the host is none of ours, or the site may not.
        """
        given = headers.get("host", "")
        if not self._is_ours(given, scope):
            told = "this service is not known by that Host; --allow-host NAME adds one"
            raise Refused("forbidden", told)
        origin = headers.get("origin")
        if origin is not None and origin in self._setting.origins:
            return origin
        if origin is not None and urlsplit(origin).netloc.lower() != given.lower():
            told = "requests from that Origin are not taken; --allow-origin ORIGIN lets it in"
            raise Refused("forbidden", told)
        site = headers.get("sec-fetch-site", "none")
        if site in ("same-origin", "none") or _is_visit(scope, headers):
            return None
        raise Refused("forbidden", "requests from pages of other sites are not taken")

    def _is_ours(self, given: str, scope: Scope) -> bool:
        """Whether a Host names this service; a plain address can't have been rebound."""
        try:
            name = (urlsplit(f"//{given}").hostname or "").removesuffix(".")
        except ValueError:
            return False
        server = scope.get("server")
        is_own = server is not None and name == server[0]
        return bool(name) and (is_own or is_loopback(name) or name in self._setting.hosts)


class _Body:
    """Receives a request's body within its bounds; behind it, what comes of the connection."""

    def __init__(
        self, scope: Scope, headers: Headers, receive: Receive, setting: GuardSetting
    ) -> None:
        path: str = scope["path"]
        is_document = scope["method"] == "PUT" and path.startswith(DOCUMENTS)
        usual = DOCUMENT_BYTES_MAX if is_document else BODY_BYTES_MAX
        given = (most for below, most in setting.bodies.items() if path.startswith(below))
        self._most = next(given, usual)
        self._declared = headers.get("content-length", "")
        self._receive = receive
        self._size = 0
        now = asyncio.get_running_loop().time()
        self._until = now + setting.body_seconds
        self.is_whole = not self._declared.strip("0") and "transfer-encoding" not in headers

    def check(self) -> None:
        """Refuse a body that says itself that it is too long.

        Raises:
            Refused: it does.
        """
        if self._declared.isdigit() and int(self._declared[:20]) > self._most:
            raise self._too_large()

    async def __call__(self) -> Message:
        if self.is_whole:
            return await self._receive()
        until = self._until + self._size / BODY_BYTES_A_SECOND
        try:
            async with asyncio.timeout_at(until):
                message = await self._receive()
        except TimeoutError:
            raise Refused("too-slow", "the body did not come in time") from None
        if message["type"] == "http.request":
            self._size += len(message.get("body", b""))
            self.is_whole = not message.get("more_body", False)
            if self._size > self._most:
                raise self._too_large()
        return message

    async def linger(self) -> None:
        """Read on for a while, for nothing: a client that still sends would miss the answer.

        Closing a connection with unread data in it resets it, and what was sent is lost.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(LINGER_SECONDS):
                more = True
                while more:
                    message = await self._receive()
                    more = message["type"] == "http.request" and message.get("more_body", False)

    def _too_large(self) -> Refused:
        return Refused("too-large", f"at most {size_text(self._most)} may be sent here")


class _Answer:
    """Sends an answer with the headers that every answer has."""

    def __init__(self, scope: Scope, send: Send, on_answer: Callable[[str, int], None]) -> None:
        self._method: str = scope["method"]
        self._send = send
        self._on_answer = on_answer
        self.headers: dict[str, str] = {}
        self.body: _Body | None = None
        self.is_begun = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.is_begun = True
            headers = MutableHeaders(raw=message["headers"])
            for name, value in (SAFE_HEADERS | self.headers).items():
                headers.setdefault(name, value)
            if self.body is not None and not self.body.is_whole:
                headers["connection"] = "close"  # what is left of the body is nobody's request
            message = {**message, "headers": headers.raw}
            self._on_answer(self._method, message["status"])
        await self._send(message)


async def _refuse(refusal: Response, scope: Scope, body: _Body, answer: _Answer) -> None:
    """Send a refusal so that it arrives, also where the client has not yet sent its whole body."""
    if body.is_whole:
        await refusal(scope, body, answer)
        return
    head = {"status": refusal.status_code, "headers": refusal.raw_headers}
    await answer({"type": "http.response.start", **head})
    await answer({"type": "http.response.body", "body": refusal.body, "more_body": True})
    await body.linger()
    await answer({"type": "http.response.body", "body": b"", "more_body": False})


def _is_visit(scope: Scope, headers: Headers) -> bool:
    """Whether somebody follows a link to the page, which shows nothing that the link could steer.

    An answer to it can't be read by the site that has the link.
    """
    mode = headers.get("sec-fetch-mode")
    return scope["path"] == "/" and scope["method"] == "GET" and mode == "navigate"


def _is_preflight(scope: Scope, headers: Headers) -> bool:
    return scope["method"] == "OPTIONS" and "access-control-request-method" in headers


def _cors(origin: str) -> dict[str, str]:
    return {
        "access-control-allow-origin": origin,
        "access-control-expose-headers": EXPOSED_HEADERS,
        "cross-origin-resource-policy": "cross-origin",
        "vary": "Origin",
    }


def _preflight() -> dict[str, str]:
    return {
        "access-control-allow-methods": "GET, POST, PUT, DELETE",
        "access-control-allow-headers": ALLOWED_HEADERS,
        "access-control-max-age": str(PREFLIGHT_SECONDS),
    }

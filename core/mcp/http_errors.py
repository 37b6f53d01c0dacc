"""What can go wrong with one HTTP request to an MCP server, in words for the user.

Every text is the end of a sentence that begins with the server, and says what to do where that is
known. What the server wrote is quoted in one short line, without characters that drive a terminal
and without the values of our own headers and of the address, which a server may echo.
"""

import json
import re
import socket
import ssl
from http import HTTPStatus
from urllib.parse import parse_qsl, urlsplit

import httpx2

from config.servers import ServerSpec
from core.base.causes import causes
from core.base.http import may_pass, status_text
from core.base.redaction import Redactor
from core.base.text import one_line
from core.values import Json

QUOTE_CHARACTERS_MAX = 200
"""How much of a server's text an error quotes."""

CONNECT_SECONDS = 10.0
"""How long a connection may take, with its TLS handshake."""

WRITE_SECONDS = 60.0
"""How long the server may take no byte of a request."""

CONNECTIONS_MAX = 100
"""More than `core.mcp.http` ever asks for at once, so that nothing waits for a connection."""

_REFUSING = (401, 403, 404, 405, 429)
"""Statuses that a request gets before anything is done about it."""

_UNCONNECTED = (
    httpx2.ConnectTimeout,
    httpx2.ConnectError,
    httpx2.ProxyError,
    httpx2.PoolTimeout,
)
"""What the HTTP stack raises before a byte of the request was sent."""

_HTML = re.compile(rb"\A\s*(?:<!doctype\s+html|<html)\b", re.IGNORECASE)


class HttpFault(Exception):
    """One request failed; the text is the end of a sentence that begins with the server.

    `status` is the HTTP status that said so, `body` the beginning of what came with it. `was_taken`
    is false where the server certainly did nothing about the request. `may_pass` says whether the
    same request may succeed a little later: the network failed, the stream was cut, or the server
    is overloaded or restarting.
    """

    def __init__(
        self,
        text: str,
        status: int | None = None,
        body: bytes = b"",
        *,
        was_taken: bool = True,
        may_pass: bool = False,
    ) -> None:
        """Keep what a caller may judge the failure by beside the text."""
        super().__init__(text)
        self.status = status
        self.body = body
        self.was_taken = was_taken and status not in _REFUSING
        self.may_pass = may_pass


class SessionExpired(HttpFault):
    """The server does not know our session any more (HTTP 404 to a request with a session id)."""


class FaultWriter:
    """Words the faults of one server."""

    def __init__(self, spec: ServerSpec) -> None:
        """Learn where the server's entry stands, and what must never be quoted."""
        self._origin = spec.origin
        self._has_token = any(name.lower() == "authorization" for name in spec.headers)
        words = {word for value in spec.headers.values() for word in (value, *value.split())}
        words |= {value for _, value in parse_qsl(_query(spec.url))} | spec.secrets
        self._redactor = Redactor({}, words)

    def status(
        self,
        status: int,
        body: bytes,
        wait_seconds: float | None = None,
        *,
        resumes: bool = False,
    ) -> HttpFault:
        """A status that is no success; `wait_seconds` is the server's Retry-After.

        `resumes` where the request asked for the rest of a stream that was cut: then the address
        has proved right.
        """
        parts = [f"answered {status_text(status)}"]
        is_about_address = status in (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED)
        if resumes and is_about_address:
            parts.append("it keeps nothing of a stream that was cut")
        elif (hint := self._hint(status)) is not None:
            parts.append(hint)
        if wait_seconds is not None:
            parts.append(f"it asks to be left alone for {wait_seconds:g} s")
        if (said := self.quote(body)) is not None:
            parts.append(f"it says {said}")
        text = parts[0] + (": " if parts[1:] else "") + "; ".join(parts[1:])
        return HttpFault(text, status, body, may_pass=may_pass(status))

    def redirect(
        self, status: int, target: httpx2.URL | None, *, is_same_origin: bool
    ) -> HttpFault:
        """A redirect that is not followed.

        Our headers may hold a token meant for one server; and within it, a redirect of this
        status lets clients turn a message into a GET without its content.
        """
        where = ""
        if target is not None:  # without what may hold secrets
            address = f"{target.scheme}://{target.netloc.decode()}{target.path}"
            where = f" to {self.one_line(address)}"
        why = "headers don't follow to another place"
        if is_same_origin:
            why = "a message can't follow a redirect of this kind, which asks for its page only"
        return HttpFault(
            f"answered {status_text(status)}: it points{where}, and {why}; "
            f"if that is the server you mean, set it as {self.key('url')}",
            status,
        )

    def circle(self, status: int, redirects: int) -> HttpFault:
        """One redirect too many."""
        return HttpFault(
            f"answered {status_text(status)}: it redirects over and over, {redirects} times were "
            f"followed; check {self.key('url')}",
            status,
        )

    def content(self, media_type: str, body: bytes) -> HttpFault:
        """A success that holds neither JSON nor an event stream."""
        kind = self.one_line(media_type) if media_type else "no content type"
        said = f": {said}" if (said := self.quote(body)) is not None else ""
        return HttpFault(
            f"answered with {kind} where JSON or an event stream belongs{said}; "
            f"check {self.key('url')}",
            HTTPStatus.OK,
            body,
        )

    def key(self, name: str) -> str:
        """A key of the server's entry, and where that stands."""
        return f"'{name}' {self._origin}"

    def quote(self, body: bytes) -> str | None:
        """What the server wrote, in quotes; None where it wrote nothing."""
        if _HTML.match(body):
            return "(an HTML page)"
        text = self.one_line(_error_message(body) or body.decode("utf-8", "replace"))
        return f"'{text}'" if text else None

    def one_line(self, text: str, characters_max: int = QUOTE_CHARACTERS_MAX) -> str:
        """Text of a server as one printable line, cut to a length, without our secrets."""
        return one_line(self._redactor.text(text), characters_max)

    def _hint(self, status: int) -> str | None:
        headers, check_url = self.key("headers"), f"at this address, check {self.key('url')}"
        to_do = "it does not accept the" if self._has_token else "set a"
        hints: dict[int, str] = {
            HTTPStatus.UNAUTHORIZED: f"{to_do} token in {headers}",
            HTTPStatus.FORBIDDEN: f"what {headers} say does not permit this",
            HTTPStatus.NOT_FOUND: f"there is no MCP endpoint {check_url}",
            HTTPStatus.METHOD_NOT_ALLOWED: f"nothing takes MCP messages {check_url}",
        }
        return hints.get(status)


def connect_fault(error: Exception, address: httpx2.URL, faults: FaultWriter) -> HttpFault:
    """The fault of a request that got no response at all, from what the HTTP stack raised.

    Its texts are not passed on: some quote headers.
    """
    place = f"{address.host}:{origin(address)[2]}"
    url = faults.key("url")
    behind = list(causes(error))
    if isinstance(error, httpx2.ConnectTimeout):
        text = f"can't be reached: no connection to {place} within {CONNECT_SECONDS:g} s"
    elif isinstance(error, httpx2.ProxyError):
        text = "can't be reached: the proxy of the environment (HTTPS_PROXY) refuses"
    elif isinstance(error, httpx2.ConnectError):
        text = _connect_text(behind, place, address.host, url)
    elif isinstance(error, httpx2.PoolTimeout):
        text = f"keeps all of our {CONNECTIONS_MAX} connections busy"
    elif isinstance(error, httpx2.WriteTimeout):
        text = f"took nothing of a request for {WRITE_SECONDS:g} s"
    elif isinstance(error, httpx2.LocalProtocolError):
        return HttpFault("can't be sent this: HTTP does not allow it in a header", was_taken=False)
    else:
        text = f"closed the connection without an HTTP answer; check {url}"
    if any(isinstance(cause, ssl.SSLCertVerificationError) for cause in behind):
        return HttpFault(text, was_taken=False)
    return HttpFault(text, was_taken=not isinstance(error, _UNCONNECTED), may_pass=True)


def origin(url: httpx2.URL) -> tuple[str, str, int]:
    """Scheme, host and port: headers go to no other (RFC 6454)."""
    return url.scheme, url.host, url.port or {"http": 80, "https": 443}.get(url.scheme, 0)


def _connect_text(behind: list[BaseException], place: str, host: str, url: str) -> str:
    for cause in behind:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"can't be trusted: its certificate is refused ({cause.verify_message})"
        if isinstance(cause, ssl.SSLError):
            return f"can't be reached: {place} does not speak TLS as it should; check {url}"
        if isinstance(cause, socket.gaierror):
            return f"can't be reached: there is no host '{host}'; check {url} and the network"
        if isinstance(cause, ConnectionRefusedError):
            return f"can't be reached: nothing listens at {place}; start it, or check {url}"
    reasons = [cause.strerror for cause in behind if isinstance(cause, OSError) and cause.strerror]
    return f"can't be reached at {place}" + (f" ({reasons[-1]})" if reasons else "")


def _query(url: str | None) -> str:
    try:
        return urlsplit(url or "").query
    except ValueError:  # no address at all, which is told elsewhere
        return ""


def _error_message(body: bytes) -> str | None:
    """The message of a JSON-RPC error, or of the like that web frameworks answer."""
    try:
        value: Json = json.loads(body)
    except (ValueError, RecursionError):
        return None
    match value:
        case {"error": {"message": str() as text}}:
            return text
        case {"error_description": str() as text} | {"detail": str() as text}:
            return text
        case {"error": str() as text} | {"message": str() as text}:
            return text
        case _:
            return None

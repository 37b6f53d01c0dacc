"""One HTTP client for one MCP server: its address, headers, redirects, waits.

Follows MCP 2025-11-25, "Transports", Streamable HTTP, for what concerns one request; what the
messages mean is for `core.mcp.http`. What fails is an `HttpFault`.
"""

import asyncio
import re
import ssl
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager, suppress
from http import HTTPStatus
from typing import Literal, Self, TypeAlias

import httpx2

from config.servers import ServerSpec
from core.base.http import PAUSE_STATUSES, acknowledge_at_once, is_loopback, retry_after_seconds
from core.mcp.http_errors import (
    CONNECT_SECONDS,
    CONNECTIONS_MAX,
    WRITE_SECONDS,
    FaultWriter,
    HttpFault,
    SessionExpired,
    connect_fault,
    origin,
)
from core.mcp.peer import TransportDown
from core.version import __version__

KEEPALIVE_SECONDS = 4.0
"""How long a connection is kept idle: less than the five seconds after which Node's and uvicorn's
servers close theirs, so that no call goes out on one that is being closed."""

REDIRECTS_MAX = 3
"""So many redirects within one origin are followed for one request."""

RETRY_AFTER_SECONDS_MAX = 5.0
"""A server that asks for a longer pause gets an error instead of a second try."""

ERROR_BODY_BYTES_MAX = 16 * 1024
"""How much of an error's body is read."""

ERROR_BODY_SECONDS = 1.0
"""How long an error's body may take to come."""

LINGER_SECONDS = 0.5
"""How long the end of a stream is waited for after the answer, so that the connection is kept."""

COOKIES_MAX = 50
"""A jar with more is emptied; load balancers that pin a session need one or two."""

_RESENT_WITH_BODY = (HTTPStatus.TEMPORARY_REDIRECT, HTTPStatus.PERMANENT_REDIRECT)

Method: TypeAlias = Literal["GET", "POST", "DELETE"]

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"(?:[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?)?")
"""What RFC 9110, 5.5, allows in a field, but for bytes beyond ASCII, which nobody agrees on."""


def open_client(spec: ServerSpec) -> httpx2.AsyncClient:
    """A client with the entry's headers; it connects when first used.

    A server on this machine is reached directly. One elsewhere is reached as the environment says
    (HTTPS_PROXY, NO_PROXY), because in networks with a proxy nothing else arrives; certificates
    are checked against the system's, or SSL_CERT_FILE. Nothing of the environment is sent.

    Raises:
        TransportDown: URL, headers or proxy settings are malformed.
    """
    url = parsed_url(spec)
    _check_headers(spec)
    # A context without any authority, for it must not be used: plain HTTP stays plain.
    unused = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        return httpx2.AsyncClient(
            headers={"user-agent": f"cortex-r/{__version__}", **spec.headers},
            verify=httpx2.create_ssl_context() if url.scheme == "https" else unused,
            timeout=httpx2.Timeout(
                connect=CONNECT_SECONDS, read=None, write=WRITE_SECONDS, pool=CONNECT_SECONDS
            ),
            limits=httpx2.Limits(
                max_connections=CONNECTIONS_MAX, keepalive_expiry=KEEPALIVE_SECONDS
            ),
            trust_env=not is_loopback(url.host),
        )
    except (ValueError, ImportError, OSError, httpx2.InvalidURL) as error:
        raise TransportDown(
            "can't be reached: the proxy or certificate settings of the environment are no use "
            f"({type(error).__name__}); check HTTPS_PROXY, ALL_PROXY and SSL_CERT_FILE"
        ) from error


def parsed_url(spec: ServerSpec) -> httpx2.URL:
    """The address of a server.

    Raises:
        TransportDown: it is none.
    """
    try:
        url = httpx2.URL(spec.url or "")
    except httpx2.InvalidURL as error:
        raise TransportDown(f"has no valid address: check 'url' {spec.origin}") from error
    if url.scheme not in ("http", "https") or not url.host:
        raise TransportDown(
            f"has no valid address: 'url' {spec.origin} must begin with http:// or https://"
        )
    return url


def _check_headers(spec: ServerSpec) -> None:
    """Refuse here what h11 would refuse later, in a message that quotes the value."""
    for name, value in spec.headers.items():
        if _HEADER_NAME.fullmatch(name) is None:
            raise TransportDown(f"can't be called: 'headers' {spec.origin} hold a malformed name")
        if _HEADER_VALUE.fullmatch(value) is None:
            raise TransportDown(
                f"can't be called: the header '{name}' in 'headers' {spec.origin} holds a "
                "character that HTTP does not allow, or a space at an end"
            )


class HttpAnswer:
    """A successful response whose body is still to be read."""

    def __init__(self, response: httpx2.Response, faults: FaultWriter) -> None:
        """Read the head only."""
        self._response = response
        self._body = response.aiter_raw()
        self._faults = faults
        content_type = response.headers.get("content-type", "")
        self.media_type = content_type.partition(";")[0].strip().lower()
        self.session_id = response.headers.get("mcp-session-id")

    @property
    def is_empty(self) -> bool:
        """Whether the server only took note (202 Accepted, 204 No Content)."""
        return self._response.status_code in (HTTPStatus.ACCEPTED, HTTPStatus.NO_CONTENT)

    @property
    def is_event_stream(self) -> bool:
        """Whether the body is server-sent events."""
        return self.media_type == "text/event-stream"

    async def chunks(self) -> AsyncGenerator[bytes]:
        """What is left of the body, as it comes; may be left and taken up again.

        Raises:
            HttpFault: the connection broke.
        """
        try:
            async for chunk in self._body:
                yield chunk
        except Exception as error:
            # Broad: whatever the HTTP stack raises here means that this body ends here.
            raise HttpFault("broke off in the middle of its answer", may_pass=True) from error

    async def drain(self) -> None:
        """Throw away what is left, if it ends soon: only then the connection can be used again."""
        with suppress(TimeoutError, HttpFault):
            async with asyncio.timeout(LINGER_SECONDS), aclosing(self.chunks()) as chunks:
                async for _ in chunks:
                    pass

    async def aclose(self) -> None:
        """Give up the rest, and with it the connection unless nothing is left."""
        await self._body.aclose()
        await self._response.aclose()

    async def whole(self, bytes_max: int) -> bytes:
        """The body, all of it.

        Raises:
            HttpFault: it is longer than `bytes_max`, or the connection broke.
        """
        body = bytearray()
        await self._fill(body, bytes_max)
        if len(body) > bytes_max:
            raise HttpFault(f"sent an answer of more than {bytes_max:,} bytes")
        return bytes(body)

    async def beginning(self) -> bytes:
        """As much of the body as an error may quote, in bounded time; what fails is left out."""
        body = bytearray()
        with suppress(HttpFault, TimeoutError):
            async with asyncio.timeout(ERROR_BODY_SECONDS):
                await self._fill(body, ERROR_BODY_BYTES_MAX)
        return bytes(body[:ERROR_BODY_BYTES_MAX])

    async def _fill(self, body: bytearray, bytes_max: int) -> None:
        """Read on until there is no more, or more than so many bytes are there."""
        async with aclosing(self.chunks()) as chunks:
            async for chunk in chunks:
                body += chunk
                if len(body) > bytes_max:
                    return

    def checked(self) -> Self:
        """The answer, if it is not compressed.

        Raises:
            HttpFault: it is; the caps on size would not hold for what it unpacks to.
        """
        if (encoding := self._response.headers.get("content-encoding", "identity")) != "identity":
            raise HttpFault(
                f"compressed its answer ({self._faults.one_line(encoding)}), though asked not to"
            )
        return self

    async def wrong_content(self) -> HttpFault:
        """The fault of an answer of a kind that MCP does not know."""
        return self._faults.content(self.media_type, await self.beginning())


class HttpLink:
    """Requests to one endpoint; once set, `session_id` and `protocol_version` go with each."""

    def __init__(self, spec: ServerSpec, faults: FaultWriter) -> None:
        """Make the client, which connects when first used; raises as `open_client`."""
        self.session_id: str | None = None
        self.protocol_version: str | None = None
        self._client = open_client(spec)
        self._url = parsed_url(spec)
        self._faults = faults

    @asynccontextmanager
    async def post(self, body: bytes) -> AsyncGenerator[HttpAnswer]:
        """Send a message; what the server answers to it.

        Raises:
            SessionExpired: the session is over.
            HttpFault: any other failure.
        """
        headers = self._headers("application/json, text/event-stream")
        headers["content-type"] = "application/json"
        async with self._exchange("POST", headers, body) as answer:
            yield answer

    @asynccontextmanager
    async def listen(self, last_event_id: bytes) -> AsyncGenerator[HttpAnswer]:
        """Open an event stream, after the event of that id where it isn't empty.

        Raises:
            HttpFault: there is none.
        """
        headers = self._headers("text/event-stream")
        if last_event_id:
            # An id may be any UTF-8; what HTTP can't carry makes a fault, and no resumption.
            headers["last-event-id"] = last_event_id
        async with self._exchange("GET", headers) as answer:
            if not answer.is_event_stream:
                raise await answer.wrong_content()
            yield answer

    async def end_session(self) -> None:
        """Tell the server that the session is over; not all want to know.

        Raises:
            HttpFault: it does not.
        """
        async with self._exchange("DELETE", self._headers("*/*")):
            pass

    async def aclose(self) -> None:
        """Close all connections."""
        await self._client.aclose()

    def _headers(self, accept: str) -> dict[str, str | bytes]:
        # Uncompressed, so that the caps on size hold for what comes over the wire too.
        headers: dict[str, str | bytes] = {"accept": accept, "accept-encoding": "identity"}
        if self.session_id is not None:
            headers["mcp-session-id"] = self.session_id
        if self.protocol_version is not None:
            headers["mcp-protocol-version"] = self.protocol_version
        return headers

    @asynccontextmanager
    async def _exchange(
        self, method: Method, headers: dict[str, str | bytes], body: bytes | None = None
    ) -> AsyncGenerator[HttpAnswer]:
        """A response with a status of success, redirects and one short pause behind it."""
        url, redirects, may_wait = self._url, 0, True
        while True:
            response = await self._send(method, url, headers, body)
            async with aclosing(HttpAnswer(response, self._faults)) as answer:
                if response.is_success:
                    yield answer.checked()
                    return
                pause = _pause_seconds(response)
                target = _target(response)
                if target and self._may_follow(method, response) and redirects < REDIRECTS_MAX:
                    url, redirects = target, redirects + 1
                    continue
                may_wait = may_wait and pause is not None and pause <= RETRY_AFTER_SECONDS_MAX
                if pause is None or not may_wait:
                    raise await self._refusal(method, response, answer, pause)
            may_wait = False
            await asyncio.sleep(pause)

    async def _send(
        self, method: Method, url: httpx2.URL, headers: dict[str, str | bytes], body: bytes | None
    ) -> httpx2.Response:
        raw = [(name.encode(), _encoded(value)) for name, value in headers.items()]
        request = self._client.build_request(method, url, headers=raw, content=body)
        try:
            response = await self._client.send(request, stream=True, follow_redirects=False)
        except Exception as error:
            # Broad: whatever the HTTP stack raises here means that this one request failed.
            raise connect_fault(error, self._url, self._faults) from error
        finally:
            if len(self._client.cookies.jar) > COOKIES_MAX:
                self._client.cookies.clear()
        acknowledge_at_once(response.extensions)
        return response

    def _may_follow(self, method: Method, response: httpx2.Response) -> bool:
        """Whether a redirect leads within our origin, and leaves the request as it is."""
        if not response.has_redirect_location:
            return False
        keeps_request = method == "GET" or response.status_code in _RESENT_WITH_BODY
        return keeps_request and self._is_ours(_target(response))

    def _is_ours(self, target: httpx2.URL | None) -> bool:
        return target is not None and origin(target) == origin(self._url)

    async def _refusal(
        self, method: Method, response: httpx2.Response, answer: HttpAnswer, pause: float | None
    ) -> HttpFault:
        status = response.status_code
        if self._may_follow(method, response):
            return self._faults.circle(status, REDIRECTS_MAX)
        if response.is_redirect:
            target = _target(response)
            return self._faults.redirect(status, target, is_same_origin=self._is_ours(target))
        body = await answer.beginning()
        resumes = "last-event-id" in response.request.headers
        fault = self._faults.status(status, body, pause, resumes=resumes)
        if status == HTTPStatus.NOT_FOUND and method == "POST" and self.session_id is not None:
            return SessionExpired("no longer knows the session (HTTP 404)", status, body)
        return fault


def _target(response: httpx2.Response) -> httpx2.URL | None:
    """The address that a redirect names; None where that is none."""
    try:
        return response.url.join(response.headers.get("location", ""))
    except httpx2.InvalidURL:
        return None


def _encoded(value: str | bytes) -> bytes:
    return value if isinstance(value, bytes) else value.encode("ascii")


def _pause_seconds(response: httpx2.Response) -> float | None:
    """What Retry-After asks for, where it counts."""
    if response.status_code not in PAUSE_STATUSES:
        return None
    return retry_after_seconds(response.headers)

"""The HTTP client for a model's service, also of the vendors' SDKs: our bounds, and our errors.

Whoever sends a request through it gets a response that says success, or a `ModelUnavailable`.
Bytes come uncompressed, so that the bounds on size hold for what comes over the wire too; no
redirect is followed, and the key that was given goes with a request and no other, whatever an SDK
found in the environment. Nothing is tried twice: the manager of models does that.

Heavy: imports httpx2 (0.1 s).
"""

import asyncio
import json
import socket
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import TypeAlias
from weakref import WeakKeyDictionary

import httpx2
from pydantic_core import to_json

from core.base.causes import causes
from core.base.http import is_loopback, retry_after_seconds
from core.errors import ModelUnavailable
from core.values import JsonObject
from core.version import __version__
from modules.models.http.error_document import ErrorDocument, error_document
from modules.models.http.errors import ServiceErrors, is_html
from modules.models.http.json_text import json_value
from modules.models.http.reply import ServiceReply

CONNECT_SECONDS = 10.0
"""How long a connection may take, with its TLS handshake."""

WRITE_SECONDS = 60.0
"""How long the service may take no byte of a request."""

CONNECTIONS_MAX = 100
"""As many as an entry's `concurrent_requests` may be."""

KEEPALIVE_SECONDS = 30.0
"""How long a connection is kept idle: long enough for the next step of a run."""

PLAIN_KEEPALIVE_SECONDS = 4.0
"""The same without TLS: uvicorn, which many local servers run on, closes after 5."""

STREAM_BYTES_MAX = 256 * 1024 * 1024
"""Longest stream: a reply of a million characters, each in a delta of 256 bytes."""

ERROR_BODY_BYTES_MAX = 16 * 1024
"""How much of a refusal's body is read."""

ERROR_BODY_SECONDS = 2.0
"""How long that may take to come."""

PIECE_BYTES = 4096
"""How much of a stream is taken apart at a time: every line costs, and all may be empty."""

SLICE_SECONDS = 0.01
"""After so long the other tasks have their turn, however much came at once."""

Guard: TypeAlias = Callable[[AsyncIterator[bytes]], AsyncGenerator[bytes]]
"""Looks at the pieces of a success before anybody else, and passes them on or raises."""


class TooLong(Exception):
    """A guard's word for what is over one of our bounds; the text says what."""


class ServiceClient(httpx2.AsyncClient):
    """The client for one service; connects when first used.

    `context` is what its TLS connections are checked with.
    """

    def __init__(
        self,
        errors: ServiceErrors,
        headers: Mapping[str, str] | None = None,
        guard: Guard | None = None,
    ) -> None:
        """Take the settings of the environment; some 0.1 s, so call it in a thread.

        A service on this machine is reached directly, one elsewhere as the environment says
        (HTTPS_PROXY, NO_PROXY). `headers` go with every request in place of what an SDK has under
        these names, by default the key as a bearer token; those with an empty value are left out.
        The time in which the service may send nothing counts before its first byte too: reading a
        long prompt takes a machine without GPU minutes.

        Raises:
            ModelUnavailable: the address, or the environment's proxy or certificate settings are
                of no use.
        """
        if headers is None:
            headers = {"authorization": f"Bearer {errors.key.value}" if errors.key else ""}
        self._own_headers = {"user-agent": f"cortex-r/{__version__}", **headers}
        self._errors = errors
        self._guard = guard
        self._idle = httpx2.Timeout(
            connect=CONNECT_SECONDS,
            read=errors.idle_seconds,
            write=WRITE_SECONDS,
            pool=errors.idle_seconds,
        )
        self._responses = WeakKeyDictionary[asyncio.Task[object], httpx2.Response]()
        try:
            url = httpx2.URL(errors.base_url)
            secure = url.scheme == "https"
            # A context without any authority, for it must not be used: plain HTTP stays plain.
            unused = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            self.context = httpx2.create_ssl_context() if secure else unused
            super().__init__(
                verify=self.context,
                limits=httpx2.Limits(
                    max_connections=CONNECTIONS_MAX,
                    keepalive_expiry=KEEPALIVE_SECONDS if secure else PLAIN_KEEPALIVE_SECONDS,
                ),
                trust_env=not is_loopback(url.host),
            )
        except (ValueError, ImportError, OSError, httpx2.InvalidURL):
            raise errors.unusable_settings() from None

    @asynccontextmanager
    async def exchange(
        self, path: str, body: JsonObject | None = None
    ) -> AsyncGenerator[ServiceReply]:
        """Send JSON to a path of the API, or ask for it without a body; the reply to read.

        Leaving the block gives the request up: its connection closes, unless the whole reply was
        read.

        Raises:
            ServiceError: the service answered with a status that is no success.
            ModelUnavailable: it can't be reached, or sent no HTTP.
        """
        base, mark, query = self._errors.base_url.partition("?")
        request = self.build_request(
            "GET" if body is None else "POST",
            base.rstrip("/") + path + mark + query,
            content=None if body is None else _encoded(body),
            headers=None if body is None else {"content-type": "application/json"},
        )
        response = await self.send(request, stream=True)
        try:
            yield ServiceReply(response, self._errors)
        finally:
            await response.aclose()

    async def send(
        self,
        request: httpx2.Request,
        *,
        stream: bool = False,
        auth: object = None,
        follow_redirects: object = False,
    ) -> httpx2.Response:
        """The response to a request, if it says success; `auth` and redirects are nobody's.

        Raises:
            ServiceError: the service answered with another status.
            ModelUnavailable: it can't be reached, or sent no HTTP.
        """
        del auth, follow_redirects
        self._prepare(request)
        try:
            response = await super().send(request, stream=True, follow_redirects=False)
        except Exception as error:  # noqa: BLE001 - whatever HTTP raises, this request failed
            raise self._errors.unconnected(error) from None
        finally:
            self.cookies.clear()  # no service needs them, and any could fill the jar
        try:
            await self._check(response)
            if not stream:
                await response.aread()
        except BaseException:
            await response.aclose()
            raise
        if (task := asyncio.current_task()) is not None:
            self._responses[task] = response
        return response

    def take(self) -> httpx2.Response | None:
        """The response that this task's last request opened, once."""
        task = asyncio.current_task()
        return self._responses.pop(task, None) if task is not None else None

    def _prepare(self, request: httpx2.Request) -> None:
        """The last word on a request: SDKs add headers and bounds from the environment too."""
        for name, value in self._own_headers.items():
            request.headers.pop(name, None)
            if value:
                request.headers[name] = value
        request.headers["accept-encoding"] = "identity"
        request.extensions["timeout"] = self._idle.as_dict()

    async def _check(self, response: httpx2.Response) -> None:
        _acknowledge_at_once(response)
        encoding = response.headers.pop("content-encoding", "identity")
        if isinstance(response.stream, httpx2.AsyncByteStream):
            guard = self._guard if response.is_success else None
            response.stream = Body(response.stream, self._errors, guard)
        if not response.is_success:
            raise await self._refusal(response)
        if encoding not in ("", "identity"):  # the bounds would not hold for what it unpacks to
            raise self._errors.too_long("a compressed reply, though asked not to")

    async def _refusal(self, response: httpx2.Response) -> ModelUnavailable:
        status, headers = response.status_code, response.headers
        if response.is_redirect:
            return self._errors.redirect(status, _origin(response))
        body = await beginning(response)
        said = error_document(json_value(body))
        if said is None:
            said = ErrorDocument("" if is_html(body) else body.decode("utf-8", "replace"))
        # What the vendors' own clients go by: a limit on spending comes as 429 like any other.
        is_final = headers.get("x-should-retry") == "false"
        return self._errors.refusal(status, said, retry_after_seconds(headers), is_final=is_final)


class Body(httpx2.AsyncByteStream):
    """A response's bytes in pieces that take no time to read; what breaks them off is ours."""

    def __init__(
        self, stream: httpx2.AsyncByteStream, errors: ServiceErrors, guard: Guard | None = None
    ) -> None:
        """Read nothing yet."""
        self._stream = stream
        self._errors = errors
        self._guard = guard

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """The pieces, with turns of the other tasks in between.

        Raises:
            ModelUnavailable: the connection broke or was silent (transient), or a bound was passed.
        """
        pieces = self._pieces()
        try:
            async for piece in pieces if self._guard is None else self._guard(pieces):
                yield piece
        except ModelUnavailable:
            raise
        except TooLong as cap:
            raise self._errors.too_long(str(cap)) from None
        except Exception as error:  # noqa: BLE001 - whatever HTTP raises, the body ends here
            raise self._errors.in_body(error) from None

    async def aclose(self) -> None:
        """Close the connection, unless all of it was read."""
        await self._stream.aclose()

    async def _pieces(self) -> AsyncGenerator[bytes]:
        clock = asyncio.get_running_loop().time
        turn_ends, size = clock() + SLICE_SECONDS, 0
        async for chunk in self._stream:
            size += len(chunk)
            if size > STREAM_BYTES_MAX:
                raise TooLong(f"a stream of more than {STREAM_BYTES_MAX:,} bytes")
            for start in range(0, len(chunk), PIECE_BYTES):
                yield chunk[start : start + PIECE_BYTES]
                if clock() > turn_ends:
                    await asyncio.sleep(0)
                    turn_ends = clock() + SLICE_SECONDS


def _encoded(body: JsonObject) -> bytes:
    """The body as JSON; halves of surrogate pairs, which tools may return, become `?`."""
    try:
        return to_json(body)
    except ValueError:
        return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")


async def beginning(response: httpx2.Response) -> bytes:
    """As much of a body as an error may quote, in bounded time; what fails is left out."""
    body = bytearray()
    with suppress(ModelUnavailable, TimeoutError):
        async with asyncio.timeout(ERROR_BODY_SECONDS):
            async for chunk in response.aiter_raw():
                body += chunk
                if len(body) >= ERROR_BODY_BYTES_MAX:
                    break
    return bytes(body[:ERROR_BODY_BYTES_MAX])


def _acknowledge_at_once(response: httpx2.Response) -> None:
    """Don't let the kernel hold back the acknowledgement of what arrived (Linux only).

    A server with Nagle's algorithm on waits for it before it sends the next piece: 40 ms.
    """
    stream = response.extensions.get("network_stream")
    sock = None if stream is None else stream.get_extra_info("socket")
    if sock is not None and hasattr(socket, "TCP_QUICKACK"):
        with suppress(OSError):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)


def _origin(response: httpx2.Response) -> str:
    """Scheme and host that a redirect points to; the rest may hold secrets."""
    with suppress(httpx2.InvalidURL):
        target = response.url.join(response.headers.get("location", ""))
        return f"{target.scheme}://{target.host}"
    return ""


@contextmanager
def unwrapped() -> Generator[None]:
    """Raise our own errors as they are, which SDKs wrap into theirs.

    What is wrapped around them may hold the key, and is lost.

    Raises:
        ModelUnavailable: it was raised, or stands behind what was.
    """
    try:
        yield
    except Exception as error:
        for cause in causes(error):
            if isinstance(cause, ModelUnavailable):
                raise cause from None
        raise

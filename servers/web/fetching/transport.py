"""One request and its answer over a connection of its own.

It stands on httpcore2, the engine of httpx2, where the connection is in our hands: the URL keeps
the host's name, so Host, SNI and the check of the certificate are right by themselves, while the
socket goes to an address that the guard has checked, and nothing looks the name up again. There
are no cookies, proxies, netrc or redirects at this level, and no connection is used twice, so that
hosts which share an address never share one. Imported when the first page is fetched.
"""

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import TypeAlias, cast

import httpcore2

from core.base.causes import causes
from core.base.frozen import frozen
from core.base.text import size_text
from servers.web.errors import PageUnavailable
from servers.web.fetching.decoding import Undecodable, decoder_for
from servers.web.fetching.http_messages import Answer, Request
from servers.web.fetching.targets import DEFAULT_PORTS, Target, shown_url
from servers.web.progress import tell

CONNECT_SECONDS = 8.0
"""Bound on the connection to one of several addresses."""

PROGRESS_BYTES = 64 * 1024
"""How often progress is told."""

PIECES_MAX = 2_000
PIECE_BYTES_MIN = 64
"""Beyond so many pieces, their mean size is no less than this. A server that makes a chunk of each
byte keeps us busy, and gives nothing."""

Connector: TypeAlias = Callable[[str, int, float], Awaitable[httpcore2.AsyncNetworkStream]]
"""Connects to an address and port within so many seconds; raises ConnectError or ConnectTimeout."""


class ConnectionLost(PageUnavailable):
    """The connection broke off, so that another try may do better."""


@frozen
class BodyBounds:
    """How much of a body is taken: compressed and decompressed bytes, each.

    `is_cut` takes the first `most_bytes` of a larger one, and tells nobody of it; else a larger one
    is refused.
    """

    most_bytes: int
    is_cut: bool = False


async def system_connector(address: str, port: int, seconds: float) -> httpcore2.AsyncNetworkStream:
    """A TCP connection to an IP address; no name is looked up."""
    # Its class is defined twice there, so that its type is lost.
    backend = cast("httpcore2.AsyncNetworkBackend", httpcore2.AnyIOBackend())
    return await backend.connect_tcp(address, port, timeout=seconds)


async def exchange(
    request: Request,
    addresses: Sequence[str],
    bounds: BodyBounds,
    *,
    connector: Connector,
    trust: Callable[[], ssl.SSLContext],
) -> Answer:
    """Send a request to one of the addresses; the body is read for a success only.

    Raises:
        ConnectionLost: the connection broke off.
        PageUnavailable: there is no connection, no HTTP, too much of it, or it can't be decoded.
    """
    target = request.target
    origin = httpcore2.Origin(target.scheme.encode(), target.host.encode(), target.port)
    connection = httpcore2.AsyncHTTPConnection(
        origin,
        ssl_context=trust() if target.scheme == "https" else None,
        network_backend=_PinnedBackend(addresses, connector),
    )
    try:
        async with connection:
            response = await connection.handle_async_request(_written(request))
            headers = tuple((name.lower(), value) for name, value in response.headers)
            answer = Answer(response.status, headers)
            if not answer.is_success:
                return answer
            async with aclosing(response.aiter_stream()) as stream:
                return replace(answer, body=await _body(answer, stream, bounds, target))
    except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
        raise PageUnavailable(_connect_error(target, error)) from error
    except (httpcore2.NetworkError, httpcore2.RemoteProtocolError) as error:
        raise ConnectionLost(
            f"{shown_url(target.url)} breaks off, or answers with something else than HTTP; "
            "try again later"
        ) from error


class _PinnedBackend(httpcore2.AsyncNetworkBackend):
    """Connects to the checked addresses, whatever name it is given."""

    def __init__(self, addresses: Sequence[str], connector: Connector) -> None:
        self._addresses = addresses
        self._connector = connector

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the signature is the library's
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        failure: Exception = httpcore2.ConnectError("no address")
        for address in self._addresses:
            try:
                return await self._connector(address, port, CONNECT_SECONDS)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
        raise failure


def _written(request: Request) -> httpcore2.Request:
    target = request.target
    url = httpcore2.URL(
        scheme=target.scheme, host=target.host, port=target.port, target=target.path
    )
    lines = request.lines()
    return httpcore2.Request(request.method, url, headers=lines, content=request.body)


async def _body(
    answer: Answer, stream: AsyncIterator[bytes], bounds: BodyBounds, target: Target
) -> bytes:
    """The decompressed body, within bounds on the wire and in memory."""
    total = answer.content_length
    if total is not None and total > bounds.most_bytes and not bounds.is_cut:
        raise _too_large(target, bounds)
    body = bytearray()
    wired = pieces = 0
    meter = _Meter(total, is_quiet=bounds.is_cut)
    try:
        decoder = decoder_for(answer.listed(b"content-encoding"))
        async for piece in stream:
            wired += len(piece)
            pieces += 1
            if pieces > PIECES_MAX and wired < pieces * PIECE_BYTES_MIN:
                raise Undecodable("comes in crumbs, byte by byte")
            for made in decoder.feed(piece):
                body += made
                if len(body) > bounds.most_bytes:
                    break
            if max(wired, len(body)) > bounds.most_bytes:
                if bounds.is_cut:
                    return bytes(body[: bounds.most_bytes])
                raise _too_large(target, bounds)
            await meter.tell(wired)
        decoder.finish()
    except Undecodable as error:
        raise PageUnavailable(f"{shown_url(target.url)} {error}; try another source") from error
    await meter.tell(wired, is_over=True)
    return bytes(body)


class _Meter:
    """Tells of the first piece, of each `PROGRESS_BYTES`, and of the end."""

    def __init__(self, total: int | None, *, is_quiet: bool) -> None:
        self._of_all = f" of {size_text(total)}" if total else ""
        self._is_quiet = is_quiet
        self._told = -PROGRESS_BYTES

    async def tell(self, wired: int, *, is_over: bool = False) -> None:
        """So many bytes have come."""
        is_due = wired - self._told >= (1 if is_over else PROGRESS_BYTES)
        if is_due and not self._is_quiet:
            self._told = wired
            await tell(f"fetched {size_text(wired)}{self._of_all}")


def _too_large(target: Target, bounds: BodyBounds) -> PageUnavailable:
    megabytes = bounds.most_bytes / 2**20
    return PageUnavailable(
        f"{shown_url(target.url)} is larger than the {megabytes:,.3g} MB that are read "
        "('page_bytes' in the profile's web section); try another source"
    )


def _connect_error(target: Target, error: Exception) -> str:
    """Why there is no connection, from the errors behind the error."""
    is_usual_port = target.port == DEFAULT_PORTS[target.scheme]
    where = shown_url(target.host if is_usual_port else target.authority)
    for cause in causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return (
                f"{where} can't be trusted: its certificate is refused "
                f"({cause.verify_message[:100]}); try another source"
            )
        if isinstance(cause, ssl.SSLError):
            return f"{where} does not speak TLS as it should; check the address"
        if isinstance(cause, ConnectionRefusedError):
            return f"nothing answers at {where}; check the address, or try later"
    if isinstance(error, httpcore2.ConnectTimeout):
        return f"{where} can't be reached in {CONNECT_SECONDS:g} s; try later or another source"
    return f"{where} can't be reached; check the address and the network"

"""The HTTP client for one MCP server, and what can keep it from reaching the server.

Heavy: imports httpx2 (0.1 s).
"""

import re
import socket
import ssl
from collections.abc import Callable
from typing import TypeAlias

import httpx2

from config.http_address import is_loopback
from config.servers import ServerSpec
from core.causes import causes
from core.mcp.http_errors import FaultWriter, HttpFault, PassingFault
from core.version import __version__

CONNECT_SECONDS = 10.0
"""How long a connection may take, with its TLS handshake."""

WRITE_SECONDS = 60.0
"""How long the server may take no byte of a request."""

CONNECTIONS_MAX = 100
"""More than `core.mcp.http` ever asks for at once, so that nothing waits for a connection."""

KEEPALIVE_SECONDS = 4.0
"""How long a connection is kept idle: less than the five seconds after which Node's and uvicorn's
servers close theirs, so that no call goes out on one that is being closed."""

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"(?:[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?)?")
"""What RFC 9110, 5.5, allows in a field, but for bytes beyond ASCII, which nobody agrees on."""

ClientFactory: TypeAlias = Callable[[ServerSpec], httpx2.AsyncClient]


class BadAddress(Exception):
    """The server's entry can't be used; the text is the end of a sentence that begins with it."""


def open_client(spec: ServerSpec) -> httpx2.AsyncClient:
    """A client with the entry's headers; it connects when first used.

    A server on this machine is reached directly. One elsewhere is reached as the environment says
    (HTTPS_PROXY, NO_PROXY), because in networks with a proxy nothing else arrives; certificates
    are checked against the system's, or SSL_CERT_FILE. Nothing of the environment is sent.

    Raises:
        BadAddress: URL, headers or proxy settings are malformed.
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
        raise BadAddress(
            "can't be reached: the proxy or certificate settings of the environment are no use "
            f"({type(error).__name__}); check HTTPS_PROXY, ALL_PROXY and SSL_CERT_FILE"
        ) from error


_UNCONNECTED = (
    httpx2.ConnectTimeout,
    httpx2.ConnectError,
    httpx2.ProxyError,
    httpx2.PoolTimeout,
)
"""What the HTTP stack raises before a byte of the request was sent."""


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
    return PassingFault(text, was_taken=not isinstance(error, _UNCONNECTED))


def parsed_url(spec: ServerSpec) -> httpx2.URL:
    """The address of a server.

    Raises:
        BadAddress: it is none.
    """
    try:
        url = httpx2.URL(spec.url or "")
    except httpx2.InvalidURL as error:
        raise BadAddress(f"has no valid address: check 'url' {spec.origin}") from error
    if url.scheme not in ("http", "https") or not url.host:
        raise BadAddress(
            f"has no valid address: 'url' {spec.origin} must begin with http:// or https://"
        )
    return url


def _check_headers(spec: ServerSpec) -> None:
    """Refuse here what h11 would refuse later, in a message that quotes the value."""
    for name, value in spec.headers.items():
        if _HEADER_NAME.fullmatch(name) is None:
            raise BadAddress(f"can't be called: 'headers' {spec.origin} hold a malformed name")
        if _HEADER_VALUE.fullmatch(value) is None:
            raise BadAddress(
                f"can't be called: the header '{name}' in 'headers' {spec.origin} holds a "
                "character that HTTP does not allow, or a space at an end"
            )


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

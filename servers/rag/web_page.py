"""Fetches one public web page, and nothing that lies in this network.

A plain stand-in until the web tools bring the reader that all of Cortex-R shares. The address may
come from a hostile page, so a name is looked up first, every address it has must be a public one,
and the connection goes to the very address that was looked at: a name that changes its meaning
between look and connection (DNS rebinding) gains nothing. Each redirect is treated the same.
"""

import ipaddress
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import urljoin, urlsplit

from servers.rag.faults import RagError

if TYPE_CHECKING:
    import httpx2

PAGE_BYTES_MAX = 5 * 1024 * 1024
"""A larger page is refused."""

PAGE_SECONDS = 20.0
"""Bound on one page in all, redirects included."""

WAIT_SECONDS = 10.0
"""Bound on each wait: connection, and every piece of the answer."""

REDIRECTS_MAX = 5
USER_AGENT = "Cortex-R (+document reader)"

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_TEXT_TYPES = ("text/", "application/xhtml", "application/xml", "application/json")
_PORTS = {"http": 80, "https": 443}

Lookup: TypeAlias = Callable[[str, int], Sequence[str]]
"""The addresses of a host, as texts; raises OSError."""


class PageRefused(RagError):
    """The page can't or may not be read; the message says why."""


@dataclass(frozen=True, slots=True)
class WebPage:
    """What came: the last address after redirects, its media type, and the bytes."""

    url: str
    media_type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class _Target:
    """An address taken apart, with the public one that will be connected to."""

    url: str
    host: str
    authority: str
    address: str


def system_lookup(host: str, port: int) -> list[str]:
    """All addresses that the system knows for a host."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in found]


def fetch_page(
    url: str,
    *,
    lookup: Lookup = system_lookup,
    client: "httpx2.Client | None" = None,
    clock: Callable[[], float] = time.monotonic,
) -> WebPage:
    """The page at a public http or https address; blocks.

    `client` carries the requests (tests bring their own).

    Raises:
        PageRefused: the address is none of that kind, or the page can't be had.
    """
    import httpx2

    deadline = clock() + PAGE_SECONDS
    own = client or httpx2.Client(timeout=WAIT_SECONDS, trust_env=False, follow_redirects=False)
    try:
        for _ in range(REDIRECTS_MAX + 1):
            found = _request(own, _target(url, lookup), deadline, clock)
            if isinstance(found, WebPage):
                return found
            url = found
    except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError) as error:
        told = str(error) or type(error).__name__
        raise PageRefused(f"{_shown(url)} can't be read: {told[:200]}") from error
    finally:
        if client is None:
            own.close()
    raise PageRefused(f"{_shown(url)} redirects more than {REDIRECTS_MAX} times")


def is_public(address: str) -> bool:
    """Whether an IP address is one of the open internet, looked at through its disguises."""
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None)
        if inner is None and ip in ipaddress.ip_network("64:ff9b::/96"):  # NAT64, RFC 6052
            inner = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
    return ip.is_global and not ip.is_multicast


def _target(url: str, lookup: Lookup) -> _Target:
    """Where to connect for a URL.

    Raises:
        PageRefused: it is no public http address.
    """
    try:
        parts = urlsplit(url.strip())
        port = parts.port or _PORTS.get(parts.scheme, 0)
        host = (parts.hostname or "").encode("idna").decode() if parts.hostname else ""
    except (ValueError, UnicodeError):
        raise PageRefused(f"{_shown(url)} is no address of a web page") from None
    if parts.scheme not in _PORTS or not host:
        raise PageRefused(f"{_shown(url)}: only http and https addresses of pages can be read")
    if parts.username is not None or parts.password is not None:
        raise PageRefused(f"{_shown(url)}: an address with a password in it is not read")
    try:
        addresses = [str(ipaddress.ip_address(host))]
    except ValueError:
        addresses = _looked_up(url, host, port, lookup)
    if not addresses or not all(map(is_public, addresses)):
        raise PageRefused(
            f"{_shown(url)}: {host[:100]} is not on the public internet, and is not read"
        )
    bracketed = f"[{host}]" if ":" in host else host
    authority = bracketed if port == _PORTS[parts.scheme] else f"{bracketed}:{port}"
    numeric = f"[{addresses[0]}]" if ":" in addresses[0] else addresses[0]
    rest = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return _Target(parts.geturl(), host, authority, f"{parts.scheme}://{numeric}:{port}{rest}")


def _looked_up(url: str, host: str, port: int, lookup: Lookup) -> list[str]:
    try:
        return list(lookup(host, port))
    except OSError as error:
        raise PageRefused(f"{_shown(url)}: there is no host {host[:100]} ({error})") from error


def _request(
    client: "httpx2.Client", target: _Target, deadline: float, clock: Callable[[], float]
) -> WebPage | str:
    """The page, or where it has gone."""
    headers = {"Host": target.authority, "User-Agent": USER_AGENT, "Accept": "text/html, text/*"}
    # The certificate is checked against the name, though the connection goes to the number.
    extensions = {"sni_hostname": target.host}
    with client.stream("GET", target.address, headers=headers, extensions=extensions) as answer:
        where = answer.headers.get("location")
        if answer.status_code in _REDIRECTS and where:
            return urljoin(target.url, where)
        if answer.status_code != 200:
            raise PageRefused(f"{_shown(target.url)} answered with status {answer.status_code}")
        media_type = answer.headers.get("content-type", "text/html").partition(";")[0].strip()
        if not media_type.lower().startswith(_TEXT_TYPES):
            raise PageRefused(f"{_shown(target.url)} is no text, but {media_type[:60]}")
        data = bytearray()
        for piece in answer.iter_bytes():
            data += piece
            if len(data) > PAGE_BYTES_MAX:
                raise PageRefused(f"{_shown(target.url)} is larger than {PAGE_BYTES_MAX} bytes")
            if clock() > deadline:
                raise PageRefused(f"{_shown(target.url)} takes longer than {PAGE_SECONDS:g} s")
    return WebPage(target.url, media_type.lower(), bytes(data))


def _shown(url: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in url.strip()[:200])

"""From a host's name to the addresses that may be connected to: those of the public internet.

The name is looked up once a connection, every address it has is checked, and the connection goes
to one of those: a name that means something else a moment later (DNS rebinding) gains nothing. One
private address among public ones is enough to refuse, since whoever controls the name chose it.

The tables follow IANA's special-purpose address registries (RFC 6890 and what was registered
since) and its list of IPv6 address space, of which only 2000::/3 is given out. Where a registry
calls a special range globally reachable (AS112, AMT, anycast of a protocol), there is still no web
page in it, and it stays closed. An IPv6 address that carries an IPv4 address is looked through.
"""

import asyncio
import errno
import ipaddress
import socket
import threading
from collections.abc import Awaitable, Callable, Sequence
from ipaddress import IPv4Address, IPv6Address
from typing import TypeAlias

from servers.web.errors import AddressRefused, PageUnavailable
from servers.web.fetching.targets import Target, normal_host, shown_url
from servers.web.options import OPTIONS_VARIABLE, OptionsError

ADDRESSES_MAX = 4
"""Connections that are tried to one host; all of its addresses are checked."""

Resolver: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]
"""The addresses of a host, as texts; raises OSError."""

_HINT = "; if it is meant, the user can add it to 'allow_private' in the profile's web section"

Address: TypeAlias = IPv4Address | IPv6Address

_SPECIAL_IPV4 = tuple(
    (ipaddress.IPv4Network(network), reason)
    for network, reason in (
        ("0.0.0.0/8", "'this network' (RFC 791)"),
        ("10.0.0.0/8", "private (RFC 1918)"),
        ("100.64.0.0/10", "shared by a provider's customers (RFC 6598)"),
        ("127.0.0.0/8", "this machine itself (RFC 1122)"),
        ("169.254.0.0/16", "link-local (RFC 3927)"),
        ("172.16.0.0/12", "private (RFC 1918)"),
        ("192.0.0.0/24", "for protocols (RFC 6890)"),
        ("192.0.2.0/24", "for documentation (RFC 5737)"),
        ("192.31.196.0/24", "AS112, which answers name servers only (RFC 7535)"),
        ("192.52.193.0/24", "for multicast tunnels (RFC 7450)"),
        ("192.88.99.0/24", "a 6to4 relay (RFC 7526)"),
        ("192.168.0.0/16", "private (RFC 1918)"),
        ("192.175.48.0/24", "AS112, which answers name servers only (RFC 7534)"),
        ("198.18.0.0/15", "for benchmarks (RFC 2544)"),
        ("198.51.100.0/24", "for documentation (RFC 5737)"),
        ("203.0.113.0/24", "for documentation (RFC 5737)"),
        ("224.0.0.0/4", "multicast (RFC 5771)"),
        ("240.0.0.0/4", "reserved or broadcast (RFC 1112, RFC 919)"),
    )
)

_SPECIAL_IPV6 = tuple(
    (ipaddress.IPv6Network(network), reason)
    for network, reason in (
        ("::/128", "no address (RFC 4291)"),
        ("::1/128", "this machine itself (RFC 4291)"),
        ("::/96", "IPv4 in a form that was given up (RFC 4291)"),
        ("64:ff9b:1::/48", "a local IPv4 translation (RFC 8215)"),
        ("100::/64", "discarded (RFC 6666)"),
        ("100:0:0:1::/64", "a dummy (RFC 9780)"),
        ("2001::/32", "a Teredo tunnel (RFC 4380)"),
        ("2001:2::/48", "for benchmarks (RFC 5180)"),
        ("2001:10::/28", "a hash and no place (ORCHID, RFC 4843)"),
        ("2001:20::/28", "a hash and no place (ORCHIDv2, RFC 7343)"),
        ("2001::/23", "for protocols (RFC 2928)"),
        ("2001:db8::/32", "for documentation (RFC 3849)"),
        ("2002::/16", "a 6to4 tunnel (RFC 7526)"),
        ("2620:4f:8000::/48", "AS112, which answers name servers only (RFC 7534)"),
        ("3fff::/20", "for documentation (RFC 9637)"),
        ("5f00::/16", "a segment identifier (RFC 9602)"),
        ("fc00::/7", "private (RFC 4193)"),
        ("fe80::/10", "link-local (RFC 4291)"),
        ("fec0::/10", "site-local (RFC 3879)"),
        ("ff00::/8", "multicast (RFC 4291)"),
    )
)

_GIVEN_OUT = ipaddress.IPv6Network("2000::/3")
_MAPPED = ipaddress.IPv6Network("::ffff:0:0/96")
_COMPATIBLE = ipaddress.IPv6Network("::/96")
_STATELESS = ipaddress.IPv6Network("::ffff:0:0:0/96")
_TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")
_TRANSLATED_LOCALLY = ipaddress.IPv6Network("64:ff9b:1::/48")
_ISATAP_MARKS = (0x00005EFE, 0x02005EFE)

_METADATA = tuple(
    ipaddress.ip_network(network)
    for network in (
        "169.254.169.0/24",  # most clouds: 169.254.169.254
        "169.254.170.0/24",  # containers of AWS: credentials of a task or a pod
        "169.254.0.23/32",  # Tencent
        "169.254.42.42/32",  # Scaleway
        "100.100.100.200/32",  # Alibaba
        "168.63.129.16/32",  # Azure's host, which has an address of the public internet
        "192.0.0.192/32",  # Oracle Classic
        "fd00:ec2::/32",  # AWS: fd00:ec2::254, credentials of pods at ::23
        "fd20:ce::254/128",  # Google
        "fd00:42::42/128",  # Scaleway
        "fd00:c1::/32",  # Oracle: fd00:c1::a9fe:a9fe
        "fe80::a9fe:a9fe/128",  # OpenStack
    )
)

_METADATA_NAMES = frozenset({
    "metadata", "metadata.goog", "metadata.google.internal", "metadata.azure.internal",
    "metadata.tencentyun.com", "metadata.platformequinix.com", "metadata.packet.net",
    "metadata.cloud.ibm.com", "api.metadata.cloud.ibm.com", "instance-data",
    "instance-data.ec2.internal", "rancher-metadata",
})  # fmt: skip

_PRIVATE_SUFFIXES = ("localhost", "local", "internal", "home.arpa", "onion")
"""RFC 6761, 6762, 8375, 7686, and ICANN's `internal`: none of them is on the public internet."""


class AddressGuard:
    """Lets through what is public, and the hosts that the profile opens."""

    def __init__(self, allow_private: Sequence[str], resolver: Resolver) -> None:
        """`allow_private` holds hosts as they stand in a URL, with or without a port.

        Raises:
            OptionsError: one of them is none.
        """
        self._opened = frozenset(_opened(entry) for entry in allow_private)
        self._resolver = resolver

    def opens(self, target: Target) -> bool:
        """Whether the profile opens a target's host."""
        return bool({target.host, f"{target.host}:{target.port}"} & self._opened)

    async def addresses(self, target: Target, *, may_be_private: bool) -> list[str]:
        """Where to connect for a target, the first to be tried first.

        `may_be_private` is false after a redirect from a host that is not opened: the user opened
        a host for those who ask for it, and not for any page to send us there.

        Raises:
            AddressRefused: it is not on the public internet, and not opened.
            PageUnavailable: there is no such host.
        """
        is_opened = may_be_private and self.opens(target)
        if is_metadata("", target.host):
            raise _refused(target, "a metadata service of a cloud")
        reason = None if is_opened or target.literal else private_name(target.host)
        if reason is not None:
            raise _refused(target, reason + _HINT)
        found = [target.literal] if target.literal else await self._resolved(target)
        for address in found:
            self._check(target, address, is_opened=is_opened)
        return found[:ADDRESSES_MAX]

    def _check(self, target: Target, address: str, *, is_opened: bool) -> None:
        reason = refusal(address)
        if reason is None:
            return
        where = "" if address == target.host else f" has the address {shown_url(address)}, which"
        if is_metadata(address):
            raise _refused(target, f"{target.host}{where} is a metadata service of a cloud")
        if not is_opened:
            raise _refused(target, f"{target.host}{where} is {reason}{_HINT}")

    async def _resolved(self, target: Target) -> list[str]:
        try:
            found = list(dict.fromkeys(await self._resolver(target.host, target.port)))
        except (OSError, UnicodeError) as error:
            raise PageUnavailable(_lookup_error(target.host, error)) from error
        if not found:
            raise PageUnavailable(_lookup_error(target.host, OSError()))
        return found


async def system_resolver(host: str, port: int) -> list[str]:
    """All addresses that the system knows for a host, in the order of RFC 6724.

    The lookup has a thread of its own, that ends with the process: in the loop's small pool a few
    names whose servers never answer would hold up all others, and the end of the program.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[list[str]] = loop.create_future()

    def look_up() -> None:
        try:
            entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            found, failure = [str(entry[4][0]) for entry in entries], None
        except (OSError, UnicodeError) as error:
            found, failure = [], error
        try:
            loop.call_soon_threadsafe(_settle, answer, found, failure)
        except RuntimeError:
            return  # the loop has ended meanwhile, and nobody waits

    threading.Thread(target=look_up, name=f"lookup-{host[:40]}", daemon=True).start()
    return await answer


def _settle(
    answer: asyncio.Future[list[str]], found: list[str], failure: OSError | UnicodeError | None
) -> None:
    if answer.done():
        return
    if failure is None:
        answer.set_result(found)
    else:
        answer.set_exception(failure)


def _opened(entry: str) -> str:
    """An entry in the form in which it is compared: `host`, or `host:port`."""
    host, colon, port = entry.rpartition(":")
    has_port = bool(colon) and port.isascii() and port.isdigit() and not host.endswith(":")
    # An IPv6 address may stand without brackets if no port follows.
    has_port = has_port and (":" not in host or host.endswith("]"))
    host = host if has_port else entry
    try:
        normal = normal_host(f"[{host}]" if ":" in host and host[0] != "[" else host)
    except AddressRefused:
        raise OptionsError(
            f"{OPTIONS_VARIABLE}: allow_private: {shown_url(entry)!r} is no host; give it as it "
            "stands in a URL, like wiki.example.org or localhost:8080"
        ) from None
    return f"{normal}:{int(port)}" if has_port else normal


def _refused(target: Target, reason: str) -> AddressRefused:
    return AddressRefused(f"{shown_url(target.url)} is not read: {reason}")


def _lookup_error(host: str, error: Exception) -> str:
    name = shown_url(host)
    temporary = (socket.EAI_AGAIN, errno.ETIMEDOUT)
    if isinstance(error, OSError) and error.errno in temporary:
        return f"{name} can't be looked up: no name server answers; check the network, or try later"
    return f"there is no host {name}; check the spelling, and whether there is a network"


def refusal(address: str) -> str | None:
    """Why an IP address (as text) may not be connected to; None for one of the public internet."""
    if "%" in address:
        return "bound to a zone of this machine (RFC 4007)"
    found = _parsed(address)
    if found is None:
        return "no IP address"
    if isinstance(found, IPv4Address):
        return _refusal_ipv4(found)
    return _refusal_ipv6(found)


def is_metadata(address: str, host: str = "") -> bool:
    """Whether an address, or the host's name, is that of a cloud's metadata service.

    Such a service hands the machine's credentials to whoever asks from the machine, so it stays
    closed even where the profile opens private hosts.
    """
    if host in _METADATA_NAMES:
        return True
    found = _parsed(address.partition("%")[0])
    if found is None:
        return False
    disguised = inner_addresses(found) if isinstance(found, IPv6Address) else ()
    return any(each in network for each in (found, *disguised) for network in _METADATA)


def private_name(host: str) -> str | None:
    """Why a host's name can't be a public one, before any name server is asked; else None."""
    if "." not in host:
        return "a name without a dot belongs to a private network"
    for suffix in _PRIVATE_SUFFIXES:
        if host.endswith(f".{suffix}"):
            return f"names under .{suffix} belong to a private network"
    return None


def inner_addresses(address: IPv6Address) -> tuple[IPv4Address, ...]:
    """The IPv4 addresses that an IPv6 address carries, by whichever convention.

    Mapped and compatible (RFC 4291), stateless translation (RFC 2765), NAT64 (RFC 6052, with all
    prefix lengths that fit the local prefix of RFC 8215), 6to4 (RFC 3056), Teredo (RFC 4380: the
    server, and the client's own one), and ISATAP (RFC 5214).
    """
    number = int(address)
    last = IPv4Address(number & 0xFFFFFFFF)
    if any(address in network for network in (_MAPPED, _COMPATIBLE, _STATELESS, _TRANSLATED)):
        return (last,)
    if address in _TRANSLATED_LOCALLY:
        return (last, *(_around_the_u_octet(number, length) for length in (48, 56, 64)))
    if address.sixtofour is not None:
        return (address.sixtofour,)
    if address.teredo is not None:
        return address.teredo
    if (number >> 32) & 0xFFFFFFFF in _ISATAP_MARKS:
        return (last,)
    return ()


def _around_the_u_octet(number: int, prefix_length: int) -> IPv4Address:
    """The IPv4 address behind a NAT64 prefix: bits 64 to 71 are skipped (RFC 6052, 2.2)."""
    octets = number.to_bytes(16, "big")
    without = octets[:8] + octets[9:]
    start = prefix_length // 8
    return IPv4Address(without[start : start + 4])


def _parsed(address: str) -> Address | None:
    try:
        return ipaddress.ip_address(address)
    except ValueError:
        return None


def _refusal_ipv4(address: IPv4Address) -> str | None:
    if any(address in network for network in _METADATA):
        return "a metadata service of a cloud"
    return next((reason for network, reason in _SPECIAL_IPV4 if address in network), None)


def _refusal_ipv6(address: IPv6Address) -> str | None:
    for network, reason in _SPECIAL_IPV6:
        if address in network:
            return reason
    for inner in inner_addresses(address):
        hidden = _refusal_ipv4(inner)
        if hidden is not None:
            return f"{inner} in disguise: {hidden}"
    if address in _MAPPED or address in _TRANSLATED or address in _GIVEN_OUT:
        return None
    return "outside the part of IPv6 that is given out (2000::/3)"

"""From a host's name to the addresses that may be connected to.

The name is looked up once a connection, every address it has is checked, and the connection goes
to one of those: a name that means something else a moment later (DNS rebinding) gains nothing. One
private address among public ones is enough to refuse, since whoever controls the name chose it.
"""

import asyncio
import errno
import socket
import threading
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from servers.web.errors import AddressRefused, PageUnavailable
from servers.web.fetching.addresses import is_metadata, private_name, refusal
from servers.web.fetching.targets import DEFAULT_PORTS, Target, normal_host, shown_url
from servers.web.options import OPTIONS_VARIABLE, OptionsError

ADDRESSES_MAX = 4
"""Connections that are tried to one host; all of its addresses are checked."""

Resolver: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]
"""The addresses of a host, as texts; raises OSError."""

_HINT = "; if it is meant, the user can add it to 'allow_private' in the profile's web section"


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


def with_port(target: Target) -> str:
    """Host and port for a message, the port only where it says something."""
    is_usual = target.port == DEFAULT_PORTS[target.scheme]
    return shown_url(target.host if is_usual else target.authority)

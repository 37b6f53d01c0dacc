"""HTTP as all layers know it: what a status says, the pause asked for, hosts of this machine."""

import ipaddress
import socket
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any, Final

PAUSE_STATUSES: Final = frozenset({429, 503})
"""With these a service asks to be left alone for a while (RFC 9110, 10.2.3; RFC 6585, 4)."""

_PASSING: Final = frozenset({408, 409, 425, 429})

PAUSE_SECONDS_MAX: Final = 86_400.0
"""A service that asks for a longer pause is taken to ask for this one."""

LONGEST_PAUSE_SECONDS: Final = 60.0
"""A service that asks for a longer pause is not waited for."""

DATE_CHARACTERS_MAX: Final = 64


def may_pass(status: int) -> bool:
    """Whether a status says more of the moment than of the request: a later try may succeed."""
    return status in _PASSING or status >= HTTPStatus.INTERNAL_SERVER_ERROR


def status_text(status: int) -> str:
    """`HTTP 503 (Service Unavailable)`; the bare number where it has no name."""
    try:
        return f"HTTP {status} ({HTTPStatus(status).phrase})"
    except ValueError:
        return f"HTTP {status}"


def retry_after_seconds(headers: Mapping[str, str]) -> float | None:
    """The pause that a response's `headers` ask for, in bounds; None where they ask for none.

    `retry-after` in seconds or as a date, or the finer `retry-after-ms` that OpenAI sends. A date
    counts from the service's own `date`, so that clocks need not agree. The names are in small
    letters: who has others gives a mapping that does not tell them apart.
    """
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return min(milliseconds / 1000, PAUSE_SECONDS_MAX)
    value = headers.get("retry-after", "")
    seconds = _number(value)
    if seconds is None and (until := _moment(value)) is not None:
        now = _moment(headers.get("date", "")) or datetime.now(UTC)
        seconds = max((until - now).total_seconds(), 0.0)
    return None if seconds is None else min(seconds, PAUSE_SECONDS_MAX)


def _number(text: str) -> float | None:
    """A decimal number; OpenAI and Groq send it with fractions too."""
    whole, _, fraction = text.strip().partition(".")
    digits = whole + fraction
    if not digits.isascii() or not digits.isdecimal():
        return None
    return float(f"{whole or '0'}.{fraction or '0'}")


def _moment(date: str) -> datetime | None:
    """A date of HTTP; None if it is none."""
    try:
        moment = parsedate_to_datetime(date[:DATE_CHARACTERS_MAX])
    except (ValueError, OverflowError):  # the latter for numbers of too many digits
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def is_loopback(host: str) -> bool:
    """Whether it is this machine: `localhost`, names under it (RFC 6761, 6.3), 127.0.0.1, ::1."""
    host = host.removesuffix(".")
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def acknowledge_at_once(extensions: Mapping[str, Any]) -> None:
    """Don't let the kernel hold back the acknowledgement of what arrived (Linux only).

    A server that writes headers and body apart, with Nagle's algorithm on, waits for it before it
    sends the second: 40 ms in every call on a connection that is kept. `extensions` are those of
    an httpx response, typed as there.
    """
    stream = extensions.get("network_stream")
    sock = None if stream is None else stream.get_extra_info("socket")
    if sock is not None and hasattr(socket, "TCP_QUICKACK"):
        with suppress(OSError):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)

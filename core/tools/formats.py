"""The `format` keyword of JSON Schema, for the formats whose meaning nobody doubts.

JSON Schema 2020-12 leaves open whether formats are checked at all, and servers read them in
wider ways than their RFCs (a date and time without a zone, say). So only text that no reading
allows is refused here; of formats that aren't in the table, anything is.
"""

import re
from collections.abc import Callable
from datetime import datetime, time
from ipaddress import IPv4Address, IPv6Address
from types import MappingProxyType
from typing import Final
from uuid import UUID

FORMATTED_CHARACTERS_MAX: Final = 2_000
"""Longer text is not looked at."""

_EMAIL: Final = re.compile(r"(\S+|\".+\")@\S+")
_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:.+", re.DOTALL)


def _date(text: str) -> object:
    return datetime.fromisoformat(text.upper())


def _time(text: str) -> object:
    return time.fromisoformat(text.upper())


_FORMATS: Final[dict[str, tuple[Callable[[str], object], str]]] = {
    "date": (_date, "a date such as 2026-11-22"),
    "date-time": (_date, "a date and time such as 2026-11-22T14:30:00Z"),
    "time": (_time, "a time such as 14:30:00"),
    "uuid": (UUID, "a UUID such as 123e4567-e89b-42d3-a456-426614174000"),
    "ipv4": (IPv4Address, "an IPv4 address such as 192.0.2.1"),
    "ipv6": (IPv6Address, "an IPv6 address such as 2001:db8::1"),
    "email": (_EMAIL.fullmatch, "an e-mail address such as ann@example.org"),
    "uri": (_URI.fullmatch, "a URL such as https://example.org/page"),
}
"""What reads a text of each format (it gives None or raises ValueError for others), and words."""


def _check(read: Callable[[str], object]) -> Callable[[str], bool]:
    """Whether `read` makes something of a text."""

    def fits(text: str) -> bool:
        try:
            return len(text) > FORMATTED_CHARACTERS_MAX or read(text.strip()) is not None
        except ValueError:
            return False

    return fits


FORMATS: Final = MappingProxyType({name: _check(read) for name, (read, _) in _FORMATS.items()})
"""Whether a text may be of the format of that name."""

FORMAT_WORDS: Final = MappingProxyType({name: words for name, (_, words) in _FORMATS.items()})
"""What a text of that format is, with an example."""

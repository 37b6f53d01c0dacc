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


def _reader(read: Callable[[str], object]) -> Callable[[str], bool]:
    """Whether `read` makes something of a text: it gives None, or raises ValueError, if not."""

    def fits(text: str) -> bool:
        try:
            return len(text) > FORMATTED_CHARACTERS_MAX or read(text.strip()) is not None
        except ValueError:
            return False

    return fits


def _date(text: str) -> object:
    return datetime.fromisoformat(text.upper())


FORMATS: Final = MappingProxyType[str, Callable[[str], bool]](
    {
        "date": _reader(_date),
        "date-time": _reader(_date),
        "time": _reader(lambda text: time.fromisoformat(text.upper())),
        "uuid": _reader(UUID),
        "ipv4": _reader(IPv4Address),
        "ipv6": _reader(IPv6Address),
        "email": _reader(_EMAIL.fullmatch),
        "uri": _reader(_URI.fullmatch),
    }
)
"""Whether a text may be of the format of that name."""

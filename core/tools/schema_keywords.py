"""Keywords of JSON Schema whose meaning fits in a line: types, bounds, equality."""

import operator
import re
from collections.abc import Callable
from types import MappingProxyType
from typing import Final, TypeAlias

from typing_extensions import TypeIs

from core.values import Json


def is_number(value: Json) -> TypeIs[int | float]:
    """Whether it is a number of JSON's: true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_whole(value: Json) -> bool:
    """Whether it is a whole number; 1.0 is one to JSON Schema."""
    return is_number(value) and (isinstance(value, int) or value.is_integer())


TYPES: Final = MappingProxyType[str, Callable[[Json], bool]](
    {
        "string": lambda value: isinstance(value, str),
        "integer": _is_whole,
        "number": is_number,
        "boolean": lambda value: isinstance(value, bool),
        "array": lambda value: isinstance(value, list),
        "object": lambda value: isinstance(value, dict),
        "null": lambda value: value is None,
    }
)
"""The types of JSON Schema."""


def _number(value: Json) -> int | float | None:
    return value if is_number(value) else None


def _characters(value: Json) -> int | None:
    return len(value) if isinstance(value, str) else None


def _length(value: Json) -> int | None:
    return len(value) if isinstance(value, list) else None


def _keys(value: Json) -> int | None:
    return len(value) if isinstance(value, dict) else None


_Measure: TypeAlias = Callable[[Json], int | float | None]
_Compare: TypeAlias = Callable[[float, float], bool]

BOUNDS: Final = MappingProxyType[str, tuple[_Measure, str, _Compare]](
    {
        "minimum": (_number, "must be at least {}", operator.ge),
        "maximum": (_number, "must be at most {}", operator.le),
        "exclusiveMinimum": (_number, "must be above {}", operator.gt),
        "exclusiveMaximum": (_number, "must be below {}", operator.lt),
        "minLength": (_characters, "must have at least {} characters", operator.ge),
        "maxLength": (_characters, "must have at most {} characters", operator.le),
        "minItems": (_length, "must have at least {} items", operator.ge),
        "maxItems": (_length, "must have at most {} items", operator.le),
        "minProperties": (_keys, "must have at least {} keys", operator.ge),
        "maxProperties": (_keys, "must have at most {} keys", operator.le),
    }
)
"""Keywords that bound a number, or how much there is of something."""


def is_same(one: Json, other: Json) -> bool:
    """Whether two values are equal in JSON, where 1 is 1.0 but not true; no lists or objects."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return one == other


# The `format` keyword of JSON Schema, for the formats whose meaning nobody doubts.
#
# JSON Schema 2020-12 leaves open whether formats are checked at all, and servers read them in
# wider ways than their RFCs (a date and time without a zone, say). So only text that no reading
# allows is refused here; of formats that aren't in the table, anything is.

FORMATTED_CHARACTERS_MAX: Final = 2_000
"""Longer text is not looked at."""

_EMAIL: Final = re.compile(r"(\S+|\".+\")@\S+")
_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:.+", re.DOTALL)


def format_breach(name: str, text: str) -> str | None:
    """What a text of this format must be, in words, if it is not; None if it is or may be."""
    known = _FORMATS.get(name)
    if known is None or len(text) > FORMATTED_CHARACTERS_MAX:
        return None
    words, read = known
    try:
        read(text.strip())
    except ValueError:
        return words
    return None


def _date(text: str) -> object:
    from datetime import datetime  # late, as all of these: most schemas have no formats

    return datetime.fromisoformat(text.upper())


def _time(text: str) -> object:
    from datetime import time

    return time.fromisoformat(text.upper())


def _uuid(text: str) -> object:
    from uuid import UUID

    return UUID(text)


def _ipv4(text: str) -> object:
    from ipaddress import IPv4Address

    return IPv4Address(text)


def _ipv6(text: str) -> object:
    from ipaddress import IPv6Address

    return IPv6Address(text)


def _email(text: str) -> object:
    return _matching(_EMAIL, text)


def _uri(text: str) -> object:
    return _matching(_URI, text)


def _matching(pattern: re.Pattern[str], text: str) -> object:
    if pattern.fullmatch(text) is None:
        raise ValueError
    return text


_FORMATS: Final = MappingProxyType[str, tuple[str, Callable[[str], object]]](
    {
        "date": ("a date such as 2026-11-22", _date),
        "date-time": ("a date and time such as 2026-11-22T14:30:00Z", _date),
        "time": ("a time such as 14:30:00", _time),
        "uuid": ("a UUID such as 123e4567-e89b-42d3-a456-426614174000", _uuid),
        "ipv4": ("an IPv4 address such as 192.0.2.1", _ipv4),
        "ipv6": ("an IPv6 address such as 2001:db8::1", _ipv6),
        "email": ("an e-mail address such as ann@example.org", _email),
        "uri": ("a URL such as https://example.org/page", _uri),
    }
)
"""What each is called in words, and what reads it: that raises ValueError where it can't."""

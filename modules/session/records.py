"""The items of a session as JSON text, and back, from files that may be damaged.

Each item stands on lines of its own, so that one more can be put behind the last, and a file that
was cut off shows how far it is whole.
"""

import math
import re
from collections.abc import Iterable
from functools import cache
from typing import Final, NamedTuple, cast

from pydantic import TypeAdapter
from pydantic_core import to_json

from core.base.memory.session_json import elements_of
from core.base.text import lazy_pattern
from core.turn import MemoryItem
from core.values import Json, JsonObject

FORMAT: Final = 2
"""Stands in the first item of a file, under `format`. Files of format 1 have none, and are read and
gone on with all the same."""

END = b"\n]\n"
"""How the array ends, behind its last item."""

_MAX_NESTING = 64
_MAX_INTEGER_BITS = 10_000  # json refuses decimal numbers of over 4,300 digits
_NON_FINITE = {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}
_SURROGATES = lazy_pattern("[\ud800-\udfff]")


class MemoryRecord(NamedTuple):
    """An item, and the JSON value that stands for it in the file.

    The value keeps what a file held, also keys that a later version added.
    """

    item: MemoryItem
    stored: Json

    @property
    def text(self) -> str:
        """The JSON text in the file; made when it is asked for, as opening needs none."""
        return _encode(storable(self.stored))

    @classmethod
    def of(cls, item: MemoryItem) -> "MemoryRecord":
        """The record of a new item; fields that hold nothing are left out of the text."""
        fields = cast("JsonObject", item.model_dump())
        return cls(item, {k: v for k, v in fields.items() if v is not None})


def shorten(text: str, limit_chars: int) -> str:
    """The text, or its first `limit_chars` characters and a note of its full length."""
    if len(text) <= limit_chars:
        return text
    return f"{text[:limit_chars]}… [shortened; {len(text):,} characters in all]"


def storable(value: Json, _level: int = 0) -> Json:
    """The value such that any JSON tool can read it (RFC 8259, section 6 and 8.2).

    Infinities and NaN become the strings "Infinity", "-Infinity", "NaN"; integers of over 3,000
    digits their hexadecimal text; lone surrogates U+FFFD; what is nested deeper than 64 levels
    a note.
    """
    if isinstance(value, str):
        return _storable_text(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else _NON_FINITE[str(value)]
    if isinstance(value, int) and value.bit_length() > _MAX_INTEGER_BITS:
        return hex(value)
    if isinstance(value, list | dict) and _level >= _MAX_NESTING:
        return "[nested too deeply to keep]"
    if isinstance(value, list):
        return [storable(element, _level + 1) for element in value]
    if isinstance(value, dict):
        return {_storable_text(k): storable(v, _level + 1) for k, v in value.items()}
    return value


def _storable_text(text: str) -> str:
    return text if text.isascii() else _SURROGATES.sub("\ufffd", text)


def _encode(value: Json) -> str:
    """JSON text of one storable element of the array, indented by its level."""
    text = to_json(value, indent=2).decode()  # json has indented text from a slower encoder
    return "  " + text.replace("\n", "\n  ")


def array_of(records: Iterable[MemoryRecord]) -> bytes:
    """The file that holds these records and no others."""
    body = ",\n".join(record.text for record in records)
    return (f"[\n{body}\n]\n" if body else "[]\n").encode()


def format_of(data: bytes) -> int:
    """The format that a file says it has, by its beginning."""
    found = _FORMAT.match(data)
    return int(found[1]) if found is not None else 1


def whole_bytes(data: bytes, records: list[MemoryRecord]) -> int:
    """How far a file of ours reaches with whole items that was cut off; 0 if it is none.

    Behind the items that can be read then stands the beginning of one more or of the end, or what
    a file system leaves where it had no time to write. An item that somebody spoilt stands before
    an end, and is no such case.
    """
    whole = array_of(records)[: -len(END)]
    if not records or not data.startswith(whole):
        return 0
    rest = data[len(whole) :].rstrip(b"\0")
    # The end stands at the beginning of a line; those of lists inside of items don't.
    is_begun = rest.startswith(b",") and not rest.rstrip().endswith(b"\n]")
    return len(whole) if is_begun or (END.startswith(rest) and rest != END) else 0


def parse_array(data: bytes) -> tuple[list[MemoryRecord], str | None]:
    """The items that can be read, and what is wrong with the file (None: nothing)."""
    elements, problem = elements_of(data)
    records = [] if any(sign in data for sign in _ODD) else _sound_records(elements)
    records = records or [found for each in elements if (found := _record(each)) is not None]
    if problem is None and (bad := len(elements) - len(records)):
        problem = f"{bad} of its items can't be read"
    return records, problem


def _sound_records(elements: list[Json]) -> list[MemoryRecord]:
    """The records of elements that are items as they stand, at once; none if one of them isn't."""
    try:
        items = _reader().validate_python(elements)
    except (ValueError, ArithmeticError, RecursionError):
        return []
    return list(map(MemoryRecord, items, elements))


@cache
def _reader() -> TypeAdapter[list[MemoryItem]]:
    return TypeAdapter(list[MemoryItem])


def _record(element: Json) -> MemoryRecord | None:
    """The record of an element of the array; None if it is no item.

    It is made storable first: a lone surrogate, say, would fail wherever it is written.
    """
    try:
        clean = storable(element)
        return MemoryRecord(MemoryItem.model_validate(clean), clean)
    except (ValueError, ArithmeticError, RecursionError):
        return None


_ODD = (b"\\ud", b"\\uD", b"NaN", b"Infinity")
"""Signs of what `storable` changes; other files need not be walked value by value."""
_FORMAT = re.compile(rb'\s{0,10}\[\s{0,10}\{\s{0,20}"format":\s{0,10}([0-9]{1,9})\b')

"""JSON of strangers: read as far as it says something, in bounded time."""

import json
import math
import re
from contextlib import suppress

from pydantic_core import from_json

from core.values import Json

JSON_MARKS_MAX = 100_000
"""Opening brackets and braces, commas and colons in one piece of JSON, those in texts too: each
may stand for a value, and a value costs up to a microsecond in which nothing else can run."""

MENDED_BYTES_MAX = 128 * 1024
"""In longer JSON nothing but bad UTF-8 is put right; it would take too long."""

_HUGE = re.compile(rb"[0-9][eE]\+?[0-9]{3}|[0-9]{300}")
"""What a number holds that is larger than a float."""


def json_value(data: bytes) -> Json:
    """What a piece of JSON says; None where it says nothing.

    Bytes that are no UTF-8 and halves of surrogate pairs are replaced; NaN and what is larger
    than a float are null. What is nested or filled beyond all measure says nothing.
    """
    if sum(map(data.count, (b"[", b"{", b",", b":"))) > JSON_MARKS_MAX:
        return None
    try:
        value: Json = from_json(data, allow_inf_nan=False)
    except ValueError:
        value = _mended(data)
    return _finite(value) if _HUGE.search(data) else value


def _mended(data: bytes) -> Json:
    text = data.decode("utf-8-sig", "replace")
    with suppress(ValueError):
        return from_json(text, allow_inf_nan=False)
    if len(data) > MENDED_BYTES_MAX:
        return None
    try:
        value: Json = json.loads(text, parse_constant=_nothing)
        # Through text once more, which makes each half of a surrogate pair a question mark.
        return from_json(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None


def _nothing(_: str) -> None:
    """Stands for a number that JSON lacks."""


def _finite(value: Json) -> Json:
    """The value without infinities, which numbers such as 1e999 become."""
    if isinstance(value, list):
        return [_finite(element) for element in value]
    if isinstance(value, dict):
        return {name: _finite(element) for name, element in value.items()}
    return None if isinstance(value, float) and math.isinf(value) else value

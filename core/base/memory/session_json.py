"""The JSON array in a session's file, also in one that was cut off or is damaged in places."""

import json
from typing import Final

from core.base.json_text import INTEGER_DIGITS_MAX, Json
from core.base.text import lazy_pattern

MAX_FILE_BYTES: Final = 64 * 1024 * 1024
"""Largest session file that is read or written."""

_MAX_GAPS: Final = 100


def elements_of(data: bytes) -> tuple[list[Json], str | None]:
    """The elements that can be read, and what is wrong with the file (None: nothing)."""
    try:
        elements: Json = _DECODER.decode(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return _readable_elements(data.decode("utf-8-sig", "replace")), "it is not JSON"
    return (elements, None) if isinstance(elements, list) else ([], "it is not a JSON array")


def _readable_elements(text: str) -> list[Json]:
    """Elements of an array that is cut off or damaged in places.

    After damage, reading goes on at the next line that begins as items of ours begin.
    """
    elements: list[Json] = []
    position, gaps = 0, 0
    while gaps <= _MAX_GAPS:
        start = _NEXT_ITEM.match(text, position) or _FIRST_ITEM.search(text, position)
        if start is None:
            break
        position = start.end()
        try:
            element, position = _DECODER.raw_decode(text, position)
            elements.append(element)
        except (ValueError, RecursionError):
            gaps += 1
    return elements


def _integer(digits: str) -> Json:
    """An integer; one of more digits than Python reads stays text, so that the rest is read."""
    return int(digits) if len(digits) <= INTEGER_DIGITS_MAX else digits


_DECODER = json.JSONDecoder(parse_int=_integer)
_NEXT_ITEM = lazy_pattern(r"\s*,\s*(?=\{)")
_FIRST_ITEM = lazy_pattern(r"(?:\A\s*\[\s*|\n  )(?=\{)")

"""Where a value stands in a text: as a whole, however it is written there."""

import re
import unicodedata
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Final

from core.base.text import lazy_pattern
from core.values import Json

NUMBERS_CHARACTERS_MAX: Final = 1_000_000
"""In a longer text, numbers are looked for at its end."""

_NUMBER = lazy_pattern(r"(?<![\d.,])[+-]?\d{1,40}(?:[.,'](?=\d)\d{1,40}){0,8}")


def folded(text: str) -> str:
    """A text without differences that nobody means: case, width of signs, kinds of white space.

    Line breaks stay, so that lines can be counted.
    """
    plain = unicodedata.normalize("NFKC", text).casefold()
    return re.sub(r"[^\S\n]+", " ", plain)


def place_in(value: Json, text: str) -> int | None:
    """Where a value stands in a text that is `folded`, by its first character; None: nowhere."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return next((at for at, number in _numbers(text) if number == Decimal(str(value))), None)
    if not isinstance(value, str) or not any(map(str.isalnum, value)):
        return None  # marks alone (`*`, `/`) name nothing
    return next((start for start, _ in places_of(folded(value).strip(), text)), None)


_JOINTS: Final = frozenset("._@/\\-+%~#&")
"""Signs that join what stands beside them to one address, path or name."""


def places_of(value: str, text: str) -> Iterator[tuple[int, int]]:
    """Where a value stands as a whole: no part of a longer word, address or path."""
    start = text.find(value)
    while start >= 0:
        end = start + len(value)
        if not (_is_joined_before(value, text, start) or _is_joined_behind(text[end : end + 2])):
            yield start, end
        start = text.find(value, start + 1)


def _is_joined_before(value: str, text: str, start: int) -> bool:
    """Whether the sign before a value belongs to it; a path begins behind `file://`, too."""
    sign, is_path = text[max(0, start - 1) : start], value.startswith(("/", "\\", "~", "."))
    if sign == "/" and is_path and text[max(0, start - 7) : start].lower() == "file://":
        return False
    if sign == ":" and is_path:  # of a drive, or of a host
        return not text[max(0, start - 2) : start - 1].isspace()
    return sign.isalnum() or sign in _JOINTS


def _is_joined_behind(signs: str) -> bool:
    """Whether a word goes on with these two signs; the first may close a sentence or a folder."""
    sign, then = signs[:1], signs[1:]
    if sign in (".", "/", "\\", "-"):
        return then.isalnum() or then in _JOINTS or (sign in ("/", "\\") and then == "*")
    return sign != "#" and (sign.isalnum() or sign in _JOINTS)  # `a.md#part` names `a.md`


def _numbers(text: str) -> Iterator[tuple[int, Decimal]]:
    """The numbers in a text, each in every way in which it may be meant: 1,234 is two."""
    skipped = max(0, len(text) - NUMBERS_CHARACTERS_MAX)
    for found in _NUMBER.finditer(text, skipped):
        written = found[0].replace("'", "")
        forms = {written.replace(",", ""), written.replace(".", "").replace(",", ".")}
        for form in forms:
            try:
                yield found.start(), Decimal(form)
            except InvalidOperation:
                continue

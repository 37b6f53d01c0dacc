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
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return next((at for at, number in _numbers(text) if number == Decimal(str(value))), None)
    return _whole(folded(value).strip(), text) if isinstance(value, str) else None


def _whole(value: str, text: str) -> int | None:
    """Where a value stands as a whole; one of marks alone (`*`, `/`) names nothing."""
    if not any(map(str.isalnum, value)):
        return None
    at = text.find(value)
    while at >= 0:
        end = at + len(value)
        before = text[at - 1] if at > 0 else " "
        if not (_joins_before(before) or _joins_behind(text[end : end + 2])):
            return at
        at = text.find(value, at + 1)
    return None


_JOINTS: Final = frozenset("._@/\\-+%~#&")
"""Signs that join what stands beside them to one address, path or name."""


def _joins_before(sign: str) -> bool:
    return sign.isalnum() or sign in _JOINTS


def _joins_behind(signs: str) -> bool:
    """Whether a word goes on with these two signs; the first may close a sentence or a folder."""
    if not signs or not (signs[0].isalnum() or signs[0] in _JOINTS or signs[0] == ":"):
        return False
    closes = signs[0] in "./:-" and not (signs[1:].isalnum() or signs[1:] in _JOINTS)
    return not (closes or (signs[0] in "./:-" and len(signs) == 1))


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

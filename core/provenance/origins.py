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
    if not value:
        return None
    at = text.find(value)
    while at >= 0:
        end = at + len(value)
        before, after = text[at - 1 : at], text[end : end + 1]
        if not (_joins(before, value[0]) or _joins(after, value[-1])):
            return at
        at = text.find(value, at + 1)
    return None


def _joins(neighbour: str, edge: str) -> bool:
    """Whether two signs beside each other belong to one word."""
    return (neighbour.isalnum() or neighbour == "_") and (edge.isalnum() or edge == "_")


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

"""Where a value stands in a text: as a whole, however it is written there."""

import unicodedata
from collections.abc import Iterator
from decimal import Decimal
from functools import cached_property
from typing import Final

from core.base.text import lazy_pattern
from core.values import Json

NUMBERS_CHARACTERS_MAX: Final = 200_000
"""In a longer text, numbers are looked for at its end."""

NUMBERS_MAX: Final = 10_000
"""So many numbers of a text are known."""

PLACES_MAX: Final = 10_000
"""In so many places of a text it is tried whether a value stands there as a whole."""

_SPACES = lazy_pattern(r"[^\S\n]{2,}|[^\S\n ]")

_NUMBER = lazy_pattern(r"(?<![\d.,])[+-]?\d{1,40}(?:[.,'](?=\d)\d{1,40}){0,8}")


def folded(text: str) -> str:
    """A text without differences that nobody means: case, width of signs, kinds of white space.

    Line breaks stay, so that lines can be counted.
    """
    plain = (text if text.isascii() else unicodedata.normalize("NFKC", text)).casefold()
    return _SPACES.sub(" ", plain)


class Searched:
    """A text in which values are looked for; it is made ready for that once, by the first one."""

    def __init__(self, text: str) -> None:
        """Keep the text."""
        self.text = text

    @cached_property
    def _folded(self) -> str:
        return folded(self.text)

    @cached_property
    def _numbers(self) -> dict[Decimal, int]:
        """Where each number stands first."""
        found: dict[Decimal, int] = {}
        for at, number in _numbers(self._folded):
            found.setdefault(number, at)
            if len(found) >= NUMBERS_MAX:
                break
        return found

    def place(self, value: Json) -> int | None:
        """Where a value stands, by its first character; None: nowhere, as far as was looked."""
        if isinstance(value, bool):
            return None
        if isinstance(value, int | float):
            return self._numbers.get(Decimal(str(value)))
        return _whole(folded(value).strip(), self._folded) if isinstance(value, str) else None

    def line(self, place: int) -> int:
        """The number of the line of a place."""
        return self._folded.count("\n", 0, place) + 1


def place_in(value: Json, text: str) -> int | None:
    """Where a value stands in a short text."""
    return Searched(text).place(value)


def _whole(value: str, text: str) -> int | None:
    """Where a value stands as a whole; one of marks alone (`*`, `/`) names nothing."""
    if not any(map(str.isalnum, value)):
        return None
    at = text.find(value)
    for _ in range(PLACES_MAX):
        if at < 0:
            return None
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
    goes_on = signs[1:].isalnum() or signs[1:] in _JOINTS or signs[1:] == "*"
    closes = signs[0] in "./:-" and not goes_on
    return not (closes or (signs[0] in "./:-" and len(signs) == 1))


def _numbers(text: str) -> Iterator[tuple[int, Decimal]]:
    """The numbers in a text, as each may be meant: 1,234 in two ways, 98.70 in one."""
    skipped = max(0, len(text) - NUMBERS_CHARACTERS_MAX)
    for found in _NUMBER.finditer(text, skipped):
        written = found[0].replace("'", "")
        for group, point in ((",", "."), (".", ",")):
            whole, _, rest = written.partition(point)
            first, *others = whole.split(group)
            is_grouped = (
                all(len(each) in (2, 3) for each in others) and len((others or ["123"])[-1]) == 3
            )
            if is_grouped and (rest.isdigit() or point not in written):
                yield found.start(), Decimal(f"{first}{''.join(others)}.{rest or 0}")

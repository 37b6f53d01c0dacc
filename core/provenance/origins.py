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
        if not isinstance(value, str) or not any(map(str.isalnum, value)):
            return None  # marks alone (`*`, `/`) name nothing
        return next((start for start, _ in places_of(folded(value).strip(), self._folded)), None)

    def line(self, place: int) -> int:
        """The number of the line of a place."""
        return self._folded.count("\n", 0, place) + 1


def place_in(value: Json, text: str) -> int | None:
    """Where a value stands in a short text."""
    return Searched(text).place(value)


_JOINTS: Final = frozenset("._@/\\-+%~#&")
"""Signs that join what stands beside them to one address, path or name."""


def places_of(value: str, text: str) -> Iterator[tuple[int, int]]:
    """Where a value stands as a whole: no part of a longer word, address or path."""
    start = text.find(value)
    for _ in range(PLACES_MAX):
        if start < 0:
            return
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
    if sign == ":":  # a port or a line stands apart
        return then.isalpha()
    if sign in (".", "/", "\\", "-"):
        return then.isalnum() or then in _JOINTS or then == "*"
    return sign != "#" and (sign.isalnum() or sign in _JOINTS)  # `a.md#part` names `a.md`


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

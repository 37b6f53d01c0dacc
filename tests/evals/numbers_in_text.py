"""Numbers and times of day as they stand in an answer.

A list without spaces (`89,144,233`) and a number with separators (`89,144,233`) look the same, so
both readings are tried.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import time
from typing import TypeAlias, TypeVar

SEARCHED_CHARACTERS = 20_000
"""How much of an answer is looked at."""

DIGITS_MAX = 1_000
"""Longer runs of digits are no number that anybody asked for."""

CLOSE = 1e-9
"""Relative difference of decimal numbers that counts as none: what binary fractions lose."""

Number: TypeAlias = int | float

Value = TypeVar("Value")

_POWER_OF_TEN = re.compile(r"\s*(?:×|\*|·|x)\s*10\s*(?:\^|\*\*)\s*\{?\s*([+-]?\d{1,4})\}?")
_WHOLE = r"\d+"
_GROUPED = r"\d{1,3}(?:,\d{3})+(?!\d)|\d+"
_REST = r"(?:\.\d+)?(?:[eE][+-]?\d{1,4}(?!\d))?"
_CLOCK = re.compile(
    r"(?<![\d:+−-])(\d{1,2}):(\d{2})(?::\d{2})?(?:\.\d+)?\s*([ap])?(?:\.?m\b)?", re.IGNORECASE
)
_HOUR = re.compile(r"(?<![\d:.])(\d{1,2})\s*([ap])\.?m\b", re.IGNORECASE)
_NAMED = {"noon": time(12), "midnight": time(0)}


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far a number may be from the expected one, relative to it; None asks for the number.

    Whole numbers are then compared digit by digit, and decimal ones up to `CLOSE`.
    """

    relative: float | None = None

    def fits(self, found: Number, expected: Number) -> bool:
        """Whether `found` passes for `expected`."""
        if self.relative is None and isinstance(found, int) and isinstance(expected, int):
            return found == expected
        try:
            if self.relative is None and isinstance(expected, int) and abs(expected) > 2**53:
                return found == expected
            return math.isclose(found, expected, rel_tol=self.relative or CLOSE, abs_tol=CLOSE)
        except OverflowError:
            return False


def numbers_in(text: str, *, grouped: bool = True) -> list[Number]:
    """The numbers of a text in order; with `grouped`, commas between thousands are part of one."""
    text = text[:SEARCHED_CHARACTERS].replace("−", "-")
    pattern = re.compile(rf"(?<![\w.])(-?)((?:{_GROUPED if grouped else _WHOLE}){_REST})")
    found: list[Number] = []
    for match in pattern.finditer(text):
        number = _number(match[1] + match[2].replace(",", ""))
        power = _POWER_OF_TEN.match(text, match.end())
        if power is not None:
            number = number * 10.0 ** max(-300, min(300, int(power[1])))
        found.append(number)
    return found


def holds_number(text: str, asked: str, expected: Number, tolerance: Tolerance) -> bool:
    """Whether `expected` is the first or last number of the answer.

    Numbers that repeat those of the request don't count, unless there are no others.
    """
    return any(
        tolerance.fits(number, expected)
        for grouped in (True, False)
        for number in _ends(_without(numbers_in(text, grouped=grouped), numbers_in(asked)))
    )


def ends_in_number(text: str, expected: Number, tolerance: Tolerance) -> bool:
    """Whether `expected` is the last number of the answer."""
    return any(
        tolerance.fits(number, expected)
        for grouped in (True, False)
        for number in numbers_in(text, grouped=grouped)[-1:]
    )


def holds_numbers(text: str, expected: Sequence[Number], tolerance: Tolerance) -> bool:
    """Whether the answer has all of `expected`, in any order, each in a place of its own."""
    return any(
        _holds_each(numbers_in(text, grouped=grouped), expected, tolerance)
        for grouped in (True, False)
    )


def holds_sequence(text: str, expected: Sequence[Number], tolerance: Tolerance) -> bool:
    """Whether `expected` stands in the answer as one row, with no other number in between."""
    length = len(expected)
    for grouped in (True, False):
        found = numbers_in(text, grouped=grouped)
        for start in range(len(found) - length + 1):
            row = found[start : start + length]
            if all(tolerance.fits(a, b) for a, b in zip(row, expected, strict=True)):
                return True
    return False


def times_in(text: str) -> list[time]:
    """The times of day in a text, `17:40`, `5:40 pm`, `5 pm`, `noon`; offsets are none."""
    text = text[:SEARCHED_CHARACTERS]
    found = [(m.start(), _time(m[1], m[2], m[3])) for m in _CLOCK.finditer(text)]
    found += [(m.start(), _time(m[1], "0", m[2])) for m in _HOUR.finditer(text)]
    lowered = text.casefold()
    found += [(lowered.find(name), value) for name, value in _NAMED.items() if name in lowered]
    return [value for _, value in sorted(found, key=lambda pair: pair[0]) if value is not None]


def holds_time(text: str, asked: str, expected: time) -> bool:
    """Whether `expected` is the first or last time of the answer; see `holds_number`."""
    return expected in _ends(_without(times_in(text), times_in(asked)))


def _ends(values: list[Value]) -> list[Value]:
    return [values[0], values[-1]] if values else []


def _without(found: list[Value], asked: list[Value]) -> list[Value]:
    """What was found beyond what was asked, each as often as it is more; all, if that is none."""
    repeated = Counter(asked)
    left: list[Value] = []
    for value in found:
        if repeated[value] > 0:
            repeated[value] -= 1
        else:
            left.append(value)
    return left or found


def _holds_each(found: list[Number], expected: Sequence[Number], tolerance: Tolerance) -> bool:
    left = list(found)
    for number in expected:
        place = next((i for i, n in enumerate(left) if tolerance.fits(n, number)), None)
        if place is None:
            return False
        del left[place]
    return True


def _number(text: str) -> Number:
    if len(text) > DIGITS_MAX:
        return math.nan
    try:
        return int(text)
    except ValueError:
        return float(text)


def _time(hour: str, minute: str, half: str | None) -> time | None:
    hours, minutes = int(hour), int(minute)
    if half is not None:
        hours = hours % 12 + (12 if half.lower() == "p" else 0)
    return time(hours, minutes) if hours < 24 and minutes < 60 else None

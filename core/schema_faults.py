"""What is wrong with a value that doesn't fit its JSON Schema: where, and what was expected."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from core.schema_words import kind_words, value_words
from core.values import Json

EXPECTED_CHARACTERS_MAX: Final = 300
"""Where a value may be many things, so much of what they are is told."""

MISSING: Final = "is missing"
"""What to say of a key that must be there."""

SPELLED_CHARACTERS_MAX: Final = 40
"""Longer text spells no number."""

_NUMBER: Final = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,2})?")
_WHOLE: Final = re.compile(r"-?(0|[1-9][0-9]*)")

Place: TypeAlias = tuple[str | int, ...]
"""Where in a value: keys and indices, outermost first."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong.

    `words` go behind the name of the place ("must be a number, not the text 'five'"). `expected`
    are those of what should be there, if that can be said in so many words. `is_kind` tells that
    the value is of a wrong type; `meant` is then the number that a text spells, where a number was
    expected and text was not.
    """

    place: Place
    words: str
    expected: str = ""
    is_kind: bool = False
    meant: int | float | None = None


def wrong_type(place: Place, value: Json, kinds: Sequence[str]) -> Fault:
    """A value of none of these types, as JSON Schema calls them."""
    expected = kind_words(kinds)
    words = f"must be {expected}, not {value_words(value)}"
    return Fault(place, words, expected, True, _spelled(value, kinds))


def none_fits(choices: Sequence[Sequence[Fault]], place: Place, value: Json) -> Sequence[Fault]:
    """The faults to tell of a value that fits none of several schemas.

    Those of a schema with another type don't matter if the type is right for one. Of what is left
    either all are told in one sentence, or those of the schema that has fewest: the nearest.
    """
    right = [faults for faults in choices if not any(_is_wrong_kind(f, place) for f in faults)]
    left = right or choices
    own = [faults[0] for faults in left if len(faults) == 1]
    if len(own) < len(left) or not all(f.place == place and f.expected for f in own):
        first, *others = min(left, key=len)
        forms = f" (in the nearest of its {len(left)} forms)" if len(left) > 1 else ""
        return [replace(first, words=f"{first.words}{forms}"), *others]
    expected = " or ".join(dict.fromkeys(fault.expected for fault in own))
    if len(expected) > EXPECTED_CHARACTERS_MAX:
        expected = f"{expected[:EXPECTED_CHARACTERS_MAX]}…"
    meant = next((fault.meant for fault in own if fault.meant is not None), None)
    words = f"must be {expected}, not {value_words(value)}"
    return [Fault(place, words, expected, not right, meant)]


def _is_wrong_kind(fault: Fault, place: Place) -> bool:
    return fault.is_kind and fault.place == place


def _spelled(value: Json, kinds: Sequence[str]) -> int | float | None:
    """The number that a text spells as JSON does, if one is wanted of that kind."""
    if not isinstance(value, str) or len(value) > SPELLED_CHARACTERS_MAX:
        return None
    text = value.strip()
    if {"integer", "number"} & {*kinds} and _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if "number" in kinds and _NUMBER.fullmatch(text) else None

"""What a JSON Schema expects and what a value is, in the words of someone who writes Python.

They end up in the error that a plan's author, mostly a model, has to act on. Names and values come
from servers and plans: each is quoted in part only, and as Python writes it, escapes included;
lists and dicts are quoted as JSON.
"""

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final, TypeAlias

from core.base.json_preview import json_start
from core.values import Json

QUOTED_CHARACTERS_MAX: Final = 60
"""How much of a text, a name or a number is quoted."""

OPTIONS_SHOWN: Final = 12
"""How many allowed values or known names are listed."""

OPTIONS_COMPARED_MAX: Final = 500
"""How many allowed values or known names are searched for one that looks alike."""

NEARNESS: Final = 0.6
"""From which likeness on (difflib's ratio) a name is worth proposing."""

_KINDS: Final = MappingProxyType(
    {
        "string": "text",
        "integer": "a whole number",
        "number": "a number",
        "boolean": "True or False",
        "array": "a list",
        "object": "a dict",
        "null": "None",
    }
)


def kind_words(kinds: Iterable[str]) -> str:
    """Types of JSON Schema: "a number or None"."""
    return " or ".join(dict.fromkeys(_KINDS.get(kind, kind) for kind in kinds))


def value_words(value: Json) -> str:
    """A value for the end of a sentence: "the text 'five'", "None", "an empty list"."""
    match value:
        case str():
            return f"the text {quoted(value)}"
        case list():
            return "a list" if value else "an empty list"
        case dict():
            return "a dict" if value else "an empty dict"
        case _:
            return quoted(value)


def option_words(options: Sequence[Json], value: Json) -> str:
    """The values of an enumeration, those first that look like the one that was given."""
    if len(options) == 1:
        return quoted(options[0])
    if len(options) > OPTIONS_SHOWN and isinstance(value, str):
        texts = [text for text in options[:OPTIONS_COMPARED_MAX] if isinstance(text, str)]
        options = [*dict.fromkeys([*nearest(value, texts), *texts])] or options
    shown = [*dict.fromkeys(quoted(option) for option in options[:OPTIONS_SHOWN])]
    return f"one of {_listed(shown, max(len(options) - OPTIONS_SHOWN, 0))}"


def unknown_words(name: str, known: Iterable[str]) -> str:
    """What to say of a name that an object may not have, behind it."""
    names = [*known]
    if near := nearest(name, names):
        return f"is unknown; did you mean {' or '.join(map(quoted, near))}?"
    if not names:
        return "is unknown; nothing may be given here"
    listed = _listed([*map(quoted, names[:OPTIONS_SHOWN])], max(len(names) - OPTIONS_SHOWN, 0))
    return f"is unknown; there may be {listed}"


def nearest(name: str, names: Sequence[str], most: int = 2) -> list[str]:
    """The names that look most like one, case aside; none if none does."""
    cut = name[:QUOTED_CHARACTERS_MAX].lower()
    lowered: dict[str, str] = {}
    for known in names[:OPTIONS_COMPARED_MAX]:
        lowered.setdefault(known[:QUOTED_CHARACTERS_MAX].lower(), known)
    return [lowered[near] for near in difflib.get_close_matches(cut, lowered, most, NEARNESS)]


def quoted(value: Json) -> str:
    """A value as Python writes it, cut to what anyone reads."""
    if isinstance(value, str):
        cut = len(value) > QUOTED_CHARACTERS_MAX
        return repr(f"{value[:QUOTED_CHARACTERS_MAX]}…" if cut else value)
    if isinstance(value, dict | list):
        return json_start(value, QUOTED_CHARACTERS_MAX)
    if isinstance(value, int) and value.bit_length() > 4 * QUOTED_CHARACTERS_MAX:
        return "a number of very many digits"  # `repr` takes the square of their number
    return repr(value)


def _listed(shown: Sequence[str], more: int) -> str:
    return f"{', '.join(shown)}{f' and {more:,} more' if more else ''}"


# What is wrong with a value that doesn't fit its JSON Schema: where, and what was expected.

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

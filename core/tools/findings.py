"""What a validator finds wrong with a value, in words that a plan's author can act on.

They tell what is expected and what is there, as someone who writes Python would. Names and values
come from servers and plans: each is quoted in part only, and as Python writes it, escapes included;
lists and dicts are quoted as JSON.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from types import MappingProxyType
from typing import Final, TypeAlias, cast

from jsonschema_rs import ValidationError
from jsonschema_rs import ValidationErrorKind as Kind

from core.base.frozen import frozen
from core.base.json_text import json_start
from core.base.text import lazy_pattern, listed, near_names, shorten
from core.tools.formats import FORMAT_WORDS
from core.tools.json_schema import as_object, value_at
from core.values import Json, JsonObject

FAULTS_MAX: Final = 100
"""No more faults are told of one value."""

QUOTED_CHARACTERS_MAX: Final = 60
"""How much of a text, a name or a number is quoted."""

OPTIONS_SHOWN: Final = 12
"""How many allowed values or known names are listed."""

OPTIONS_COMPARED_MAX: Final = 500
"""How many allowed values or known names are searched for one that looks alike."""

EXPECTED_CHARACTERS_MAX: Final = 300
"""Where a value may be many things, so much of what they are is told."""

SPELLED_CHARACTERS_MAX: Final = 40
"""Longer text spells no number."""

MESSAGE_CHARACTERS_MAX: Final = 500
"""How much of a validator's own message is passed on."""

MISSING: Final = "is missing"
"""What to say of a key that must be there."""

NOTHING_ALLOWED: Final = (
    "can have no value: the tool's schema allows none (its enum is empty); leave it out, or use "
    "another tool"
)

_NUMBER: Final = lazy_pattern(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,2})?")
_WHOLE: Final = lazy_pattern(r"-?(0|[1-9][0-9]*)")

KIND_WORDS: Final = MappingProxyType(
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
"""The types of JSON as a model is told of them."""

_BOUNDS: Final = MappingProxyType(
    {
        "minimum": "must be at least {}",
        "maximum": "must be at most {}",
        "exclusiveMinimum": "must be above {}",
        "exclusiveMaximum": "must be below {}",
        "minLength": "must have at least {} characters",
        "maxLength": "must have at most {} characters",
        "minItems": "must have at least {} items",
        "maxItems": "must have at most {} items",
        "minProperties": "must have at least {} keys",
        "maxProperties": "must have at most {} keys",
    }
)
"""Keywords that bound a number, or how much there is of something."""

Place: TypeAlias = tuple[str | int, ...]
"""Where in a value: keys and indices, outermost first."""


@frozen
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


def faults_of(found: Iterable[ValidationError], schema: JsonObject) -> tuple[Fault, ...]:
    """What a validator of `schema` has found, the first of it, in words."""
    return tuple(islice(_faults(found, schema), FAULTS_MAX))


def _faults(found: Iterable[ValidationError], schema: JsonObject) -> Iterator[Fault]:
    """The faults; of a value of a wrong type nothing else is said."""
    errors = [*found]
    wrong = {_schema_place(error) for error in errors if _is_of_type(error)}
    for error in errors:
        place = _schema_place(error)
        ends = range(len(place) if _is_of_type(error) else len(place) + 1)
        if wrong.isdisjoint(place[:end] for end in ends):
            yield from _told(error, schema)


def _told(error: ValidationError, schema: JsonObject) -> Iterable[Fault]:
    place = (*error.instance_path,)
    value = cast("Json", error.instance)
    keyword = error.kind.name
    said = as_object(value_at(schema, error.schema_path[:-1]))
    match error.kind:
        case Kind.Required(name):
            return [Fault((*place, name), MISSING)]
        case Kind.AdditionalProperties(names):
            known = as_object(said.get("properties"))
            return [Fault((*place, name), unknown_words(name, known)) for name in names]
        case Kind.AnyOf(context):
            told = [[*_faults(errors, schema)] for errors in context]
            return _none_fits(place, value, told)
        case _ if keyword in _BOUNDS:
            return [_out_of_bounds(place, value, _BOUNDS[keyword], said.get(keyword))]
        case _ if keyword in _TOLD:
            return [_TOLD[keyword](place, value, said.get(keyword))]
        case _:
            return [Fault(place, f": {error.message[:MESSAGE_CHARACTERS_MAX]}")]


def _none_fits(place: Place, value: Json, told: Sequence[Sequence[Fault]]) -> Sequence[Fault]:
    """The faults to tell of a value that fits none of several schemas; `told` has those of each.

    Those of a schema with another type don't matter if the type is right for one. Of what is
    left either all are told in one sentence, or those of the schema that has fewest: the
    nearest. Of a schema that allows nothing nobody should be told.
    """
    choices = [one for one in told if one and one != [Fault(place, NOTHING_ALLOWED)]]
    if not choices:
        return [Fault(place, NOTHING_ALLOWED)]
    right = [one for one in choices if not any(f.is_kind and f.place == place for f in one)]
    left = right or choices
    own = [faults[0] for faults in left if len(faults) == 1]
    if len(own) < len(left) or not all(f.place == place and f.expected for f in own):
        first, *others = min(left, key=len)
        forms = f" (in the nearest of its {len(left)} forms)" if len(left) > 1 else ""
        return [replace(first, words=f"{first.words}{forms}"), *others]
    expected = " or ".join(dict.fromkeys(fault.expected for fault in own))
    expected = shorten(expected, EXPECTED_CHARACTERS_MAX)
    meant = next((fault.meant for fault in own if fault.meant is not None), None)
    return [replace(_wrong(place, value, expected), is_kind=not right, meant=meant)]


def _is_of_type(error: ValidationError) -> bool:
    return isinstance(error.kind, Kind.Type)


def _schema_place(error: ValidationError) -> Place:
    """The way to the schema whose keyword is broken, references included."""
    return (*error.evaluation_path[:-1],)


def _wrong(place: Place, value: Json, expected: str) -> Fault:
    return Fault(place, f"must be {expected}, not {value_words(value)}", expected)


def _wrong_type(place: Place, value: Json, kinds: Json) -> Fault:
    names = [str(kind) for kind in (kinds if isinstance(kinds, list) else [kinds])]
    expected = " or ".join(dict.fromkeys(KIND_WORDS.get(kind, kind) for kind in names))
    return replace(_wrong(place, value, expected), is_kind=True, meant=_spelled(value, names))


def _unequal(place: Place, value: Json, options: Json) -> Fault:
    if not isinstance(options, list) or not options:
        return Fault(place, NOTHING_ALLOWED)
    return _wrong(place, value, option_words(options, value))


def _repeating(place: Place, value: Json, _: Json) -> Fault:
    items = value if isinstance(value, list) else []
    different = {json.dumps(item, sort_keys=True) for item in items}
    repeats = f"{len(items) - len(different):,} of its {len(items):,} items repeat another"
    return Fault(place, f"must be a list without repeats: {repeats}", "a list without repeats")


def _out_of_bounds(place: Place, value: Json, words: str, limit: Json) -> Fault:
    if not isinstance(value, str | list | dict):
        return Fault(place, f"{words.format(quoted(limit))}, not {value_words(value)}")
    told = words.format(f"{limit:,}" if isinstance(limit, int) else quoted(limit))
    told = told.removesuffix("s") if limit == 1 else told
    return Fault(place, f"{told}, not {len(value):,}")


_TOLD: Final = MappingProxyType[str, Callable[[Place, Json, Json], Fault]](
    {
        "type": _wrong_type,
        "enum": _unequal,
        "const": lambda place, value, only: _unequal(place, value, [only]),
        "uniqueItems": _repeating,
        "multipleOf": lambda place, value, step: _wrong(
            place, value, f"a multiple of {quoted(step)}"
        ),
        "pattern": lambda place, value, pattern: _wrong(
            place, value, f"text that matches the pattern {quoted(pattern)}"
        ),
        "format": lambda place, value, name: _wrong(
            place, value, FORMAT_WORDS.get(str(name), f"a {name}")
        ),
        "falseSchema": lambda place, _, __: Fault(place, "can't be given here"),
    }
)
"""What breaks a keyword, told by the place, the value and what stands behind the keyword."""


def _spelled(value: Json, kinds: Sequence[str]) -> int | float | None:
    """The number that a text spells as JSON does, if one is wanted of that kind and no text."""
    if not isinstance(value, str) or len(value) > SPELLED_CHARACTERS_MAX:
        return None
    text = value.strip()
    if {"integer", "number"} & {*kinds} and _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if "number" in kinds and _NUMBER.fullmatch(text) else None


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
    beyond = max(len(options) - OPTIONS_SHOWN, 0)
    return f"one of {listed(shown, len(shown) + beyond)}"


def unknown_words(name: str, known: Iterable[str]) -> str:
    """What to say of a name that an object may not have, behind it."""
    names = [*known]
    if near := nearest(name, names):
        return f"is unknown; did you mean {' or '.join(map(quoted, near))}?"
    if not names:
        return "is unknown; nothing may be given here"
    shown = listed(map(quoted, names[:OPTIONS_SHOWN]), len(names))
    return f"is unknown; there may be {shown}"


def nearest(name: str, names: Sequence[str], most: int = 2) -> list[str]:
    """The names that look most like one, case aside; none if none does."""
    return near_names(
        name,
        names[:OPTIONS_COMPARED_MAX],
        most=most,
        form=lambda one: one[:QUOTED_CHARACTERS_MAX].lower(),
    )


def quoted(value: Json) -> str:
    """A value as Python writes it, cut to what anyone reads."""
    if isinstance(value, str):
        return repr(shorten(value, QUOTED_CHARACTERS_MAX))
    if isinstance(value, dict | list):
        return json_start(value, QUOTED_CHARACTERS_MAX)
    if isinstance(value, int) and value.bit_length() > 4 * QUOTED_CHARACTERS_MAX:
        return "a number of very many digits"  # `repr` takes the square of their number
    return repr(value)

"""A value held against a JSON Schema (2020-12), with every fault told where and what it is.

The usual keywords are understood here, which takes microseconds and imports nothing; of others
the walk says only that it can't tell (`Verdict.certain`), and `core.tools.schema_check` is
asked. Schema and value may be hostile, so a walk is bounded in steps and depth.

The reading departs from the specification where servers do: OpenAPI's `nullable: true` allows
null, a value may fit several schemas of a `oneOf` (else the caller could do nothing about it), and
formats of undoubted meaning are checked (`core.tools.schema_keywords`).
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from core.tools.json_schema import follow
from core.tools.schema_check import LinearPatterns
from core.tools.schema_faults import (
    MISSING,
    Fault,
    Place,
    none_fits,
    option_words,
    quoted,
    unknown_words,
    value_words,
    wrong_type,
)
from core.tools.schema_keywords import BOUNDS, TYPES, format_breach, is_number, is_same
from core.tools.schema_plain import plain_types
from core.values import Json, JsonObject

WALK_STEPS_MAX: Final = 400_000
"""What one walk may cost in all; a step takes well under a microsecond."""

STEPS_A_SCHEMA: Final = 20
"""What it takes to look at one schema, wherever it is met."""

WALK_DEPTH_MAX: Final = 64
"""Schemas within schemas that one walk enters, references and choices counted."""

FAULTS_MAX: Final = 100
"""A walk tells no more faults."""

STEPS_A_LIKENESS: Final = 20
"""What it takes to compare a name with one that it may have been meant for."""

STEPS_A_MATCHED_CHARACTER: Final = 20
"""What a regular expression takes for each character of a text, at worst."""

NOTHING_ALLOWED: Final = (
    "can have no value: the tool's schema allows none (its enum is empty); leave it out, or use "
    "another tool"
)

_OF_OTHERS: Final = frozenset(
    {
        *("$id", "id", "$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveRef", "not", "if"),
        *("contains", "patternProperties", "propertyNames", "additionalItems", "dependencies"),
        *("dependentRequired", "dependentSchemas", "unevaluatedItems", "unevaluatedProperties"),
    }
)
"""Keywords that the walk doesn't understand; any word that isn't here says nothing of values."""

_OLD_DRAFTS: Final = ("draft-03", "draft-04", "draft-06", "draft-07")
"""Where what stands beside a `$ref` is ignored."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The faults that were found, and whether there can be no others."""

    faults: tuple[Fault, ...]
    certain: bool


def walk_schema(schema: JsonObject, value: Json, patterns: LinearPatterns) -> Verdict:
    """Hold a value against a schema, whose local references point into it.

    `patterns` keeps the regular expressions of this schema from one walk to the next.
    """
    walk = _Walk(schema, patterns)
    try:
        faults = walk.faults(schema, _At(value, (), 0))
    except _TooLong:
        return Verdict((), certain=False)
    return Verdict(tuple(faults[:FAULTS_MAX]), walk.certain)


class _TooLong(Exception):
    """The walk is out of steps."""


class _At(NamedTuple):
    """Where the walk stands: a value, its place, and how deep in the schema that is."""

    value: Json
    place: Place
    depth: int

    def inside(self, part: str | int, value: Json) -> "_At":
        """One step into the value."""
        return _At(value, (*self.place, part), self.depth + 1)

    def again(self) -> "_At":
        """The same value, for a schema within the schema."""
        return _At(self.value, self.place, self.depth + 1)

    def wrong(self, expected: str) -> Fault:
        """A fault of the value itself."""
        return Fault(self.place, f"must be {expected}, not {value_words(self.value)}", expected)


_Check: TypeAlias = Callable[[JsonObject, _At], Iterable[Fault]]


class _Walk:
    """One walk; `certain` turns false where it meets what it can't decide."""

    def __init__(self, root: JsonObject, patterns: LinearPatterns) -> None:
        self.certain = True
        self._root = root
        self._patterns = patterns
        self._steps_left = WALK_STEPS_MAX
        draft = root.get("$schema")
        self._is_old = isinstance(draft, str) and any(old in draft for old in _OLD_DRAFTS)
        self._checks: dict[str, _Check] = {
            "$ref": self._ref,
            "allOf": self._all,
            "anyOf": self._any,
            "oneOf": self._one,
            "enum": self._enum,
            "const": self._const,
            "multipleOf": self._multiple,
            "pattern": self._pattern,
            "format": self._format,
            "required": self._required,
            "properties": self._properties,
            "additionalProperties": self._additional,
            "items": self._items,
            "prefixItems": self._prefix,
            "uniqueItems": self._unique,
        }

    def faults(self, schema: Json, at: _At) -> list[Fault]:
        """What is wrong with a value; of one of a wrong type nothing else is said."""
        if isinstance(schema, bool):
            return [] if schema else [Fault(at.place, "can't be given here")]
        if not isinstance(schema, dict) or at.depth > WALK_DEPTH_MAX:
            return self._unsure()
        self._spend(STEPS_A_SCHEMA + len(schema))
        if self._is_old and "$ref" in schema:
            return [*self._ref(schema, at)]
        if "type" in schema and (wrong := self._type(schema, at)):
            return wrong
        found: list[Fault] = []
        for keyword in schema:
            if (check := self._checks.get(keyword)) is not None:
                found += check(schema, at)
            elif keyword in BOUNDS:
                found += self._bound(keyword, schema[keyword], at)
            elif keyword in _OF_OTHERS:
                self.certain = False
        return found

    def _spend(self, steps: int) -> None:
        self._steps_left -= steps
        if self._steps_left < 0:
            raise _TooLong

    def _unsure(self) -> list[Fault]:
        self.certain = False
        return []

    def _type(self, schema: JsonObject, at: _At) -> list[Fault]:
        kinds = schema["type"]
        if isinstance(kinds, str) and kinds in TYPES and TYPES[kinds](at.value):
            return []
        names = kinds if isinstance(kinds, list) else [kinds]
        self._spend(len(names))
        known = [name for name in names if isinstance(name, str) and name in TYPES]
        if any(TYPES[kind](at.value) for kind in known):
            return []
        if not known or len(known) < len(names):
            return self._unsure()
        if at.value is None and schema.get("nullable") is True:
            return []
        return [wrong_type(at.place, at.value, known)]

    def _ref(self, schema: JsonObject, at: _At) -> Iterable[Fault]:
        ref = schema["$ref"]
        target = follow(ref, self._root) if isinstance(ref, str) else None
        return self._unsure() if target is None else self.faults(target, at.again())

    def _all(self, schema: JsonObject, at: _At) -> Iterator[Fault]:
        for part in self._list(schema["allOf"]):
            yield from self.faults(part, at.again())

    def _any(self, schema: JsonObject, at: _At) -> Iterable[Fault]:
        return self._chosen(schema["anyOf"], at)

    def _one(self, schema: JsonObject, at: _At) -> Iterable[Fault]:
        return self._chosen(schema["oneOf"], at)

    def _chosen(self, choices: Json, at: _At) -> Iterable[Fault]:
        """The faults of the choice that comes nearest, if surely none fits."""
        before, self.certain = self.certain, True
        refused: list[list[Fault]] = []
        may_fit = False
        for choice in self._list(choices):
            if isinstance(choice, dict) and choice.get("enum") == []:
                continue  # nothing is of that choice, and nobody should be told so
            found = self.faults(choice, at.again())
            if found:
                refused.append(found)
            elif self.certain:
                self.certain = before
                return ()
            else:
                may_fit = True
            self.certain = True
        self.certain = before
        return self._unsure() if may_fit or not refused else none_fits(refused, at.place, at.value)

    def _enum(self, schema: JsonObject, at: _At) -> Iterable[Fault]:
        options = schema["enum"]
        if not isinstance(options, list):
            return self._unsure()
        if not options:
            return (Fault(at.place, NOTHING_ALLOWED),)
        return self._equal(options, at)

    def _const(self, schema: JsonObject, at: _At) -> Iterable[Fault]:
        return self._equal([schema["const"]], at)

    def _equal(self, options: list[Json], at: _At) -> Iterable[Fault]:
        self._spend(len(options))
        if isinstance(at.value, dict | list) and any(isinstance(o, dict | list) for o in options):
            return self._unsure()  # comparing them may take long
        if any(is_same(option, at.value) for option in options):
            return ()
        self._spend(STEPS_A_LIKENESS * len(options))
        return (at.wrong(option_words(options, at.value)),)

    def _bound(self, keyword: str, limit: Json, at: _At) -> Iterable[Fault]:
        measure, words, fits = BOUNDS[keyword]
        if (size := measure(at.value)) is None:
            return ()
        if not is_number(limit):
            return self._unsure()
        if fits(size, limit):
            return ()
        if is_number(at.value):
            return (Fault(at.place, f"{words.format(quoted(limit))}, not {value_words(at.value)}"),)
        told = words.format(f"{limit:,}")
        told = told.removesuffix("s") if limit == 1 else told
        return (Fault(at.place, f"{told}, not {size:,}"),)

    def _multiple(self, schema: JsonObject, at: _At) -> Iterable[Fault]:
        step, value = schema["multipleOf"], at.value
        if not is_number(value):
            return ()
        if not (isinstance(value, int) and isinstance(step, int) and step > 0):
            return self._unsure()  # what decimals are multiples of is for others to say
        return () if value % step == 0 else (at.wrong(f"a multiple of {quoted(step)}"),)

    def _pattern(self, schema: JsonObject, at: _At) -> Iterable[Fault]:
        pattern = schema["pattern"]
        if not isinstance(at.value, str):
            return ()
        self._spend(STEPS_A_MATCHED_CHARACTER * len(at.value))
        fits = self._patterns.matches(pattern, at.value) if isinstance(pattern, str) else None
        if fits is None:
            return self._unsure()
        return () if fits else (at.wrong(f"text that matches the pattern {quoted(pattern)}"),)

    def _format(self, schema: JsonObject, at: _At) -> Iterator[Fault]:
        name = schema["format"]
        if isinstance(name, str) and isinstance(at.value, str):
            expected = format_breach(name, at.value)
            if expected is not None:
                yield at.wrong(expected)

    def _required(self, schema: JsonObject, at: _At) -> Iterator[Fault]:
        names = self._list(schema["required"])
        self._spend(len(names))
        if isinstance(at.value, dict):
            for name in names:
                if isinstance(name, str) and name not in at.value:
                    yield Fault((*at.place, name), MISSING)

    def _properties(self, schema: JsonObject, at: _At) -> Iterator[Fault]:
        properties = schema["properties"]
        if not isinstance(properties, dict):
            self.certain = False
        elif isinstance(at.value, dict):
            for name, value in at.value.items():
                if name in properties:
                    yield from self.faults(properties[name], at.inside(name, value))

    def _additional(self, schema: JsonObject, at: _At) -> Iterator[Fault]:
        more, named = schema["additionalProperties"], schema.get("properties", {})
        if not isinstance(at.value, dict) or more is True:
            return
        if "patternProperties" in schema or not isinstance(named, dict):
            self.certain = False
            return
        for name, value in at.value.items():
            if name in named:
                continue
            if more is False:
                self._spend(STEPS_A_LIKENESS * (1 + len(named)))
                yield Fault((*at.place, name), unknown_words(name, named))
            else:
                yield from self.faults(more, at.inside(name, value))

    def _items(self, schema: JsonObject, at: _At) -> Iterable[Fault]:
        items, first = schema["items"], schema.get("prefixItems", [])
        if not isinstance(at.value, list):
            return ()
        if isinstance(items, list) or not isinstance(first, list) or (first and self._is_old):
            return self._unsure()
        self._spend(len(at.value) // 16)
        return self._each(items, at.value, at, len(first))

    def _each(self, schema: Json, values: list[Json], at: _At, start: int) -> Iterator[Fault]:
        fine = plain_types(schema)
        for index, value in enumerate(values):
            if index >= start and type(value) not in fine:
                yield from self.faults(schema, at.inside(index, value))

    def _prefix(self, schema: JsonObject, at: _At) -> Iterator[Fault]:
        schemas = self._list(schema["prefixItems"])
        if self._is_old:
            self.certain = False  # no keyword of theirs
        elif isinstance(at.value, list):
            for index, (part, value) in enumerate(zip(schemas, at.value, strict=False)):
                yield from self.faults(part, at.inside(index, value))

    def _unique(self, schema: JsonObject, at: _At) -> Iterable[Fault]:
        if schema["uniqueItems"] is not True or not isinstance(at.value, list):
            return ()
        self._spend(len(at.value))
        seen: set[tuple[bool, str | int | float | None]] = set()
        for item in at.value:
            if isinstance(item, dict | list):
                return self._unsure()
            seen.add((isinstance(item, bool), item))
        if len(seen) == len(at.value):
            return ()
        repeats = f"{len(at.value) - len(seen):,} of its {len(at.value):,} items repeat another"
        expected = "a list without repeats"
        return (Fault(at.place, f"must be {expected}: {repeats}", expected),)

    def _list(self, value: Json) -> list[Json]:
        """What must be a list in a schema; the walk is unsure where it is none."""
        if isinstance(value, list):
            return value
        self.certain = False
        return []

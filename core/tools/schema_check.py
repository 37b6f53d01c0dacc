"""JSON Schemas of servers as validators that can't trap us, for arguments and for results.

A schema comes from a server, what it is held against from a server or a plan: both may be
hostile. So the check is left to jsonschema-rs, whose regular expressions take linear time and which
fetches nothing, and whatever could still take long is left unchecked: references that fan out,
values out of all proportion, patterns on long text. It holds the interpreter lock while it works;
the bounds here keep that to some tens of milliseconds.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.tools.json_schema import follow
from core.values import Json, JsonObject

if TYPE_CHECKING:
    from jsonschema_rs import Validator

CHECK_STEPS_MAX = 1_000_000
"""Parts of a schema times parts of a value; a step takes some tens of nanoseconds."""

SCHEMA_PARTS_MAX = 20_000
"""A schema of more parts, its references followed, is not used."""

SCHEMA_DEPTH_MAX = 200
"""A schema that is nested deeper, its references followed, is not used: validators recurse."""

TEXT_CHARACTERS_A_PART = 64
"""So many characters of a value's text count as a part: lengths and names look at each."""

PATTERN_BYTES_MAX = 32 * 1024
"""Size of a compiled regular expression; each character of a text may cost a walk through it."""

PATTERNS_BYTES_MAX = 1024 * 1024
"""Size of all compiled regular expressions of a schema: compiling takes time too."""

PATTERN_CHARACTERS_MAX = 2_000
"""Length of all regular expressions of a schema; reading a long one takes longer than its share."""

MATCHED_CHARACTERS_MAX = 2_000
"""Characters of text times patterns of a schema; each may take ten microseconds."""

REPORTED_PARTS_MAX = 2_000
"""Breaches in larger values are told without details: a report copies the value again and again."""

REPORT_CHARACTERS_MAX = 500
"""How much of the report on a breach is passed on."""


@dataclass(frozen=True, slots=True)
class Breach:
    """The first thing in a value that breaks its schema; the place is keys and indices."""

    place: tuple[str | int, ...]
    message: str

    def __str__(self) -> str:
        """Both, the place as Python's subscripts."""
        place = "".join(f"[{part!r}]" for part in self.place)
        return f"{place or 'it'}: {self.message}"[:REPORT_CHARACTERS_MAX]


class CompiledSchema:
    """One schema, ready to be used, and what it takes at most for one part of a value."""

    def __init__(self, validator: "Validator", size: "SchemaSize") -> None:
        """Use `compile_schema`."""
        self._validator = validator
        self._size = size

    def breach(self, value: Json) -> Breach | None:
        """The first breach; None if there is none or the value is too big to look at."""
        parts = count_parts(value, CHECK_STEPS_MAX // self._size.parts)
        if parts is None or self._has_long_text(value) or self._validator.is_valid(value):
            return None
        if parts > REPORTED_PARTS_MAX:
            return Breach((), "it doesn't fit the schema")
        from jsonschema_rs import ValidationError  # late, and by now imported

        breach: Breach | None = None
        try:
            # Not `iter_errors`: it makes all of them at once, each with a copy of the value.
            self._validator.validate(value)
        except ValidationError as error:
            breach = Breach((*error.instance_path,), error.message[:REPORT_CHARACTERS_MAX])
        return breach

    def _has_long_text(self, value: Json) -> bool:
        patterns = self._size.patterns
        return patterns > 0 and count_characters(value) * patterns > MATCHED_CHARACTERS_MAX


class LinearPatterns:
    """Regular expressions of a schema, in linear time; each is compiled when first needed."""

    def __init__(self) -> None:
        """Know none yet."""
        self._validators: dict[str, Validator | None] = {}

    def matches(self, pattern: str, text: str) -> bool | None:
        """Whether the pattern is found in the text (JSON Schema: not anchored).

        None when it is no regular expression of a sane size, or the text is too long to look at.
        """
        if len(text) > MATCHED_CHARACTERS_MAX or len(pattern) > PATTERN_CHARACTERS_MAX:
            return None
        if pattern not in self._validators:
            self._validators[pattern] = _compiled({"pattern": pattern}, 1)
        validator = self._validators[pattern]
        return None if validator is None else validator.is_valid(text)


def compile_schema(schema: JsonObject) -> CompiledSchema | None:
    """The schema as a validator; None if it is none, leads elsewhere, or may cost too much."""
    size = measure_schema(schema)
    if size is None:
        return None
    validator = _compiled(schema, size.patterns)
    return None if validator is None else CompiledSchema(validator, size)


def _compiled(schema: JsonObject, patterns: int) -> "Validator | None":
    from jsonschema_rs import RegexOptions, validator_for  # late: 30 ms, and most calls need none

    bytes_max = min(PATTERN_BYTES_MAX, PATTERNS_BYTES_MAX // max(patterns, 1))
    options = RegexOptions(size_limit=bytes_max)
    try:
        return validator_for(schema, pattern_options=options, validate_formats=False, offline=True)
    except Exception:  # noqa: BLE001 - a foreign schema that can't be compiled promises nothing
        return None


@dataclass(frozen=True, slots=True)
class SchemaSize:
    """How many parts a schema has, and how many of these are regular expressions."""

    parts: int
    patterns: int


def measure_schema(schema: JsonObject) -> SchemaSize | None:
    """The size of a schema with each local reference counted where it is used.

    None when there are too many parts, as where references fan out, when a reference runs in a
    circle, or when one leads elsewhere.
    """
    return _SchemaCounter(schema).count()


class _SchemaCounter:
    """Walks a schema as a validator would at worst."""

    def __init__(self, root: JsonObject) -> None:
        self._root = root
        self._waiting: list[_Part] = [_Part(root)]
        self._patterns = 0
        self._pattern_characters = 0

    def count(self) -> SchemaSize | None:
        count = 0
        while self._waiting:
            part = self._waiting.pop()
            count += 1
            if not self._enter(part) or count + len(self._waiting) > SCHEMA_PARTS_MAX:
                return None
        return SchemaSize(count, self._patterns)

    def _enter(self, part: "_Part") -> bool:
        """Count what is in a value too; false when the schema is not to be used."""
        value = part.value
        if not isinstance(value, dict | list):
            return True
        if part.depth >= SCHEMA_DEPTH_MAX or len(value) > SCHEMA_PARTS_MAX:
            return False
        if isinstance(value, list):
            self._waiting += [_Part(item, part.depth + 1, part.followed) for item in value]
            return True
        patterns = _patterns_of(value)
        self._patterns += len(patterns)
        self._pattern_characters += sum(map(len, patterns))
        if self._pattern_characters > PATTERN_CHARACTERS_MAX:
            return False
        self._waiting += [
            _Part(item, part.depth + 1, part.followed)
            for key, item in value.items()
            if key not in ("$defs", "definitions")
        ]
        if not {"$dynamicRef", "$recursiveRef"}.isdisjoint(value):
            return False
        ref = value.get("$ref")
        return self._follow(ref, part) if isinstance(ref, str) else True

    def _follow(self, ref: str, part: "_Part") -> bool:
        if ref in part.followed or not ref.startswith("#/"):
            return False
        target = follow(ref, self._root)
        self._waiting.append(_Part(target, part.depth + 1, part.followed | {ref}))
        return target is not None


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a schema, how deep it lies, and the references that lead to it."""

    value: Json
    depth: int = 0
    followed: frozenset[str] = frozenset()


def _patterns_of(schema: JsonObject) -> list[str]:
    """The regular expressions that stand in this part itself."""
    own, names = schema.get("pattern"), schema.get("patternProperties")
    return [*([own] if isinstance(own, str) else []), *(names if isinstance(names, dict) else [])]


def count_parts(value: Json, most: int) -> int | None:
    """How many values are in a value, itself included; None if there are more than `most`.

    Text counts by its length: whatever looks at it takes so much longer.
    """
    waiting: list[Json] = [value]
    count = 0
    while waiting:
        part = waiting.pop()
        count += 1
        if isinstance(part, str):
            count += len(part) // TEXT_CHARACTERS_A_PART
        elif isinstance(part, dict):
            count += sum(map(len, part)) // TEXT_CHARACTERS_A_PART
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)
        if count + len(waiting) > most:
            return None
    return count


def count_characters(value: Json) -> int:
    """Length of all text in a value, the names in its objects included."""
    waiting: list[Json] = [value]
    count = 0
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            count += len(part)
        elif isinstance(part, dict):
            count += sum(map(len, part))
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)
    return count

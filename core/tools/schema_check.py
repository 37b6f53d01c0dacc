"""JSON Schemas of servers as checks that can't trap us, for arguments and for results.

A schema comes from a server, what it is held against from a server or a plan: both may be
hostile. So the check is left to jsonschema-rs, whose regular expressions take linear time and which
fetches nothing, and whatever could still take long is left unchecked: references that fan out,
values out of all proportion, patterns on long text. It holds the interpreter lock while it works;
the bounds here keep that to some tens of milliseconds.
"""

from functools import cached_property
from typing import Final

from jsonschema_rs import ReferencingError, RegexOptions, ValidationError, Validator, validator_for

from core.tools.findings import Fault, faults_of
from core.tools.formats import FORMATS
from core.tools.json_schema import measure_value
from core.tools.schema_reading import (
    SchemaSize,
    drop_malformed,
    measure_schema,
    patterns_in,
    readable,
    without,
)
from core.values import Json, JsonObject

CHECK_STEPS_MAX: Final = 1_000_000
"""Parts of a schema times parts of a value; a step takes some tens of nanoseconds."""

VALUE_PARTS_MAX: Final = 500_000
"""A value of more parts is not looked at: counting them takes time too."""

REPORT_STEPS_MAX: Final = 50_000
"""The same where all that is wrong is told: each finding brings a copy of its value along."""

PATTERN_CHARACTERS_MAX: Final = 2_000
"""Length of all regular expressions of a schema; reading a long one takes longer than its share."""

PATTERN_BYTES_MAX: Final = 32 * 1024
"""Size of a compiled regular expression; each character of a text may cost a walk through it."""

PATTERNS_BYTES_MAX: Final = 1024 * 1024
"""Size of all compiled regular expressions of a schema: compiling takes time too."""

MATCHED_CHARACTERS_MAX: Final = 2_000
"""Characters of text times patterns of a schema; each may take ten microseconds."""

MALFORMED_MAX: Final = 20
"""A schema with more malformed keywords is not used; one says nothing, and the others count."""

REPORT_CHARACTERS_MAX: Final = 500
"""How much of the report on a breach is passed on."""

_PATTERNS: Final = ("pattern", "patternProperties")
_CHOICES: Final = ("anyOf",)


class SchemaCheck:
    """One schema, compiled when it is first needed; usable from several threads."""

    def __init__(self, schema: JsonObject, *, checks_formats: bool = False) -> None:
        """A schema that makes no sense, or would cost too much, demands nothing.

        With `checks_formats` texts are held to the formats that we know.
        """
        self._written = schema
        self._checks_formats = checks_formats
        self._sizes: dict[int, SchemaSize | None] = {}
        self._validators: dict[tuple[str, ...], Validator | None] = {}

    @property
    def is_usable(self) -> bool:
        """Whether the schema makes sense, so that a value could break it."""
        return self._validator(()) is not None

    def faults(self, value: Json) -> tuple[Fault, ...]:
        """What is wrong with a value; nothing if it fits or is too big to look at.

        Of a big value only the first fault is told, or that there is one.
        """
        found = self._findings(value)
        if found is None or self._schema is None:
            return ()
        return faults_of(found, self._schema) or (Fault((), "don't fit the tool's schema"),)

    def breach(self, value: Json) -> str | None:
        """The first finding in the validator's own words, with its place; None if there is none."""
        found = self._findings(value)
        if not found:
            return None if found is None else "it: it doesn't fit the schema"
        place = "".join(f"[{part!r}]" for part in found[0].instance_path)
        return f"{place or 'it'}: {found[0].message}"[:REPORT_CHARACTERS_MAX]

    def _findings(self, value: Json) -> list[ValidationError] | None:
        """What a validator finds, all of it where that is cheap; None if nothing is wrong.

        Empty where something is, and it would take long to say what.
        """
        size = measure_value(value, VALUE_PARTS_MAX)
        schema_size = None if size is None else self._size(len(size.parts))
        if size is None or schema_size is None:
            return None
        steps = schema_size.steps(size)
        is_long = size.characters * schema_size.patterns > MATCHED_CHARACTERS_MAX
        unneeded = _PATTERNS if is_long else ()
        validator = self._validator(unneeded)
        if validator is None or steps > CHECK_STEPS_MAX:
            return None
        try:
            if validator.is_valid(value):
                return None
            if steps <= REPORT_STEPS_MAX:
                return [*validator.iter_errors(value)]
            if (simple := self._validator((*unneeded, *_CHOICES))) is not None:
                simple.validate(value)
        except ValidationError as error:
            return [error]
        except ValueError:  # no Unicode, or a number of too many digits
            return None
        return []

    @cached_property
    def _schema(self) -> JsonObject | None:
        return readable(self._written)

    def _size(self, levels: int) -> SchemaSize | None:
        """What the schema may cost for a value that is nested so deep."""
        if self._schema is None:
            return None
        if levels not in self._sizes:
            self._sizes[levels] = measure_schema(self._schema, levels)
        return self._sizes[levels]

    def _validator(self, unneeded: tuple[str, ...]) -> Validator | None:
        """The schema without these keywords as a validator; None if none can be made of it."""
        if self._schema is None:
            return None
        if unneeded not in self._validators:
            schema = without(self._schema, unneeded) if unneeded else self._schema
            self._validators[unneeded] = self._compiled(schema)
        return self._validators[unneeded]

    def _compiled(self, schema: JsonObject) -> Validator | None:
        """The schema as a validator, once malformed keywords have been taken out of it."""
        patterns = patterns_in(schema)
        if sum(map(len, patterns)) > PATTERN_CHARACTERS_MAX:
            return None
        bytes_max = min(PATTERN_BYTES_MAX, PATTERNS_BYTES_MAX // max(len(patterns), 1))
        options = RegexOptions(size_limit=bytes_max)
        for _ in range(MALFORMED_MAX):
            try:
                return validator_for(
                    schema,
                    formats=dict(FORMATS),
                    validate_formats=self._checks_formats,
                    pattern_options=options,
                    offline=True,
                )
            except ValidationError as error:
                if not drop_malformed(schema, error.instance_path):
                    return None
            except (ReferencingError, ValueError, RecursionError):
                return None
        return None

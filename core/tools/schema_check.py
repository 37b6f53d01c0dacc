"""JSON Schemas of servers as checks that can't trap us, for arguments and for results.

A schema comes from a server, what it is held against from a server or a plan: both may be
hostile. So the check is left to jsonschema-rs, whose regular expressions take linear time and which
fetches nothing, and whatever could still take long is left unchecked: references that fan out,
values out of all proportion, patterns on long text. It holds the interpreter lock while it works;
the bounds here keep that to some tens of milliseconds.

The arguments of a call are checked before anything is sent. What is refused is told in the names
that a plan uses: those of the tool's signature, the `input` wrapper left away. Two mistakes of
models are repaired, not refused, because their meaning is beyond doubt: `None` for an argument that
may be left out and isn't allowed to be null is left out ("the default"), and text that spells a
number as JSON does ("3") becomes that number where the schema takes numbers and no text.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import Final

from jsonschema_rs import ReferencingError, RegexOptions, ValidationError, Validator, validator_for

from core.errors import CallRefused
from core.tools.findings import MISSING, Fault, Place, faults_of, quoted
from core.tools.formats import FORMATS
from core.tools.json_schema import as_object, measure_value, value_at
from core.tools.schema_reading import (
    SchemaSize,
    drop_malformed,
    measure_schema,
    patterns_in,
    readable,
    without,
)
from core.tools.spec import ToolSpec
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

FAULTS_TOLD: Final = 8
"""How many faults of a call are told one by one."""

PLACE_PARTS_TOLD: Final = 12
"""How many keys and indices of a place are told."""

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


class FullCheck:
    """A schema of the program's own, or of its user: all that it says is held, at any cost."""

    def __init__(self, schema: JsonObject | bool) -> None:
        """Compile it; it fetches nothing.

        Raises:
            ValueError: it is no JSON Schema, or refers to one elsewhere.
        """
        try:
            # What is at fault may be a tool's text: a model is told where, and what is expected.
            self._validator: Validator = validator_for(schema, offline=True, mask="the value")
        except (ValidationError, ReferencingError, ValueError) as error:
            why = str(error).partition("\n")[0]
            if isinstance(error, ValidationError):
                why = f"at {_pointer(error)}, {why}"
            raise ValueError(f"this is no JSON Schema: {why}") from error

    def faults(self, value: Json, most: int) -> list[str]:
        """What is wrong with a value, a phrase each, the first few; nothing if it validates."""
        try:
            found = [*islice(self._validator.iter_errors(value), most)]
        except ValueError as error:  # no Unicode, or a number of too many digits
            return [str(error)[:REPORT_CHARACTERS_MAX]]
        return [f"{_pointer(error)}: {error.message}"[:REPORT_CHARACTERS_MAX] for error in found]


def _pointer(error: ValidationError) -> str:
    return "".join(f"/{part}" for part in error.instance_path) or "the whole"


def argument_check(tool: ToolSpec) -> "ArgumentCheck":
    """The check of this tool, made once and kept with it as a cached property would be."""
    kept = vars(tool).get("_argument_check")
    if isinstance(kept, ArgumentCheck):
        return kept
    check = ArgumentCheck(tool)
    vars(tool)["_argument_check"] = check
    return check


class ArgumentCheck:
    """One tool's input schema as a check; usable from several threads."""

    def __init__(self, tool: ToolSpec) -> None:
        """Compile nothing yet."""
        self._tool = tool.name
        self._schema = SchemaCheck(tool.input_schema, checks_formats=True)
        self._wrapper = tool.wrapper
        self._arguments = {p.name: p.argument for p in tool.parameters}
        self._optional = frozenset(p.name for p in tool.parameters if not p.required)

    def checked(self, arguments: JsonObject) -> JsonObject:
        """Arguments in the server's form, mistakes repaired; the same object if there were none.

        A schema that can't be read, or would take too long, is left to the server to apply.

        Raises:
            CallRefused: some don't fit; the message names each and what is expected.
        """
        arguments, faults = self._repaired(arguments)
        if faults:
            raise CallRefused(self._refusal(faults))
        return arguments

    def _repaired(self, arguments: JsonObject) -> tuple[JsonObject, Sequence[Fault]]:
        """The arguments with what can be repaired put right, and what is wrong all the same."""
        faults = self._schema.faults(arguments)
        mended = self._mended(arguments, faults)
        return (arguments, faults) if mended is arguments else (mended, self._schema.faults(mended))

    def _mended(self, arguments: JsonObject, faults: Sequence[Fault]) -> JsonObject:
        for fault in faults:
            if fault.meant is not None:
                arguments = as_object(_replaced(arguments, fault.place, fault.meant))
            elif self._may_be_left_out(arguments, fault.place):
                arguments = as_object(_without(arguments, fault.place))
        return arguments

    def _may_be_left_out(self, arguments: JsonObject, place: Place) -> bool:
        """Whether an optional argument, itself and not a part of it, was given as None."""
        inner = self._inner(place)
        is_optional = len(inner) == 1 and inner[0] in self._optional
        return is_optional and value_at(arguments, place) is None

    def _inner(self, place: Place) -> Place:
        """A place without the wrapper."""
        return place[1:] if self._wrapper is not None and place[:1] == (self._wrapper,) else place

    def _refusal(self, faults: Sequence[Fault]) -> str:
        told = [self._told(fault) for fault in faults[:FAULTS_TOLD]]
        more = [f"and {len(faults) - FAULTS_TOLD} more faults"] if len(faults) > FAULTS_TOLD else []
        return f"{self._tool}(): {'; '.join([*told, *more])}"

    def _told(self, fault: Fault) -> str:
        if fault.words == MISSING and not self._inner(fault.place):
            return f"the arguments are missing, the object '{self._wrapper}'"
        space = "" if fault.words.startswith(":") else " "
        return f"{self._named(fault.place)}{space}{fault.words}"

    def _named(self, place: Place) -> str:
        """A place as an author of plans would write it: argument 'items[2].price'."""
        inner = self._inner(place)
        return f"argument '{''.join(self._parts(inner))}'" if inner else "the arguments"

    def _parts(self, place: Place) -> Iterator[str]:
        name = str(place[0])
        yield quoted(self._arguments.get(name, name))[1:-1]
        for part in place[1:PLACE_PARTS_TOLD]:
            is_name = isinstance(part, str) and part.isascii() and part.isidentifier()
            yield f".{quoted(part)[1:-1]}" if is_name else f"[{quoted(part)}]"
        if len(place) > PLACE_PARTS_TOLD:
            yield "…"


def _replaced(value: Json, place: Place, new: Json) -> Json:
    """A copy of a value with another one at that place; what lies beside it is shared."""
    if not place:
        return new
    part, rest = place[0], place[1:]
    if isinstance(value, list) and isinstance(part, int):
        return [*value[:part], _replaced(value[part], rest, new), *value[part + 1 :]]
    known, name = as_object(value), str(part)
    return {**known, name: _replaced(known.get(name), rest, new)}


def _without(value: Json, place: Place) -> Json:
    """A copy of an object without the key at that place, which lies in objects only."""
    name, rest, known = str(place[0]), place[1:], as_object(value)
    if rest:
        return {**known, name: _without(known.get(name), rest)}
    return {key: item for key, item in known.items() if key != name}

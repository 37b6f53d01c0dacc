"""Results against their tool's output schema (MCP 2025-11-25, "Output Schema").

Schema and result both come from the server, so the check is bounded: by jsonschema-rs, whose
regular expressions take linear time and which fetches nothing; and by leaving alone what could
still take for ever, references that fan out and values out of all proportion.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.content import ToolResult
from core.json_schema import follow
from core.tool_spec import ToolSpec
from core.values import Json, JsonObject

if TYPE_CHECKING:
    from jsonschema_rs import Validator

CHECK_STEPS_MAX = 1_000_000
"""Parts of a schema times parts of a value; a step takes well under a microsecond."""

SCHEMA_PARTS_MAX = 20_000
"""A schema of more parts, its references followed, is not used."""

SCHEMA_DEPTH_MAX = 200
"""A schema that is nested deeper, its references followed, is not used: validators recurse."""

TEXT_CHARACTERS_A_PART = 64
"""So many characters of a value's text count as a part: patterns and lengths look at each."""

REPORT_CHARACTERS_MAX = 500
"""How much of the report on a breach is passed on."""


class OutputChecks:
    """The output schemas of one session's tools; a validator is made when it is first needed."""

    def __init__(self) -> None:
        """Know no schema."""
        self._schemas: dict[str, JsonObject] = {}
        self._validators: dict[str, _Check | None] = {}

    def learn(self, tools: Iterable[ToolSpec]) -> None:
        """Note the schemas of a new listing."""
        self._schemas = {t.name: t.output_schema for t in tools if t.output_schema is not None}
        self._validators = {}

    def breach(self, tool: str, result: ToolResult) -> str | None:
        """What a result breaks of its tool's promise, as far as that can be told quickly."""
        if tool not in self._schemas or result.is_error or result.omitted_bytes:
            return None
        if tool not in self._validators:
            self._validators[tool] = _compiled(self._schemas[tool])
        check = self._validators[tool]
        return None if check is None else check.breach(result.structured)


class _Check:
    """One schema, ready to be used, and how many steps it takes at most for one part of a value."""

    def __init__(self, validator: "Validator", parts: int) -> None:
        self._validator = validator
        self._parts = parts

    def breach(self, value: JsonObject | None) -> str | None:
        """The first breach in words; None if there is none or the value is too big to look at."""
        if value is None:
            return "it has no structured content"
        if count_parts(value, CHECK_STEPS_MAX // self._parts) is None:
            return None
        from jsonschema_rs import ValidationError  # late, and by now imported

        try:
            # Not `iter_errors`: it makes all of them at once, each with a copy of the value.
            self._validator.validate(value)
        except ValidationError as breach:
            error = breach
        else:
            return None
        place = "".join(f"[{part!r}]" for part in error.instance_path)
        return f"{place or 'it'}: {error.message}"[:REPORT_CHARACTERS_MAX]


def _compiled(schema: JsonObject) -> _Check | None:
    from jsonschema_rs import RegexOptions, validator_for  # late: 30 ms, and most calls need none

    parts = count_schema_parts(schema)
    if parts is None:
        return None
    try:
        validator = validator_for(schema, pattern_options=RegexOptions(), offline=True)
    except Exception:  # noqa: BLE001 - a foreign schema that can't be compiled promises nothing
        return None
    return _Check(validator, parts)


def count_schema_parts(schema: JsonObject) -> int | None:
    """Parts of a schema with each local reference counted where it is used.

    None when there are too many, as where references fan out, when one runs in a circle, or when
    one leads elsewhere.
    """
    return _SchemaCounter(schema).count()


class _SchemaCounter:
    """Walks a schema as a validator would at worst."""

    def __init__(self, root: JsonObject) -> None:
        self._root = root
        self._waiting: list[_Part] = [_Part(root)]

    def count(self) -> int | None:
        count = 0
        while self._waiting:
            part = self._waiting.pop()
            count += 1
            if not self._enter(part) or count + len(self._waiting) > SCHEMA_PARTS_MAX:
                return None
        return count

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

"""Results against their tool's output schema (MCP 2025-11-25, "Output Schema").

Schema and result both come from the server, so the check is bounded: by jsonschema-rs, whose
regular expressions take linear time and which fetches nothing; and by leaving alone what could
still take for ever, references that fan out and values out of all proportion.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from core.catalog import ToolSpec
from core.content import ToolResult
from core.values import Json, JsonObject

if TYPE_CHECKING:
    from jsonschema_rs import Validator

CHECK_STEPS_MAX = 1_000_000
"""Parts of a schema times parts of a value; a step takes well under a microsecond."""

SCHEMA_PARTS_MAX = 20_000
"""A schema of more parts, its references followed, is not used."""

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
        error = next(self._validator.iter_errors(value), None)
        if error is None:
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
        self._count = 0

    def count(self) -> int | None:
        return self._count if self._walk(self._root, frozenset()) else None

    def _walk(self, value: Json, followed: frozenset[str]) -> bool:
        """Count a value and what is in it; false when it is not to be used."""
        self._count += 1
        if self._count > SCHEMA_PARTS_MAX or len(followed) > 50:
            return False
        if isinstance(value, list):
            return all(self._walk(item, followed) for item in value)
        if not isinstance(value, dict):
            return True
        if not {"$dynamicRef", "$recursiveRef"}.isdisjoint(value):
            return False
        ref = value.get("$ref")
        if isinstance(ref, str) and not self._follow(ref, followed):
            return False
        inner = (item for key, item in value.items() if key not in ("$defs", "definitions"))
        return all(self._walk(item, followed) for item in inner)

    def _follow(self, ref: str, followed: frozenset[str]) -> bool:
        if ref in followed or not ref.startswith("#/"):
            return False
        target: Json = self._root
        for part in ref[2:].split("/"):
            name = part.replace("~1", "/").replace("~0", "~")
            target = target.get(name) if isinstance(target, dict) else None
        return target is not None and self._walk(target, followed | {ref})


def count_parts(value: Json, most: int) -> int | None:
    """How many values are in a value, itself included; None if there are more than `most`."""
    waiting: list[Json] = [value]
    count = 0
    while waiting:
        count += 1
        if count > most:
            return None
        part = waiting.pop()
        if isinstance(part, dict):
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)
    return count

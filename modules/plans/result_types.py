"""What a tool's result certainly is when it reaches a plan, read from its output schema.

A type here is the set of JSON types that the value may have; None says that nothing is known.
"""

from typing import Final, Literal, TypeAlias

from core.content import RESULT, TEXT_RESULT
from core.json_schema import Contradiction, as_object, merge, wrapped_result
from core.tool_spec import ToolSpec
from core.values import Json, JsonObject

JsonType: TypeAlias = Literal["number", "boolean", "string", "array", "object", "null"]

ResultTypes: TypeAlias = frozenset[JsonType] | None

CHOICES_MAX: Final = 20
"""A schema that is a choice between more than so many others counts as unknown."""

CHOICE_LEVELS: Final = 3
"""Choices within choices beyond this count as unknown."""

_TYPES: Final[dict[str, JsonType]] = {
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
    "string": "string",
    "array": "array",
    "object": "object",
    "null": "null",
}

_WORDS: Final[dict[JsonType, str]] = {
    "number": "a number",
    "boolean": "True or False",
    "string": "text",
    "array": "a list",
    "object": "a dict",
    "null": "None",
}

_OBJECT: Final[frozenset[JsonType]] = frozenset({"object"})


def result_types(tool: ToolSpec) -> ResultTypes:
    """What `await tools.name(…)` gives; what the server's answers are checked against."""
    schema = tool.output_schema
    if schema is None:
        return None
    whole = _joined(schema, schema)
    properties = as_object(whole.get("properties"))
    required = _names(whole.get("required"))
    if (wrapped := wrapped_result(properties, schema)) is not None:
        known = wrapped in required
        return _types(properties[wrapped], schema, CHOICE_LEVELS) if known else None
    # An object of one property may arrive without it, whatever else the schema allows.
    kept = any(name not in (RESULT, TEXT_RESULT) for name in required)
    return _OBJECT if kept and whole.get("type") == "object" else None


def result_keys(tool: ToolSpec) -> tuple[str, ...]:
    """The keys that a tool's result has where it is a dict."""
    schema = tool.output_schema or {}
    return tuple(as_object(_joined(schema, schema).get("properties")))


def in_words(types: frozenset[JsonType]) -> str:
    """The types as the model is told: "a number", "text or None"."""
    return " or ".join(words for kind, words in _WORDS.items() if kind in types)


def _types(schema: Json, root: JsonObject, levels: int) -> ResultTypes:
    found = _joined(schema, root)
    kinds = found.get("type")
    names = [kinds] if isinstance(kinds, str) else _names(kinds)
    if isinstance(kinds, list) and len(names) < len(kinds):
        return None
    if names and all(name in _TYPES for name in names):
        if found.get("nullable") is True:  # OpenAPI's word for it
            names.append("null")
        types: frozenset[JsonType] = frozenset(_TYPES[name] for name in names)
        return types
    for key in ("anyOf", "oneOf"):
        choices = found.get(key)
        if isinstance(choices, list) and "type" not in found and levels > 0:
            return _union(choices, root, levels - 1)
    return None


def _union(choices: list[Json], root: JsonObject, levels: int) -> ResultTypes:
    if not 0 < len(choices) <= CHOICES_MAX:
        return None
    union: set[JsonType] = set()
    for choice in choices:
        types = _types(choice, root, levels)
        if types is None:
            return None
        union |= types
    return frozenset(union)


def _joined(schema: Json, root: JsonObject) -> JsonObject:
    try:
        return merge(schema, root)
    except Contradiction:
        return {}


def _names(value: Json) -> list[str]:
    items = value if isinstance(value, list) else []
    return [name for name in items if isinstance(name, str)]

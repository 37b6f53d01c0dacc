"""What can be told of simple JSON Schemas at a glance: that a value surely fits.

Most tools take a few numbers and texts, and most calls are right. For those this says so in a
microsecond or two; where it can't, it says nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType, NoneType
from typing import Final

from core.tools.json_schema import resolve
from core.values import Json, JsonObject

CHOICES_MAX: Final = 10
"""A choice between more types is looked at closely."""

_TYPES: Final = MappingProxyType[str, frozenset[type]](
    {
        "string": frozenset({str}),
        "integer": frozenset({int}),
        "number": frozenset({int, float}),
        "boolean": frozenset({bool}),
        "array": frozenset({list}),
        "object": frozenset({dict}),
        "null": frozenset({NoneType}),
    }
)
"""Python's types all of whose values are of a type of JSON Schema."""

_SAYS_NOTHING: Final = frozenset({"title", "description", "examples", "default", "$comment"})
_OF_AN_OBJECT: Final = _SAYS_NOTHING | {
    *("type", "properties", "required", "additionalProperties"),
    *("$defs", "definitions", "$schema"),
}


def plain_types(schema: Json) -> frozenset[type]:
    """Python's types all of whose values fit; none where more than the type matters."""
    if not isinstance(schema, dict):
        return frozenset()
    keywords = schema.keys() - _SAYS_NOTHING
    if keywords == {"type"}:
        return _types_of(schema)
    choices = schema.get("anyOf")
    if keywords != {"anyOf"} or not isinstance(choices, list) or len(choices) > CHOICES_MAX:
        return frozenset()
    return frozenset[type]().union(*(_types_of(choice) for choice in choices))


def _types_of(schema: Json) -> frozenset[type]:
    """Python's types of a schema that names types and does nothing else."""
    if not isinstance(schema, dict) or schema.keys() - _SAYS_NOTHING != {"type"}:
        return frozenset()
    kinds = schema["type"]
    names = kinds if isinstance(kinds, list) else [kinds]
    known = [_TYPES.get(name, frozenset()) for name in names if isinstance(name, str)]
    return frozenset[type]().union(*known)


@dataclass(frozen=True, slots=True)
class PlainObject:
    """An object whose properties are known by Python's types, a set for each name."""

    types: Mapping[str, frozenset[type]]
    required: frozenset[str]

    def fits(self, value: Json) -> bool:
        """Whether the value surely fits; false says nothing."""
        return (
            isinstance(value, dict)
            and self.required <= value.keys()
            and all(type(item) in self.types.get(name, ()) for name, item in value.items())
        )


def plain_object(schema: Json, root: JsonObject) -> PlainObject | None:
    """The schema of an object, if it says no more than names and types of properties."""
    found = resolve(schema, root)
    properties, required = found.get("properties"), found.get("required", [])
    if not found.keys() <= _OF_AN_OBJECT or found.get("type", "object") != "object":
        return None
    if not isinstance(properties, dict) or not isinstance(required, list):
        return None
    types = {name: plain_types(inner) for name, inner in properties.items()}
    return PlainObject(types, frozenset(name for name in required if isinstance(name, str)))

"""JSON Schemas as Python types, short enough for a prompt.

Objects are written as PEP 764 writes inline typed dictionaries, without the name around them:
`{'lat': float, 'label': NotRequired[str]}`. What is too deep or too long becomes `dict`.
"""

import json
from collections.abc import Iterable
from itertools import islice
from typing import Final

from core.tools.json_schema import Contradiction, as_object, follow, merge
from core.values import Json, JsonObject

LITERAL_CHARACTERS: Final = 400
"""Longest `Literal[…]` of an enumeration; longer ones show their type only."""

SCHEMA_NODES_MAX: Final = 200
"""How much of one schema is read; schemas may refer to themselves."""

SCHEMA_KEYS_MAX: Final = 5_000
"""How many keywords, choices and items of one schema are looked at."""

SCHEMA_DEPTH_MAX: Final = 20
"""How many schemas within schemas are read, references counted."""

LITERAL_VALUES_MAX: Final = 130
"""More values can't stand in a `Literal[…]` that is short enough."""

OBJECT_KEYS_SHOWN: Final = 12
"""How many keys of a nested object are written out; `...: ...` stands for others."""

OBJECT_LEVELS_SHOWN: Final = 3
"""How many objects within objects are written out."""

ANYTHING: Final = "object"
"""The type of a value of which nothing is known."""

_SIMPLE: Final = {
    "integer": "int",
    "number": "float",
    "string": "str",
    "boolean": "bool",
    "null": "None",
    "object": "dict",
    "array": "list",
}

_SHAPE_KEYS: Final = frozenset({"properties", "items", "prefixItems", "enum", "const"})
"""What says so much about a value that the choices beside it are only conditions."""


def type_text(schema: Json, root: JsonObject, levels: int = OBJECT_LEVELS_SHOWN) -> str:
    """The Python type of the values that a schema allows, as an expression on one line.

    Args:
        schema: A part of `root`; anything that isn't a schema gives `object`.
        root: The document that its local references point into.
        levels: How many levels of objects are written out key by key; with 0, enumerations too
            show their type only.
    """
    return _SchemaReader(root, levels).type_of(schema, levels, frozenset())


class _SchemaReader:
    """Reads one schema within the bounds above; what lies beyond is known by its kind only."""

    def __init__(self, root: JsonObject, levels: int) -> None:
        self._root = root
        self._shows_literals = levels > 0
        self._nodes_left = SCHEMA_NODES_MAX
        self._keys_left = SCHEMA_KEYS_MAX
        self._depth_left = SCHEMA_DEPTH_MAX

    def type_of(self, schema: Json, levels: int, opened: frozenset[str]) -> str:
        """The type's text; `object` swallows all other members of a union.

        `opened` are the references that the schema stands inside of: one that leads back to
        them is not followed again.
        """
        return _join(self._members(schema, levels, opened))

    def _members(self, schema: Json, levels: int, opened: frozenset[str]) -> list[str]:
        """The members of the union that the schema is, one for most."""
        self._nodes_left -= 1
        if not isinstance(schema, dict) or not self._may_read(schema):
            return [_plain(as_object(schema))]
        self._depth_left -= 1
        try:
            return self._read(schema, levels, opened)
        finally:
            self._depth_left += 1

    def _may_read(self, schema: JsonObject) -> bool:
        """Whether a schema is still within the bounds; it is counted."""
        breadth = sum(len(value) for value in schema.values() if isinstance(value, list))
        self._keys_left -= len(schema) + breadth
        return self._nodes_left >= 0 and self._keys_left >= 0 and self._depth_left > 0

    def _read(self, schema: JsonObject, levels: int, opened: frozenset[str]) -> list[str]:
        """As `_members`, of a schema that may be read."""
        if isinstance(ref := schema.get("$ref"), str):
            return self._referred(ref, schema, levels, opened)
        if "allOf" in schema:
            try:
                schema = merge(schema, self._root)
            except Contradiction:
                return [ANYTHING]
        if (literal := _literal(schema) if self._shows_literals else None) is not None:
            return [literal]
        if schema.get("nullable") is True:  # OpenAPI's word for it
            bare: JsonObject = {k: v for k, v in schema.items() if k != "nullable"}
            return [*self._members(bare, levels, opened), "None"]
        for key in ("anyOf", "oneOf"):
            if isinstance(choices := schema.get(key), list) and not schema.keys() & _SHAPE_KEYS:
                return self._chosen(schema, key, choices, levels, opened)
        kinds = schema.get("type")
        if isinstance(kinds, list):
            return [self._single({**schema, "type": kind}, levels, opened) for kind in kinds]
        return [self._single(schema, levels, opened)]

    def _referred(
        self, ref: str, schema: JsonObject, levels: int, opened: frozenset[str]
    ) -> list[str]:
        target = follow(ref, self._root)
        if ref in opened or not isinstance(target, dict):
            return [_plain(as_object(target))]
        beside: JsonObject = {key: value for key, value in schema.items() if key != "$ref"}
        return self._members({**target, **beside}, levels, opened | {ref})

    def _chosen(
        self, schema: JsonObject, key: str, choices: list[Json], levels: int, opened: frozenset[str]
    ) -> list[str]:
        """The members of every choice; what stands beside the choices holds for each."""
        beside: JsonObject = {k: v for k, v in schema.items() if k not in ("anyOf", "oneOf")}
        self._keys_left -= len(beside) * len(choices)
        if self._keys_left < 0:
            return [_plain(beside)]
        parts: list[Json] = [{**beside, **c} if isinstance(c, dict) else c for c in choices]
        return [member for part in parts for member in self._members(part, levels, opened)]

    def _single(self, schema: JsonObject, levels: int, opened: frozenset[str]) -> str:
        """The type of a schema that is no union."""
        kind = schema.get("type")
        if kind == "array" or (kind is None and schema.keys() & {"items", "prefixItems"}):
            return self._array(schema, levels, opened)
        if kind == "object" or (kind is None and "properties" in schema):
            return self._object(schema, levels, opened)
        return _plain(schema)

    def _array(self, schema: JsonObject, levels: int, opened: frozenset[str]) -> str:
        items = schema.get("items")
        first, more = schema.get("prefixItems"), items
        if isinstance(items, list):  # draft 07 has the beginning in `items`
            first, more = items, schema.get("additionalItems")
        if not isinstance(first, list) or not first:
            return f"list[{self.type_of(more, levels, opened)}]" if more else "list"
        types = [self.type_of(item, levels, opened) for item in first]
        if isinstance(more, dict):
            return f"list[{_join([*types, self.type_of(more, levels, opened)])}]"
        return f"tuple[{', '.join(types)}]"

    def _object(self, schema: JsonObject, levels: int, opened: frozenset[str]) -> str:
        properties = as_object(schema.get("properties"))
        self._keys_left -= len(properties)
        if not properties:
            values = schema.get("additionalProperties")
            known = isinstance(values, dict) and values
            return f"dict[str, {self.type_of(values, levels, opened)}]" if known else "dict"
        if levels == 0:
            return "dict"
        required = schema.get("required")
        needed = [*required] if isinstance(required, list) else []
        shown = [
            f"{_quoted(name)}: {self._key_type(inner, name in needed, levels, opened)}"
            for name, inner in islice(properties.items(), OBJECT_KEYS_SHOWN)
        ]
        if len(properties) > OBJECT_KEYS_SHOWN:
            shown.append("...: ...")
        return f"{{{', '.join(shown)}}}"

    def _key_type(self, schema: Json, needed: bool, levels: int, opened: frozenset[str]) -> str:
        written = self.type_of(schema, levels - 1, opened)
        return written if needed else f"NotRequired[{written}]"


def _plain(schema: JsonObject) -> str:
    """The type by its name alone, nothing inside of it read."""
    kind = schema.get("type")
    if kind is None and "properties" in schema:
        kind = "object"
    return _SIMPLE.get(kind, ANYTHING) if isinstance(kind, str) else ANYTHING


def _join(members: Iterable[str]) -> str:
    unique = list(dict.fromkeys(members))
    return ANYTHING if ANYTHING in unique or not unique else " | ".join(unique)


def _literal(schema: JsonObject) -> str | None:
    """`Literal[…]` of an enumeration or constant, None where Python has no such type."""
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if not isinstance(values, list) or not 0 < len(values) <= LITERAL_VALUES_MAX:
        return None
    if not all(value is None or isinstance(value, str | bool | int) for value in values):
        return None
    shown = f"Literal[{', '.join(map(_quoted, values))}]"
    return shown if len(shown) <= LITERAL_CHARACTERS else None


def _quoted(value: Json) -> str:
    """A constant as Python writes it, in ASCII where it can't be shown."""
    try:
        return repr(value)
    except ValueError:  # an integer of too many digits
        return json.dumps(None)

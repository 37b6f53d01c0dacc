"""How a server's JSON Schema is read before jsonschema-rs compiles it, and how large it is.

Drafts from 4 to 2020-12 count, as `$schema` says; without it the newest. The reading departs from
the specification where servers do: OpenAPI's `nullable: true` allows null, a value may fit several
schemas of a `oneOf` (else the caller could do nothing about it), and a reference that leads
nowhere or to another place says nothing.

Whoever wrote a schema isn't trusted: references may fan out or run in a circle, so its size is
counted as a validator would walk it.
"""

import json
import operator
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from core.base.frozen import frozen
from core.tools.formats import FORMATS
from core.tools.json_schema import ValueSize, as_object, follow, is_larger, measure_value, value_at
from core.values import Json, JsonObject

SCHEMA_PARTS_MAX: Final = 20_000
"""A schema of more parts, its references followed, is not used."""

SCHEMA_DEPTH_MAX: Final = 200
"""A schema that is nested deeper, its references followed, is not used: validators recurse."""

REPEATED_WALKS: Final = 3
"""How often, in all."""

_DRAFTS: Final = ("draft-04", "draft-06", "draft-07", "2019-09", "2020-12")
"""What stands in the `$schema` of a draft that validators know."""

_INSIDE: Final = MappingProxyType[str, int](
    {
        **dict.fromkeys(("allOf", "anyOf", "oneOf", "not", "if", "then", "else"), 0),
        **dict.fromkeys(("items", "prefixItems", "additionalItems", "unevaluatedItems"), 1),
        **dict.fromkeys(("additionalProperties", "unevaluatedProperties", "propertyNames"), 1),
        "contains": 1,
    }
)
"""Keywords with a schema or a list of them, and how much deeper in a value these apply."""

_INSIDE_BY_NAME: Final = MappingProxyType[str, int](
    {
        **dict.fromkeys(("properties", "patternProperties"), 1),
        **dict.fromkeys(("dependentSchemas", "dependencies", "$defs", "definitions"), 0),
    }
)
"""The same, with a schema for each name."""

_NAMED_EACH: Final = frozenset(_INSIDE_BY_NAME) - {"patternProperties"}
"""Those whose schemas say nothing by themselves where one of them is malformed."""

_DEFINITIONS: Final = ("$defs", "definitions")
_REPEATING: Final = frozenset({"unevaluatedProperties", "unevaluatedItems"})
"""What makes validators walk all that stands beside it again, to know what it has looked at."""

_FOR_PEOPLE: Final = ("title", "description", "default", "examples", "$comment")
_NEGATIONS: Final = ("not", "if")
"""Where a condition less makes the whole stricter."""

_NAMING: Final = ("properties", "patternProperties")
_UNNAMED: Final = ("additionalProperties", "unevaluatedProperties")
"""What counts on knowing all names that the others know."""


@frozen
class SchemaSize:
    """How many parts a schema has, by how deep in a value they apply, and how many patterns."""

    parts: tuple[int, ...]
    patterns: int

    def steps(self, value: ValueSize) -> int:
        """What it takes at worst to hold such a value against the schema."""
        return sum(map(operator.mul, self.parts, value.parts))


def measure_schema(schema: JsonObject, levels: int) -> SchemaSize | None:
    """The size of a schema for values of so many levels, each reference counted where it is used.

    None when there are too many parts, as where references fan out, or when references run in a
    circle that leads no deeper into the value.
    """
    waiting = [_Part(schema)]
    parts = [0] * levels
    patterns = 0
    while waiting:
        part = waiting.pop()
        parts[part.level] += part.weight
        if isinstance(part.schema, dict):
            data = measure_value([*_data_of(part.schema)], SCHEMA_PARTS_MAX)
            if data is None or part.depth >= SCHEMA_DEPTH_MAX or part.is_circle():
                return None
            parts[part.level] += part.weight * (sum(data.parts) - 1)
            patterns += len(patterns_of(part.schema))
            waiting += [inner for inner in part.inner(schema) if inner.level < levels]
        if sum(parts) + len(waiting) > SCHEMA_PARTS_MAX:
            return None
    return SchemaSize((*parts,), patterns)


@frozen
class _Part:
    """A schema within a schema: how deep it lies in that, and in a value.

    `followed` are the references that lead to it from the level of the value on which it applies;
    `weight` is how often it is walked there.
    """

    schema: Json
    depth: int = 0
    level: int = 0
    followed: tuple[str, ...] = ()
    weight: int = 1

    def is_circle(self) -> bool:
        return len({*self.followed}) < len(self.followed)

    def inner(self, root: JsonObject) -> Iterator["_Part"]:
        node = as_object(self.schema)
        weight = self.weight * (1 if _REPEATING.isdisjoint(node) else REPEATED_WALKS)
        here = _Part(None, self.depth + 1, self.level, self.followed, weight)
        for keyword, schema in subschemas(node):
            if deeper := _INSIDE.get(keyword, _INSIDE_BY_NAME.get(keyword, 0)):
                yield _Part(schema, self.depth + 1, self.level + deeper)
            elif keyword not in _DEFINITIONS:
                yield replace(here, schema=schema)
        if isinstance(ref := node.get("$ref"), str):
            yield replace(here, schema=follow(ref, root), followed=(*self.followed, ref))


def subschemas(schema: JsonObject) -> Iterator[tuple[str, Json]]:
    """The schemas that stand in this one itself, each with its keyword; definitions too."""
    for keyword, value in schema.items():
        if keyword in _INSIDE:
            for inner in value if isinstance(value, list) else [value]:
                yield keyword, inner
        elif keyword in _INSIDE_BY_NAME and isinstance(value, dict):
            for inner in value.values():
                yield keyword, inner


def _data_of(schema: JsonObject) -> Iterator[Json]:
    """What stands behind the keywords that hold no schemas, words for people aside."""
    for keyword, value in schema.items():
        if not (keyword in _INSIDE or keyword in _INSIDE_BY_NAME or keyword in _FOR_PEOPLE):
            yield value


def patterns_of(schema: JsonObject) -> list[str]:
    """The regular expressions that stand in this schema itself."""
    own = schema.get("pattern")
    return [*([own] if isinstance(own, str) else []), *as_object(schema.get("patternProperties"))]


def readable(schema: JsonObject) -> JsonObject | None:
    """A copy of the schema that says to a validator what its server means by it.

    Of formats only those are kept that we know. None where the schema is out of all proportion.
    """
    if is_larger(schema, SCHEMA_PARTS_MAX):
        return None
    try:
        copy: JsonObject = json.loads(json.dumps(schema))
    except (ValueError, RecursionError):
        return None
    if not any(draft in str(copy.get("$schema")) for draft in _DRAFTS):
        copy.pop("$schema", None)
    weaker = [_read_as_meant(node, schema) for node in _nodes(copy)]
    if any(weaker):
        _drop_negations(copy)
    for node in _nodes(copy):
        if str(node.get("format")) not in FORMATS:
            node.pop("format", None)
    return copy


def patterns_in(schema: JsonObject) -> list[str]:
    """All regular expressions of a schema."""
    return [pattern for node in _nodes(schema) for pattern in patterns_of(node)]


def without(schema: JsonObject, keywords: Collection[str]) -> JsonObject:
    """A copy of a readable schema that demands no more than it, and nothing by these keywords."""
    copy: JsonObject = json.loads(json.dumps(schema))
    for node in _nodes(copy):
        for keyword in (*keywords, *_REPEATING):
            if keyword in node:
                _drop(node, keyword)
    _drop_negations(copy)
    return copy


def drop_malformed(schema: JsonObject, path: Sequence[str | int]) -> bool:
    """Take the keyword at a path out of a schema that validators refuse; whether there is one."""
    if not path:
        return False
    nodes = {id(node) for node in _nodes(schema)}
    holders = ((value_at(schema, path[:end]), end) for end in reversed(range(len(path))))
    node, end = next((as_object(one), end) for one, end in holders if id(one) in nodes)
    keyword, inside = str(path[end]), path[end + 1 :]
    named = node.get(keyword)
    if keyword in _NAMED_EACH and isinstance(named, dict) and len(inside) == 1:
        named[str(inside[0])] = True  # the others count
    else:
        _drop(node, keyword)
    _drop_negations(schema)
    return True


def _nodes(schema: JsonObject) -> list[JsonObject]:
    """Every schema in a schema, itself and all that references lead to included."""
    found: dict[int, JsonObject] = {}
    waiting: list[Json] = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict) and id(node) not in found:
            found[id(node)] = node
            waiting += [inner for _, inner in subschemas(node)]
            if isinstance(ref := node.get("$ref"), str):
                waiting.append(follow(ref, schema))
    return [*found.values()]


def _drop_negations(schema: JsonObject) -> None:
    """Take out all negations: of a schema that demands less, the opposite demands more."""
    for node in _nodes(schema):
        for keyword in _NEGATIONS:
            node.pop(keyword, None)


def _read_as_meant(node: JsonObject, written: JsonObject) -> bool:
    """Change one schema of those in `written`; whether it demands less now."""
    before = len(node)
    for keyword in ("$dynamicRef", "$recursiveRef"):
        node.pop(keyword, None)
    ref = node.get("$ref", "#")
    if not isinstance(ref, str) or follow(ref, written) is None:
        del node["$ref"]
    elif "/oneOf/" in ref:
        node["$ref"] = ref.replace("/oneOf/", "/anyOf/")
    is_weaker = len(node) < before
    kind = node.get("type")
    kinds = kind if isinstance(kind, list) else [kind]
    if node.get("nullable") is True and kind is not None and "null" not in kinds:
        node["type"] = [*kinds, "null"]
        is_weaker = True
    if node.get("additionalProperties") is False:
        node.setdefault("properties", {})  # else the validator names none of the unknown ones
    if "oneOf" in node:
        choice: JsonObject = {"anyOf": node.pop("oneOf")}
        parts = node.get("allOf")
        joined: JsonObject = {"allOf": [*(parts if isinstance(parts, list) else []), choice]}
        node.update(joined if "anyOf" in node else choice)
        is_weaker = True
    return is_weaker


def _drop(node: JsonObject, keyword: str) -> None:
    """Take out a keyword, and what would take the names that it explains for unknown ones."""
    node.pop(keyword, None)  # another thread may have done so, that compiles the schema too
    if keyword in _NAMING:
        for other in _UNNAMED:
            node.pop(other, None)

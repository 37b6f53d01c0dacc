"""Reads JSON Schemas as servers send them: references followed, `allOf` merged.

Drafts 2020-12 and 07 differ here only in where definitions lie (`$defs`, `definitions`), which
their references say themselves. Whoever wrote a schema isn't trusted: references may lead
nowhere or in a circle, and every walk is bounded.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from core.base.frozen import frozen
from core.tools.content import RESULT, TEXT_RESULT
from core.values import Json, JsonObject

MERGED_SCHEMAS_MAX: Final = 50
"""How many schemas one `allOf` may join, those inside of its parts included."""

MERGED_KEYS_MAX: Final = 5_000
"""How many keywords and properties one merge may copy."""

FOLLOWED_KEYS_MAX: Final = 2_000
"""How many keywords a chain of references may copy."""

REFERENCE_CHARACTERS_MAX: Final = 1_000
"""A longer reference leads nowhere."""

COMPARED_VALUES_MAX: Final = 100_000
"""How many pairs of values are compared where enumerations narrow each other."""

TEXT_CHARACTERS_A_PART: Final = 64
"""So many characters of a value's text count as a part: lengths and names look at each."""

_NUMERIC: Final = frozenset({"integer", "number"})


class Contradiction(Exception):
    """Schemas that no value can meet together, or that are too many to tell."""


def as_object(value: Json) -> JsonObject:
    """`value` if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def follow(ref: str, root: JsonObject) -> Json:
    """What a local reference (RFC 6901 pointer behind `#`) points at; None where that is nothing.

    Pointers go through arrays too, as generators write them (`#/properties/a/anyOf/0`).
    """
    pointer = ref.removeprefix("#")
    if pointer == ref or (pointer and not pointer.startswith("/")):
        return None
    if len(ref) > REFERENCE_CHARACTERS_MAX:
        return None
    parts = pointer.split("/")[1:]
    return value_at(root, [part.replace("~1", "/").replace("~0", "~") for part in parts])


def value_at(value: Json, path: Sequence[str | int]) -> Json:
    """What lies at a place in a value; None where nothing does."""
    for part in path:
        if isinstance(value, list):
            value = value[int(part)] if _is_index(str(part), len(value)) else None
        else:
            value = as_object(value).get(str(part))
    return value


def _is_index(name: str, length: int) -> bool:
    return name.isascii() and name.isdigit() and len(name) < 7 and int(name) < length


def resolve(schema: Json, root: JsonObject) -> JsonObject:
    """The schema with its `$ref` followed, to the end of the chain; what stands beside it wins.

    A reference that leads nowhere, in a circle, or on and on counts as a schema without
    conditions.
    """
    found = as_object(schema)
    followed: set[str] = set()
    keys_left = FOLLOWED_KEYS_MAX
    while isinstance(ref := found.get("$ref"), str) and ref not in followed:
        followed.add(ref)
        beside: JsonObject = {key: value for key, value in found.items() if key != "$ref"}
        found = {**as_object(follow(ref, root)), **beside}
        keys_left -= len(found) + 1
        if keys_left < 0:
            return {}
    return found


def wrapped_result(properties: Json, root: JsonObject) -> str | None:
    """The name of the only property of a result, if plans receive what is in it instead.

    So it is with `result`, and with `content` that is text (`core.tools.content.ToolResult.value`).
    """
    found = as_object(properties)
    if len(found) != 1:
        return None
    ((name, inner),) = found.items()
    if name == RESULT:
        return name
    is_text = name == TEXT_RESULT and resolve(inner, root).get("type") == "string"
    return name if is_text else None


def is_larger(value: Json, values_max: int) -> bool:
    """Whether a value holds more than so many others, keys not counted; without recursion."""
    waiting: list[Json] = [value]
    count = 0
    while waiting and count <= values_max:
        inner = waiting.pop()
        if isinstance(inner, dict | list):
            count += len(inner)
            if count <= values_max:
                waiting.extend(inner.values() if isinstance(inner, dict) else inner)
    return count > values_max


@frozen
class ValueSize:
    """What there is in a value to be looked at.

    `parts` counts the values in it, itself included, by how deep they lie; text counts by its
    length. `characters` are those of all text, names included.
    """

    parts: tuple[int, ...]
    characters: int


def measure_value(value: Json, parts_max: int) -> ValueSize | None:
    """The size of a value; None if it has more parts."""
    level, parts, characters = [value], list[int](), 0
    while level:
        inner: list[Json] = []
        before = characters
        for part in level:
            if isinstance(part, str):
                characters += len(part)
            elif isinstance(part, dict):
                characters += sum(map(len, part))
                inner.extend(part.values())
            elif isinstance(part, list):
                inner.extend(part)
        parts.append(len(level) + (characters - before) // TEXT_CHARACTERS_A_PART)
        if sum(parts) + len(inner) > parts_max:
            return None
        level = inner
    return ValueSize((*parts,), characters)


def merge(schema: Json, root: JsonObject) -> JsonObject:
    """The schema with its references followed and its `allOf` joined into it.

    Properties and required names add up, types and enumerations narrow each other; of anything
    else the first word counts.

    Raises:
        Contradiction: the parts allow no value together.
    """
    return _Merger(root).merge(schema)


class _Merger:
    """One merge; the number of schemas that it reads is bounded, and so is what it copies."""

    def __init__(self, root: JsonObject) -> None:
        self._root = root
        self._left = MERGED_SCHEMAS_MAX
        self._keys_left = MERGED_KEYS_MAX

    def merge(self, schema: Json) -> JsonObject:
        self._left -= 1
        if schema is False or self._left < 0:
            raise Contradiction
        found = resolve(schema, self._root)
        parts = found.get("allOf")
        if not isinstance(parts, list):
            return found
        joined: JsonObject = {key: value for key, value in found.items() if key != "allOf"}
        for part in parts:
            other = self.merge(part)
            self._keys_left -= _breadth(joined) + _breadth(other)
            if self._keys_left < 0:
                raise Contradiction
            joined = _joined(joined, other)
        return joined


def _breadth(schema: JsonObject) -> int:
    """How much is copied where the schema is joined with another."""
    inner = sum(len(value) for value in schema.values() if isinstance(value, dict | list))
    return len(schema) + inner


def _joined(one: JsonObject, other: JsonObject) -> JsonObject:
    """Two schemas as one."""
    both = {**other, **one}
    for key in one.keys() & other.keys():
        match key:
            case "properties" | "$defs" | "definitions":
                both[key] = {**as_object(other[key]), **as_object(one[key])}
            case "required":
                both[key] = _union(one[key], other[key])
            case "type":
                both[key] = _common_types(one[key], other[key])
            case "enum" | "const":
                both[key] = _common_values(key, one[key], other[key])
            case _:
                pass
    return both


def _union(one: Json, other: Json) -> Json:
    names = [name for name in (*_items(one), *_items(other)) if isinstance(name, str)]
    return list(dict.fromkeys(names))


def _common_types(one: Json, other: Json) -> Json:
    first, second = _names(one), {*_names(other)}
    common: list[Json] = [kind for kind in first if kind in second]
    if not common and _NUMERIC & {*first} and _NUMERIC & second:
        common = ["integer"]
    if not common:
        raise Contradiction
    return common[0] if len(common) == 1 else common


def _common_values(key: str, one: Json, other: Json) -> Json:
    if key == "const":
        if one != other:
            raise Contradiction
        return one
    values, allowed = [*_items(one)], [*_items(other)]
    if len(values) * len(allowed) > COMPARED_VALUES_MAX:
        raise Contradiction
    common: list[Json] = [value for value in values if value in allowed]
    if not common:
        raise Contradiction
    return common


def _names(kinds: Json) -> list[str]:
    return [kind for kind in ([*_items(kinds)] or [kinds]) if isinstance(kind, str)]


def _items(value: Json) -> Iterable[Json]:
    return value if isinstance(value, list) else []

"""Schemas of servers that mean harm: their stubs take a moment and a few lines all the same."""

import ast
import time

import pytest

from core.tools.spec import ToolSpec
from core.values import Json, JsonObject
from modules.planning.prompt.stubs import (
    SCHEMA_CHARACTERS,
    SIGNATURE_CHARACTERS_MAX,
    TYPE_CHARACTERS,
    tool_documentation,
    tool_signature,
    tool_stub,
)

TEXT: JsonObject = {"type": "string"}
WIDE = [f"v{number}" for number in range(20_000)]
LARGE = [word.upper() for word in WIDE]


def values(words: list[str]) -> list[Json]:
    return [*words]


def at(level: int) -> JsonObject:
    return {"$ref": f"#/$defs/a{level}"}


def nested(kind: JsonObject, slot: str) -> JsonObject:
    """Two hundred definitions, each of which holds the next one in `slot`."""
    return {f"a{level}": {**kind, slot: at(level + 1)} for level in range(200)}


def hundred(schema: JsonObject) -> JsonObject:
    return {f"x{number}": schema for number in range(100)}


def fan(level: int) -> JsonObject:
    return {"type": "object", "properties": {key: at(level + 1) for key in "abcdefghijkl"}}


def both(key: str) -> JsonObject:
    """Two lists that narrow each other, or add up, under `key`."""
    return {"x": {"allOf": [{key: values(WIDE)}, {key: values(LARGE)}]}}


def choice(count: int, schema: JsonObject, key: str = "anyOf") -> JsonObject:
    return {key: [schema for _ in range(count)]}


def properties(count: int) -> JsonObject:
    return dict.fromkeys(WIDE[:count], TEXT)


BOMBS: dict[str, tuple[JsonObject, JsonObject]] = {
    "choices beside keywords": ({"x": {**properties(5_000), **choice(5_000, TEXT)}}, {}),
    "enumerations": (both("enum"), {}),
    "required names": (both("required"), {}),
    "types": (both("type"), {}),
    "a chain": ({"x": at(0)}, {f"a{i}": {**at(i + 1), f"k{i}": 1} for i in range(4_000)}),
    "one enumeration": (hundred(at(0)), {"a0": {"enum": values(WIDE)}}),
    "its choices": (hundred(choice(90, at(0))), {"a0": {"enum": values(WIDE[:500])}}),
    "joins": (hundred(choice(45, at(0), "allOf")), {"a0": {"properties": properties(5_000)}}),
    "a fan": (hundred(at(0)), {f"a{level}": fan(level) for level in range(50)}),
    "lists": (hundred(at(0)), nested({"type": "array"}, "items")),
    "maps": (hundred(at(0)), nested({"type": "object"}, "additionalProperties")),
    "properties": (properties(20_000), {}),
    "a reference": ({"x": {"$ref": "#" + "/a" * 200_000}}, {}),
}
"""Properties and definitions, by what is too many; most took seconds, some hours."""


@pytest.mark.parametrize(("schema", "definitions"), BOMBS.values(), ids=BOMBS)
@pytest.mark.parametrize("place", ["input", "output"])
def test_a_schema_that_explodes_is_read_in_a_moment(
    schema: JsonObject, definitions: JsonObject, place: str
) -> None:
    whole: JsonObject = {"type": "object", "properties": schema, "$defs": definitions}
    required = values([*schema])
    tool = (
        ToolSpec("s", "f", "", {**whole, "required": required})
        if place == "input"
        else ToolSpec("s", "f", "", {"type": "object"}, whole)
    )
    began = time.process_time()
    stub = tool_stub(tool, "f")
    assert time.process_time() - began < 1.0
    ast.parse(stub)
    assert len(tool_signature(tool, "f")) < SIGNATURE_CHARACTERS_MAX + TYPE_CHARACTERS + 50


def test_a_long_signature_shows_its_first_arguments_and_takes_the_others() -> None:
    names = [f"{'n' * 90}_{number}" for number in range(90)]
    schema: JsonObject = {"properties": dict.fromkeys(names, TEXT), "required": values(names)}
    tool = ToolSpec("s", "f", "", schema)
    signature = tool_signature(tool, "f")
    assert signature.startswith(f"f({names[0]}: str, {names[1]}: str, ")
    assert signature.endswith(", **more: object) -> str")
    assert names[-1] not in signature
    assert tool.bind((), dict.fromkeys(names, "v")) == dict.fromkeys(names, "v")


def test_a_schema_too_large_to_read_is_given_as_one_dict_unchanged() -> None:
    tool = ToolSpec("s", "f", "", {"properties": {"x": {"enum": values(WIDE)}}})
    assert tool_signature(tool, "f") == "f(arguments: dict) -> str"
    assert tool.bind(({"x": "v1"},), {}) == {"x": "v1"}
    assert len(tool_documentation(tool)) < SCHEMA_CHARACTERS + 200


def test_lists_in_lists_are_read_within_the_depth_that_python_allows() -> None:
    deep: JsonObject = TEXT
    for _ in range(99):
        deep = {"type": "array", "items": deep}
    definitions: JsonObject = {"a0": deep}
    for level in range(5):
        deep = {"type": "array", "items": at(level)}
        for _ in range(90):
            deep = {"anyOf": [{"type": "array", "items": deep}]}
        definitions[f"a{level + 1}"] = deep
    schema: JsonObject = {"properties": {"x": at(5)}, "$defs": definitions}
    assert tool_signature(ToolSpec("s", "f", "", schema), "f").startswith("f(x: list")

"""Signatures that tell a planner what a tool takes and gives."""

import ast

import pytest

from core.catalog import ToolSpec
from core.values import Json, JsonObject
from modules.signatures import LITERAL_CHARS, tool_signature

NUMBER: JsonObject = {"anyOf": [{"type": "integer"}, {"type": "number"}]}


def spec(
    properties: JsonObject,
    required: list[Json] | None = None,
    output: JsonObject | None = None,
    **schema: Json,
) -> ToolSpec:
    return ToolSpec(
        "s",
        "f",
        "",
        {"type": "object", "properties": properties, "required": required or [], **schema},
        output,
    )


def argument_type(schema: Json, **defs: Json) -> str:
    signature = tool_signature(spec({"x": schema}, ["x"], **{"$defs": dict(defs)}), "f")
    return signature.removeprefix("f(x: ").removesuffix(") -> object")


def test_a_bundled_tool_reads_as_a_plan_calls_it() -> None:
    add = ToolSpec(
        "math",
        "add",
        "",
        {
            "$defs": {
                "Pair": {"properties": {"a": NUMBER, "b": NUMBER}, "required": ["a", "b"]},
            },
            "properties": {"input": {"$ref": "#/$defs/Pair"}},
            "required": ["input"],
        },
        {"type": "object", "properties": {"result": NUMBER}, "required": ["result"]},
    )
    assert tool_signature(add, "add") == "add(a: int | float, b: int | float) -> int | float"


@pytest.mark.parametrize(
    ("schema", "python"),
    [
        ({"type": "integer"}, "int"),
        ({"type": "number"}, "float"),
        ({"type": "string"}, "str"),
        ({"type": "boolean"}, "bool"),
        ({"type": "null"}, "None"),
        ({"type": "object"}, "dict"),
        ({"type": "object", "properties": {"a": {}}}, "dict"),
        ({"properties": {"a": {}}}, "dict"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "dict[str, int]"),
        ({"type": "object", "additionalProperties": False}, "dict"),
        ({"type": "array"}, "list"),
        ({"type": "array", "items": {"type": "integer"}}, "list[int]"),
        ({"type": "array", "items": {"type": "array", "items": NUMBER}}, "list[list[int | float]]"),
        ({"type": "array", "items": {}}, "list"),
        ({"type": "array", "items": True}, "list[object]"),
        ({"type": ["string", "null"]}, "str | None"),
        ({"type": ["array", "null"], "items": {"type": "string"}}, "list[str] | None"),
        ({"enum": ["a", "b"]}, "Literal['a', 'b']"),
        ({"enum": ["a | b", None, 1, True]}, "Literal['a | b', None, 1, True]"),
        ({"enum": [1.5, 2.5], "type": "number"}, "float"),
        ({"enum": ["x" * LITERAL_CHARS], "type": "string"}, "str"),
        ({"const": "on"}, "Literal['on']"),
        ({"oneOf": [{"type": "string"}, {"type": "null"}]}, "str | None"),
        ({"anyOf": [NUMBER, {"type": "integer"}, {"type": "null"}]}, "int | float | None"),
        ({"anyOf": [{"type": "string"}, {}]}, "object"),
        ({"anyOf": []}, "object"),
        ({"allOf": [{"type": "string"}]}, "str"),
        ({"allOf": [{"type": "string"}, {"minLength": 1}]}, "object"),
        ({"type": "mystery"}, "object"),
        ({"type": 5}, "object"),
        ({}, "object"),
        (True, "object"),
        (None, "object"),
        ({"$ref": "https://example.org/x"}, "object"),
        ({"$ref": "#/$defs/missing"}, "object"),
        ({"$ref": 5}, "object"),
    ],
    ids=str,
)
def test_a_schema_reads_as_a_python_type(schema: Json, python: str) -> None:
    assert argument_type(schema) == python


def test_references_inside_are_followed() -> None:
    colour: Json = {"enum": ["red", "blue"]}
    inner: Json = {"type": "array", "items": {"$ref": "#/$defs/a~1b"}}
    assert argument_type(inner, **{"a/b": colour}) == "list[Literal['red', 'blue']]"


def test_a_schema_that_holds_itself_many_times_over_ends() -> None:
    nested: Json = {"type": "array", "items": {"$ref": "#/$defs/n"}}
    many: list[Json] = [nested] * 10
    assert argument_type({"$ref": "#/$defs/n"}, n={"anyOf": many}) == "object"
    assert argument_type({"$ref": "#/$defs/n"}, n={"$ref": "#/$defs/n"}) == "object"


def test_optional_arguments_show_their_defaults() -> None:
    properties: JsonObject = {
        "query": {"type": "string"},
        "limit": {"type": "integer", "default": 10},
        "mode": {"enum": ["fast", "deep"], "default": "fast"},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
        "long": {"type": "string", "default": "x" * 100},
        "free": {"type": "boolean"},
    }
    assert tool_signature(spec(properties, ["query"]), "search") == (
        "search(query: str, limit: int = 10, mode: Literal['fast', 'deep'] = 'fast', "
        "note: str | None = None, long: str = ..., free: bool = ...) -> object"
    )


def test_a_required_argument_behind_an_optional_one_is_keyword_only() -> None:
    properties: JsonObject = {n: {"type": "integer"} for n in ("a", "b", "c")}
    signature = tool_signature(spec(properties, ["a", "c"]), "f")
    assert signature == "f(a: int, *, b: int = ..., c: int) -> object"
    ast.parse(f"def {signature}: ...")


def test_names_that_python_does_not_allow_are_shown_as_such() -> None:
    properties: JsonObject = {"user-id": {"type": "string"}, "from": {"type": "string"}}
    assert tool_signature(spec(properties), "f") == (
        "f(**{'user-id': str}, **{'from': str}) -> object"
    )
    assert "\n" not in tool_signature(spec({"a\nb": {"enum": ["\n"]}}), "f")


@pytest.mark.parametrize(
    ("output", "python"),
    [
        (None, "object"),
        ({"type": "object", "properties": {"result": {"type": "string"}}}, "str"),
        ({"type": "object", "properties": {"result": {}, "more": {}}}, "dict"),
        ({"type": "object"}, "dict"),
        (
            {
                "$defs": {"R": {"type": "array", "items": {"type": "integer"}}},
                "properties": {"result": {"$ref": "#/$defs/R"}},
            },
            "list[int]",
        ),
    ],
    ids=str,
)
def test_the_result_is_what_a_plan_receives(output: JsonObject | None, python: str) -> None:
    assert tool_signature(spec({}, output=output), "f") == f"f() -> {python}"

"""Stubs that tell a planner what a tool takes and gives."""

import ast
import json
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.tools.spec import ToolSpec
from core.values import Json, JsonObject
from modules.planning.prompt.schema_types import LITERAL_CHARACTERS, OBJECT_KEYS_SHOWN
from modules.planning.prompt.stubs import (
    SCHEMA_CHARACTERS,
    SIGNATURE_CHARACTERS,
    TYPE_CHARACTERS,
    tool_documentation,
    tool_signature,
    tool_stub,
)

NUMBER: JsonObject = {"anyOf": [{"type": "integer"}, {"type": "number"}]}
TEXT: JsonObject = {"type": "string"}


def spec(
    properties: JsonObject,
    required: list[Json] | None = None,
    output: JsonObject | None = None,
    description: str = "",
    **schema: Json,
) -> ToolSpec:
    return ToolSpec(
        "s",
        "f",
        description,
        {"type": "object", "properties": properties, "required": required or [], **schema},
        output,
    )


def argument_type(schema: Json, **defs: Json) -> str:
    document: JsonObject = {"properties": {"x": schema}, "required": ["x"], "$defs": dict(defs)}
    signature = tool_signature(ToolSpec("s", "f", "", document), "f")
    ast.parse(f"def {signature}: ...")
    return signature.removeprefix("f(x: ").removesuffix(") -> str")


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
        (TEXT, "str"),
        ({"type": "boolean"}, "bool"),
        ({"type": "null"}, "None"),
        ({"type": "object"}, "dict"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "dict[str, int]"),
        ({"type": "object", "additionalProperties": False}, "dict"),
        ({"type": "object", "additionalProperties": {}}, "dict"),
        ({"type": "array"}, "list"),
        ({"type": "array", "items": {"type": "integer"}}, "list[int]"),
        ({"items": TEXT}, "list[str]"),
        ({"type": "array", "items": {"type": "array", "items": NUMBER}}, "list[list[int | float]]"),
        ({"type": "array", "items": {}}, "list"),
        ({"type": "array", "items": True}, "list[object]"),
        ({"type": "array", "items": False}, "list"),
        ({"type": "array", "prefixItems": [TEXT, NUMBER]}, "tuple[str, int | float]"),
        ({"prefixItems": [TEXT], "items": {"type": "integer"}}, "list[str | int]"),
        ({"prefixItems": [TEXT], "items": False}, "tuple[str]"),
        ({"type": "array", "items": [TEXT, {"type": "integer"}]}, "tuple[str, int]"),
        ({"items": [TEXT], "additionalItems": {"type": "integer"}}, "list[str | int]"),
        ({"type": ["string", "null"]}, "str | None"),
        ({"type": ["array", "null"], "items": TEXT}, "list[str] | None"),
        ({**TEXT, "nullable": True}, "str | None"),
        ({"enum": ["a", "b"]}, "Literal['a', 'b']"),
        ({"enum": ["a | b", None, 1, True]}, "Literal['a | b', None, 1, True]"),
        ({"enum": [1.5, 2.5], "type": "number"}, "float"),
        ({"enum": ["x" * LITERAL_CHARACTERS], "type": "string"}, "str"),
        ({"const": "on"}, "Literal['on']"),
        ({"enum": ["\n", "'", "\u202e"]}, "Literal['\\n', \"'\", '\\u202e']"),
        ({"oneOf": [TEXT, {"type": "null"}]}, "str | None"),
        ({"anyOf": [NUMBER, {"type": "integer"}, {"type": "null"}]}, "int | float | None"),
        ({"anyOf": [TEXT, {}]}, "object"),
        ({"anyOf": []}, "object"),
        ({"type": "string", "anyOf": [{"minLength": 1}, {"format": "uri"}]}, "str"),
        ({"allOf": [TEXT]}, "str"),
        ({"allOf": [TEXT, {"minLength": 1}]}, "str"),
        ({"allOf": [{"type": "number"}, {"type": "integer"}]}, "int"),
        ({"allOf": [{"type": ["string", "null"]}, {"type": ["null", "string"]}]}, "str | None"),
        ({"allOf": [{"enum": ["a", "b"]}, {"enum": ["b", "c"]}]}, "Literal['b']"),
        ({"allOf": [TEXT, {"type": "integer"}]}, "object"),
        ({"allOf": [{"enum": ["a"]}, {"enum": ["b"]}]}, "object"),
        ({"allOf": [{"const": 1}, {"const": 2}]}, "object"),
        ({"allOf": [{"const": 1}, {"const": 1}]}, "Literal[1]"),
        ({"allOf": [{"const": 1}, False]}, "object"),
        ({"type": "mystery"}, "object"),
        ({"type": 5}, "object"),
        ({}, "object"),
        (True, "object"),
        (None, "object"),
        ({"$ref": "https://example.org/x"}, "object"),
        ({"$ref": "#/$defs/missing"}, "object"),
        ({"$ref": "#anchor"}, "object"),
        ({"$ref": 5}, "object"),
    ],
    ids=str,
)
def test_a_schema_reads_as_a_python_type(schema: Json, python: str) -> None:
    assert argument_type(schema) == python


def test_nested_objects_are_written_out_with_what_may_be_left_out() -> None:
    place: JsonObject = {
        "type": "object",
        "properties": {"lat": {"type": "number"}, "tags": {"type": "array", "items": TEXT}},
        "required": ["lat"],
    }
    assert argument_type(place) == "{'lat': float, 'tags': NotRequired[list[str]]}"
    assert argument_type({"type": "array", "items": {"properties": {"at": place}}}) == (
        "list[{'at': NotRequired[{'lat': float, 'tags': NotRequired[list[str]]}]}]"
    )
    joined: JsonObject = {
        "allOf": [place, {"properties": {"zoom": {"type": "integer"}}, "required": ["zoom"]}]
    }
    assert "'zoom': int" in argument_type(joined)
    assert "'lat': float" in argument_type(joined)
    choice: JsonObject = {
        "type": "object",
        "oneOf": [
            {"properties": {"a": TEXT}, "required": ["a"]},
            {"properties": {"b": {"type": "integer"}}, "required": ["b"]},
        ],
    }
    assert argument_type(choice) == "{'a': str} | {'b': int}"


def test_objects_too_deep_too_wide_or_too_long_are_cut() -> None:
    deep: JsonObject = {"type": "integer"}
    for _ in range(40):
        deep = {"type": "object", "properties": {"d": deep}, "required": ["d"]}
    assert argument_type(deep) == "{'d': {'d': {'d': dict}}}"
    keys = [f"k{n}" for n in range(OBJECT_KEYS_SHOWN + 1)]
    wide: JsonObject = {"properties": dict.fromkeys(keys, TEXT), "required": [*keys]}
    assert argument_type(wide).endswith("...: ...}")
    long: JsonObject = {"properties": {f"{'k' * 60}{n}": {} for n in range(9)}}
    assert argument_type(long) == "dict"
    many = spec({f"p{n}": {"properties": {f"{'k' * 50}{n}": {}}} for n in range(20)})
    assert f"p0: {{'{'k' * 50}" not in tool_signature(many, "f")
    assert len(tool_signature(many, "f")) <= SIGNATURE_CHARACTERS
    assert len(argument_type({"enum": ["x" * 300, "y"], "type": "string"})) <= TYPE_CHARACTERS


def test_references_inside_are_followed() -> None:
    colour: Json = {"enum": ["red", "blue"]}
    inner: Json = {"type": "array", "items": {"$ref": "#/$defs/a~1b"}}
    assert argument_type(inner, **{"a/b": colour}) == "list[Literal['red', 'blue']]"
    through_an_array: Json = {"$ref": "#/$defs/u/anyOf/1"}
    assert argument_type(through_an_array, u={"anyOf": [TEXT, {"type": "integer"}]}) == "int"
    assert argument_type({"$ref": "#/$defs/u/anyOf/7"}, u={"anyOf": [TEXT]}) == "object"
    assert argument_type({"$ref": "#/$defs/u/anyOf/x"}, u={"anyOf": [TEXT]}) == "object"


def test_a_schema_that_holds_itself_is_cut_where_it_begins_again() -> None:
    tree: Json = {
        "type": "object",
        "properties": {
            "name": TEXT,
            "children": {"type": "array", "items": {"$ref": "#/$defs/tree"}},
        },
        "required": ["name"],
    }
    assert argument_type({"$ref": "#/$defs/tree"}, tree=tree) == (
        "{'name': str, 'children': NotRequired[list["
        "{'name': str, 'children': NotRequired[list[dict]]}]]}"
    )
    nested: Json = {"type": "array", "items": {"$ref": "#/$defs/n"}}
    many: Json = {"anyOf": [nested for _ in range(10)]}
    assert len(argument_type({"$ref": "#/$defs/n"}, n=many)) <= TYPE_CHARACTERS
    assert argument_type({"$ref": "#/$defs/n"}, n={"$ref": "#/$defs/n"}) == "object"
    assert argument_type({"$ref": "#/$defs/n"}, n={"allOf": [{"$ref": "#/$defs/n"}]}) == "object"


def test_optional_arguments_show_their_defaults() -> None:
    properties: JsonObject = {
        "query": TEXT,
        "limit": {"type": "integer", "default": 10},
        "mode": {"enum": ["fast", "deep"], "default": "fast"},
        "note": {"anyOf": [TEXT, {"type": "null"}], "default": None},
        "long": {"type": "string", "default": "x" * 100},
        "info": {"type": "string", "default": "inf"},
        "most": {"type": "number", "default": float("inf")},
        "big": {"type": "integer", "default": 10**5000},
        "free": {"type": "boolean"},
    }
    signature = tool_signature(spec(properties, ["query"]), "search")
    ast.parse(f"def {signature}: ...")
    assert signature == (
        "search(query: str, limit: int = 10, mode: Literal['fast', 'deep'] = 'fast', "
        "note: str | None = None, long: str = ..., info: str = 'inf', most: float = ..., "
        "big: int = ..., free: bool = ...) -> str"
    )


def test_a_required_argument_behind_an_optional_one_is_keyword_only() -> None:
    properties: JsonObject = {n: {"type": "integer"} for n in ("a", "b", "c")}
    signature = tool_signature(spec(properties, ["a", "c"]), "f")
    assert signature == "f(a: int, *, b: int = ..., c: int) -> str"
    ast.parse(f"def {signature}: ...")


def test_names_that_python_does_not_allow_are_written_as_it_does() -> None:
    properties: JsonObject = {"user-id": TEXT, "from": TEXT}
    assert tool_signature(spec(properties, ["from"]), "f") == (
        "f(*, user_id: str = ..., from_: str) -> str"
    )
    assert "user_id: sent as 'user-id'" in tool_documentation(spec(properties))


def test_further_arguments_are_shown_where_the_schema_names_them() -> None:
    more = spec({"more": TEXT}, additionalProperties=TEXT)
    assert tool_signature(more, "f") == "f(more: str = ..., **more_: str) -> str"
    assert tool_signature(spec({}, additionalProperties=True), "f") == "f(**more: object) -> str"
    assert tool_signature(spec({}), "f") == "f() -> str"


def test_what_no_signature_can_express_takes_one_dict_and_shows_its_schema() -> None:
    odd = ToolSpec("s", "f", "Odd.", {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]})
    assert tool_signature(odd, "f") == "f(arguments: dict) -> str"
    assert 'arguments: by this JSON Schema: {"anyOf"' in tool_stub(odd, "f")
    huge = ToolSpec("s", "f", "", {"type": "array", "description": "x" * 100_000})
    assert len(tool_stub(huge, "f")) < SCHEMA_CHARACTERS + 200


@pytest.mark.parametrize(
    ("output", "python"),
    [
        (None, "str"),
        ({"type": "object", "properties": {"result": TEXT}}, "str"),
        ({"properties": {"result": TEXT, "more": {}}, "required": ["result"]},
         "{'result': str, 'more': NotRequired[object]}"),
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
)  # fmt: skip
def test_the_result_is_what_a_plan_receives(output: JsonObject | None, python: str) -> None:
    assert tool_signature(spec({}, output=output), "f") == f"f() -> {python}"


def test_a_stub_is_the_whole_function_with_what_there_is_to_say() -> None:
    forecast = spec(
        {
            "city": {**TEXT, "description": "where  to\nlook", "minLength": 2},
            "days": {"type": "integer", "default": 3, "minimum": 1, "maximum": 9},
            "when": {**TEXT, "format": "date-time", "title": "When"},
            "unit": {"enum": ["C", "F"]},
            "id": {"type": "integer", "maximum": 2**53 - 1, "minimum": -(2**53) + 1},
        },
        ["city"],
        description="The weather\n  of the next days.",
    )
    assert tool_stub(forecast, "forecast") == (
        "async def forecast(city: str, days: int = 3, when: str = ..., "
        "unit: Literal['C', 'F'] = ..., id: int = ...) -> str:\n"
        '    """The weather of the next days.\n'
        "\n"
        "    city: where to look (at least 2 characters)\n"
        "    days: at least 1; at most 9\n"
        "    when: date-time\n"
        '    """\n'
    )
    assert tool_stub(spec({}), "f") == (
        'async def f() -> str:\n    """No description provided."""\n'
    )
    assert tool_stub(spec({}), "web.find").startswith(
        'async def find() -> str:\n    """Called as tools.web.find.\n\n    No description'
    )


@pytest.mark.parametrize(
    "text",
    [
        '"""\nimport os\n"""',
        'ends in a "',
        "ends in a \\",
        "\\N{x} \\u12",
        "\0\x1b[2J\u202e",
        "\ud800",
    ],
)
def test_no_text_breaks_out_of_a_docstring_or_reaches_a_terminal(text: str) -> None:
    stub = tool_stub(spec({"x": {**TEXT, "description": text}}, description=text), "f")
    (function,) = ast.parse(stub).body
    assert isinstance(function, ast.AsyncFunctionDef)
    assert len(function.body) == 1
    assert all(c.isprintable() or c == "\n" for c in stub)


names = st.sampled_from(["a", "b", "input", "user-id", "from", "é", "…", "", "__x", "more"])
scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
kinds = st.sampled_from(
    ["object", "array", "string", "integer", "number", "boolean", "null", "odd"]
)


def _schemas(inner: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    """Schemas made of schemas, well and badly formed."""
    properties = st.dictionaries(names, inner, max_size=3)
    schemas = st.fixed_dictionaries(
        {},
        optional={
            "type": kinds | st.lists(kinds, max_size=2) | scalars,
            "properties": properties | scalars,
            "required": st.lists(names | scalars, max_size=3) | scalars,
            "additionalProperties": inner,
            "items": inner | st.lists(inner, max_size=2),
            "prefixItems": st.lists(inner, max_size=2),
            "anyOf": st.lists(inner, max_size=2) | scalars,
            "oneOf": st.lists(inner, max_size=2),
            "allOf": st.lists(inner, max_size=2) | scalars,
            "$ref": st.sampled_from(["#", "#/$defs/d", "#/properties/a", "#/allOf/0", "x", ""]),
            "$defs": st.fixed_dictionaries({"d": inner}),
            "enum": st.lists(scalars, max_size=3) | scalars,
            "const": scalars,
            "default": inner,
            "description": st.text(max_size=9) | scalars,
            "minimum": scalars,
            "nullable": scalars,
        },
    )
    return cast("st.SearchStrategy[Json]", schemas)


any_schema = st.recursive(scalars, _schemas, max_leaves=12)


@pytest.mark.timeout(30)  # seconds for all examples; they take one
@settings(max_examples=60, deadline=None)
@given(any_schema.filter(lambda s: isinstance(s, dict)), any_schema)
def test_any_schema_gives_a_stub_that_parses_and_arguments_that_arrive(
    schema: Json, output: Json
) -> None:
    given_schema = cast("JsonObject", schema)
    tool = ToolSpec("s", "f", "", given_schema, output if isinstance(output, dict) else None)
    (function,) = ast.parse(tool_stub(tool, "f")).body
    assert isinstance(function, ast.AsyncFunctionDef)
    signature = tool_signature(tool, "f")
    assert "\n" not in signature
    values: JsonObject = {p.argument: {"v": n} for n, p in enumerate(tool.parameters)}
    sent: Json = tool.bind((), values)
    if tool.takes_whole:
        assert sent == tool.bind([*values.values()], {}) == {"v": 0}
        assert tool.bind_raw(given_schema) == given_schema
        return
    if sent == values and tool.wrapper is not None:
        return  # it was the wrapper itself
    inner = sent[tool.wrapper] if tool.wrapper is not None else sent
    assert inner == {p.name: {"v": n} for n, p in enumerate(tool.parameters)}
    assert [a.arg for a in [*function.args.args, *function.args.kwonlyargs]] == list(values)
    json.dumps(sent)

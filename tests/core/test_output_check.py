"""Results against output schemas: what is checked, and what may trap us."""

import pytest

from core.content import TextBlock, ToolResult
from core.mcp.output_check import (
    SCHEMA_PARTS_MAX,
    TEXT_CHARACTERS_A_PART,
    OutputChecks,
    count_parts,
    count_schema_parts,
)
from core.tool_spec import ToolSpec
from core.values import Json, JsonObject

NESTED: JsonObject = {
    "type": "object",
    "properties": {"at": {"$ref": "#/$defs/Place"}, "tags": {"type": "array", "maxItems": 2}},
    "required": ["at"],
    "$defs": {
        "Place": {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]}
    },
}


def breach(schema: JsonObject, value: JsonObject | None, *, is_error: bool = False) -> str | None:
    checks = OutputChecks()
    checks.learn([ToolSpec("box", "t", "", {}, schema), ToolSpec("box", "free", "", {})])
    assert checks.breach("free", ToolResult(())) is None
    return checks.breach("t", ToolResult((TextBlock("x"),), value, is_error))


def test_a_result_that_fits_has_no_breach() -> None:
    assert breach(NESTED, {"at": {"x": 1.5}, "tags": [1]}) is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"at": {"x": "far"}}, "['at']['x']: \"far\" is not of type \"number\""),
        ({"tags": []}, 'it: "at" is a required property'),
        (None, "it has no structured content"),
    ],
)
def test_a_breach_names_its_place(value: JsonObject | None, text: str) -> None:
    assert breach(NESTED, value) == text


def test_an_error_promises_nothing() -> None:
    assert breach(NESTED, None, is_error=True) is None


def test_a_pattern_that_would_backtrack_for_ever_is_checked_at_once() -> None:
    schema: JsonObject = {"properties": {"r": {"pattern": "^(a+)+$"}}}
    assert breach(schema, {"r": "a" * 100_000}) is None
    assert "does not match" in (breach(schema, {"r": "a" * 50 + "!"}) or "")


def test_a_schema_that_is_none_or_leads_elsewhere_promises_nothing() -> None:
    assert breach({"type": "nonsense"}, {}) is None
    assert breach({"$ref": "http://127.0.0.1:9/schema"}, {}) is None
    assert breach({"properties": {"r": {"pattern": "("}}}, {"r": ""}) is None


def twice(ref: str) -> list[Json]:
    return [{"$ref": ref}, {"$ref": ref}]


def doubling(depth: int) -> JsonObject:
    """A schema of a few lines that a checker takes 2^depth steps for."""
    defs: JsonObject = {f"d{n}": {"allOf": twice(f"#/$defs/d{n + 1}")} for n in range(depth)}
    return {"$ref": "#/$defs/d0", "$defs": {**defs, f"d{depth}": {"type": "object"}}}


@pytest.mark.parametrize(
    "schema",
    [
        {"anyOf": [{}, {"$ref": "#"}]},
        {"$ref": "#/$defs/a", "$defs": {"a": {"items": {"$ref": "#/$defs/a"}}}},
        {"$dynamicRef": "#x"},
        {"$ref": "#/nowhere"},
        {"enum": [0] * SCHEMA_PARTS_MAX},
        doubling(40),
    ],
    ids=["itself", "circle", "dynamic", "nowhere", "huge", "doubling"],
)
def test_a_schema_whose_cost_is_unknown_is_not_used(schema: JsonObject) -> None:
    assert count_schema_parts(schema) is None
    assert breach(schema, {"a": 1}) is None


def test_references_count_where_they_are_used() -> None:
    assert count_schema_parts({"type": "object"}) == 2
    two: JsonObject = {"allOf": twice("#/$defs/a"), "$defs": {"a": {"type": "string"}}}
    assert count_schema_parts(two) == 1 + 1 + 2 * (1 + 2 + 1)


@pytest.mark.parametrize(("most", "count"), [(5, 5), (4, None)])
def test_the_parts_of_a_value_are_counted_up_to_a_bound(most: int, count: int | None) -> None:
    value: Json = {"a": [1, 2], "b": None}
    assert count_parts(value, most) == count


def test_a_result_out_of_proportion_to_its_schema_is_not_looked_at() -> None:
    schema: JsonObject = {"properties": {"n": {"enum": [*range(1000)]}}}
    assert breach(schema, {"n": "no"}) is not None
    assert breach(schema, {"n": "no", "more": list[Json]([0] * 100_000)}) is None


def test_a_schema_that_is_nested_too_deeply_by_its_references_is_left_alone() -> None:
    definitions: JsonObject = {"d40": {"type": "string"}}
    for number in range(40):
        inner: Json = {"$ref": f"#/$defs/d{number + 1}"}
        for _ in range(90):
            inner = {"not": inner}
        definitions[f"d{number}"] = inner
    assert breach({"$ref": "#/$defs/d0", "$defs": definitions}, {"a": 1}) is None


def test_long_text_counts_by_its_length() -> None:
    text = "x" * TEXT_CHARACTERS_A_PART
    assert count_parts({"a": text * 8}, 100) == 10
    assert count_parts({"a": text * 200}, 100) is None
    assert count_parts({text * 200: 1}, 100) is None


def test_a_reference_into_a_list_is_followed_like_any_other() -> None:
    schema: JsonObject = {
        "properties": {
            "a": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "b": {"$ref": "#/properties/a/anyOf/0"},
        }
    }
    assert breach(schema, {"b": "text"}) is None
    assert "is not of type" in (breach(schema, {"b": 5}) or "")

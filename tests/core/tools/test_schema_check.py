"""Schemas as validators: what is checked, and what may trap us."""

import time

import pytest

from core.tools.schema_check import (
    MATCHED_CHARACTERS_MAX,
    REPORTED_PARTS_MAX,
    SCHEMA_PARTS_MAX,
    TEXT_CHARACTERS_A_PART,
    LinearPatterns,
    SchemaSize,
    compile_schema,
    count_characters,
    count_parts,
    measure_schema,
)
from core.values import Json, JsonObject

HOLD_SECONDS_MAX = 0.3
"""Bound on a check whose cost would else be seconds; some tens of milliseconds when idle."""


def breach(schema: JsonObject, value: Json) -> str | None:
    compiled = compile_schema(schema)
    found = None if compiled is None else compiled.breach(value)
    return None if found is None else str(found)


def test_a_pattern_that_would_backtrack_for_ever_is_checked_at_once() -> None:
    schema: JsonObject = {"properties": {"r": {"pattern": "^(a+)+$"}}}
    assert breach(schema, {"r": "a" * MATCHED_CHARACTERS_MAX}) is None
    assert "does not match" in (breach(schema, {"r": "a" * 50 + "!"}) or "")


def test_a_schema_that_is_none_or_leads_elsewhere_promises_nothing() -> None:
    assert compile_schema({"type": "nonsense"}) is None
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
    assert measure_schema(schema) is None
    assert breach(schema, {"a": 1}) is None


def test_references_count_where_they_are_used() -> None:
    assert measure_schema({"type": "object"}) == SchemaSize(parts=2, patterns=0)
    two: JsonObject = {"allOf": twice("#/$defs/a"), "$defs": {"a": {"type": "string"}}}
    assert measure_schema(two) == SchemaSize(1 + 1 + 2 * (1 + 2 + 1), patterns=0)


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


BLOWN_UP = r"(a|b)*a(a|b){400}x"
"""A pattern whose automaton has 2^400 states: each character of a text costs thousands of steps."""


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"pattern": BLOWN_UP}, "ab" * 500_000),
        ({"items": {"pattern": BLOWN_UP}}, ["ab" * 500] * 1000),
        ({"patternProperties": {BLOWN_UP: False}}, {"ab" * 500_000: 1}),
        ({"pattern": "a?" * 30_000}, "a"),
        ({"allOf": [{"pattern": f"[a-z]{{1,500}}{n}"} for n in range(200)]}, "a"),
        ({"anyOf": [{"items": {"type": "string"}}, {"items": {"type": "null"}}]}, [True] * 60_000),
    ],
    ids=["long text", "many texts", "long name", "long pattern", "many patterns", "long report"],
)
def test_what_would_hold_everything_up_is_left_alone_or_told_in_short(
    schema: JsonObject, value: Json
) -> None:
    began = time.perf_counter()
    found = breach(schema, value)
    assert time.perf_counter() - began < HOLD_SECONDS_MAX
    assert found is None or len(found) < 600


def test_a_breach_in_a_big_value_is_told_without_details() -> None:
    assert breach({"items": {"type": "string"}}, [*range(REPORTED_PARTS_MAX + 1)]) == (
        "it: it doesn't fit the schema"
    )


def test_patterns_search_in_short_texts_and_say_nothing_of_others() -> None:
    patterns = LinearPatterns()
    assert patterns.matches("b+", "abba") is True
    assert patterns.matches("^b", "abba") is False
    assert patterns.matches("(", "abba") is None
    assert patterns.matches("b", "b" * (MATCHED_CHARACTERS_MAX + 1)) is None


def test_the_text_of_a_value_is_counted_names_included() -> None:
    assert count_characters({"ab": ["cde", 5, {"f": None}]}) == 6

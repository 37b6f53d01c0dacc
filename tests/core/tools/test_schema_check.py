"""Schemas as validators: what is checked, and what may trap us."""

import time

import pytest

from core.tools.json_schema import TEXT_CHARACTERS_A_PART, measure_value
from core.tools.schema_check import MATCHED_CHARACTERS_MAX, SchemaCheck
from core.tools.schema_reading import SCHEMA_PARTS_MAX, measure_schema
from core.values import Json, JsonObject

HOLD_SECONDS_MAX = 0.3
"""Bound on a check whose cost would else be seconds; some tens of milliseconds when idle."""


def breach(schema: JsonObject, value: Json) -> str | None:
    return SchemaCheck(schema).breach(value)


def test_a_pattern_that_would_backtrack_for_ever_is_checked_at_once() -> None:
    schema: JsonObject = {"properties": {"r": {"pattern": "^(a+)+$"}}}
    assert breach(schema, {"r": "a" * MATCHED_CHARACTERS_MAX}) is None
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
        {"anyOf": [{"type": "null"}, {"$ref": "#"}]},
        {"$ref": "#"},
        {"allOf": [{"$ref": "#/allOf/0"}]},
        {"enum": [0] * SCHEMA_PARTS_MAX},
        doubling(40),
    ],
    ids=["itself", "nothing else", "circle", "huge", "doubling"],
)
def test_a_schema_whose_cost_is_unknown_is_not_used(schema: JsonObject) -> None:
    assert measure_schema(schema, levels=2) is None
    assert breach(schema, {"a": 1}) is None


def test_a_schema_that_leads_to_itself_costs_as_much_as_the_value_is_deep() -> None:
    tree: JsonObject = {"items": {"$ref": "#"}, "maxItems": 1}
    for levels in (1, 2, 9):
        size = measure_schema(tree, levels)
        assert size is not None
        assert len(size.parts) == levels
    fan: JsonObject = {"allOf": [{"items": {"$ref": "#"}}, {"items": {"$ref": "#"}}]}
    assert measure_schema(fan, levels=5) is not None
    assert measure_schema(fan, levels=20) is None


def test_what_would_be_walked_again_and_again_is_not_used() -> None:
    nested: JsonObject = {"properties": {"a": {}}}
    for _ in range(40):
        nested = {"unevaluatedProperties": False, "allOf": [nested]}
    assert measure_schema(nested, levels=2) is None
    once: JsonObject = {"unevaluatedProperties": False, "allOf": [{"properties": {"a": {}}}]}
    assert "'b' was unexpected" in (breach(once, {"a": 1, "b": 2}) or "")


def test_references_count_where_they_are_used() -> None:
    one = measure_schema({"type": "string"}, 1)
    two = measure_schema({"allOf": twice("#/$defs/a"), "$defs": {"a": {"type": "string"}}}, 1)
    assert (one and one.parts, two and two.parts) == ((2,), (1 + 2 * (2 + 2),))


@pytest.mark.parametrize(("most", "parts"), [(5, (1, 2, 2)), (4, None)])
def test_the_parts_of_a_value_are_counted_up_to_a_bound(
    most: int, parts: tuple[int, ...] | None
) -> None:
    size = measure_value({"a": [1, 2], "b": None}, most)
    assert (size and size.parts) == parts


def test_a_result_out_of_proportion_to_its_schema_is_not_looked_at() -> None:
    schema: JsonObject = {"items": {"enum": [*range(1000)]}}
    assert breach(schema, ["no"]) is not None
    assert breach(schema, ["no", *range(5_000)]) is None


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
    size = measure_value({"a": text * 8}, 100)
    assert size is not None
    assert (size.parts, size.characters) == ((1, 9), 1 + 8 * TEXT_CHARACTERS_A_PART)
    assert measure_value({"a": text * 200}, 100) is None
    assert measure_value({text * 200: 1}, 100) is None


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


def test_of_a_big_value_the_first_breach_is_told_where_that_is_cheap() -> None:
    many: list[Json] = [*range(50_000)]
    assert breach({"items": {"type": "string"}}, many) == '[0]: 0 is not of type "string"'
    either: JsonObject = {"anyOf": [{"items": {"type": "string"}}, {"maxItems": 1}]}
    assert breach(either, many) == "it: it doesn't fit the schema"


def test_beside_a_long_text_all_but_patterns_is_checked() -> None:
    schema: JsonObject = {"properties": {"code": {"pattern": "^a$"}, "size": {"type": "number"}}}
    text = "x" * (MATCHED_CHARACTERS_MAX + 1)
    assert breach(schema, {"code": "b", "text": text}) is None
    assert "is not of type" in (breach(schema, {"code": "b", "text": text, "size": "x"}) or "")


def test_what_is_no_json_is_left_to_others() -> None:
    values: list[Json] = ["\ud800", 10**5_000]
    assert [breach({"type": ["string", "number"]}, value) for value in values] == [None] * 2

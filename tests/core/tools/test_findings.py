"""Schemas as checks: they agree with jsonschema-rs, and what is wrong is said in words."""

import json
from typing import cast

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.tools.findings import FAULTS_MAX
from core.tools.formats import FORMATS
from core.tools.schema_check import SchemaCheck
from core.values import Json, JsonObject


def words(schema: JsonObject, value: Json) -> list[str]:
    return [fault.words for fault in SchemaCheck(schema, checks_formats=True).faults(value)]


scalars: st.SearchStrategy[Json] = st.sampled_from(
    [None, True, False, 0, 1, 1.0, 2.5, -3, "", "a", "ab", "B"]
)
values: st.SearchStrategy[Json] = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner),
    max_leaves=6,
)
types = st.sampled_from(["string", "integer", "number", "boolean", "array", "object", "null"])
few = st.integers(0, 3)
names = st.lists(st.sampled_from("ab"), unique=True)


def nodes(inner: st.SearchStrategy[Json]) -> st.SearchStrategy[JsonObject]:
    some = st.lists(inner, min_size=1, max_size=2)
    keywords: dict[str, st.SearchStrategy[object]] = {
        "type": types | st.lists(types, min_size=1, max_size=2, unique=True),
        "enum": st.lists(values, min_size=1, max_size=3),
        "const": scalars,
        **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "minLength", "maxLength"), few),
        **dict.fromkeys(("minItems", "maxItems", "minProperties", "maxProperties"), few),
        "multipleOf": st.sampled_from([1, 2, 0.5]),
        "pattern": st.sampled_from(["a", "^b", "[A-Z]$"]),
        "uniqueItems": st.booleans(),
        "required": names,
        "properties": st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
        "additionalProperties": inner,
        "items": inner,
        **dict.fromkeys(("anyOf", "allOf", "prefixItems"), some),
        "not": inner,
        "$ref": st.just("#/$defs/x"),
        "description": st.just("words"),
    }
    found = st.fixed_dictionaries({}, optional=keywords)
    return cast("st.SearchStrategy[JsonObject]", found)


schemas: st.SearchStrategy[JsonObject] = st.recursive(nodes(st.booleans()), nodes, max_leaves=4)
definitions = nodes(st.booleans()).filter(lambda schema: "$ref" not in json.dumps(schema))


@settings(max_examples=40, deadline=None)
@given(schemas, definitions, values)
def test_a_value_has_faults_where_a_validator_refuses_it(
    schema: JsonObject, definition: Json, value: Json
) -> None:
    whole: JsonObject = {**schema, "$defs": {"x": definition}}
    fits = jsonschema_rs.validator_for(whole).is_valid(value)
    assert (words(whole, value) == []) is fits


FAULTS: list[tuple[Json, Json, str]] = [
    ({"type": "number"}, True, "must be a number, not True"),
    ({"type": "integer"}, 2.5, "must be a whole number, not 2.5"),
    ({"type": ["string", "null"]}, [], "must be text or None, not an empty list"),
    ({"type": "boolean"}, "yes", "must be True or False, not the text 'yes'"),
    ({"enum": ["metric", "us"]}, "uk", "must be one of 'metric', 'us', not the text 'uk'"),
    ({"const": 1}, True, "must be 1, not True"),
    ({"minimum": 1}, 0, "must be at least 1, not 0"),
    ({"exclusiveMaximum": 1}, 10**100, "must be below 1, not a number of very many digits"),
    ({"maxLength": 2}, "abc", "must have at most 2 characters, not 3"),
    ({"minItems": 1}, [], "must have at least 1 item, not 0"),
    ({"multipleOf": 5}, 7, "must be a multiple of 5, not 7"),
    (
        {"pattern": "^a+$"},
        "b",
        "must be text that matches the pattern '^a+$', not the text 'b'",
    ),
    ({"format": "date"}, "soon", "must be a date such as 2026-11-22, not the text 'soon'"),
    (
        {"uniqueItems": True},
        [1, 1, 2, 1],
        "must be a list without repeats: 2 of its 4 items repeat another",
    ),
    (
        {"enum": []},
        {"a": 1},
        "can have no value: the tool's schema allows none (its enum is empty); leave it out, or "
        "use another tool",
    ),
    ({"enum": ["a", "a", "b"]}, "c", "must be one of 'a', 'b', not the text 'c'"),
    ({"enum": [{"a": 1}, [2]]}, "c", "must be one of {\"a\": 1}, [2], not the text 'c'"),
    ({"const": []}, 1, "must be [], not 1"),
    ({"anyOf": [{"enum": []}, {"type": "number"}]}, "a", "must be a number, not the text 'a'"),
    ({"required": ["a"]}, {}, "is missing"),
    (False, 1, "can't be given here"),
    ({"items": {"type": "null"}, "prefixItems": [{}]}, [1, 2], "must be None, not 2"),
]


@pytest.mark.parametrize(("schema", "value", "told"), FAULTS)
def test_a_fault_says_what_is_expected_and_what_was_given(
    schema: Json, value: Json, told: str
) -> None:
    assert words({"properties": {"x": schema}}, {"x": value}) == [told]


@pytest.mark.parametrize(
    ("schema", "value", "told"),
    [
        ([{"type": "number"}, {"type": "null"}], "x", "must be a number or None, not the text 'x'"),
        ([{"const": "a"}, {"const": "b"}], "c", "must be 'a' or 'b', not the text 'c'"),
        ([{"type": "integer", "minimum": 1}, {"type": "null"}], 0, "must be at least 1, not 0"),
        (
            [{"type": "object", "required": ["x", "y"]}, {"type": "object", "required": ["z"]}],
            {},
            "is missing (in the nearest of its 2 forms)",
        ),
    ],
)
def test_of_several_schemas_the_one_that_comes_nearest_is_told(
    schema: list[Json], value: Json, told: str
) -> None:
    assert words({"anyOf": schema}, value) == words({"oneOf": schema}, value) == [told]


def test_an_unknown_name_is_told_with_one_that_looks_alike_or_with_all_that_there_are() -> None:
    schema: JsonObject = {"properties": {"price": {}, "name": {}}, "additionalProperties": False}
    assert words(schema, {"Prise": 1}) == ["is unknown; did you mean 'price'?"]
    assert words(schema, {"zzz": 1}) == ["is unknown; there may be 'price', 'name'"]


def test_where_nothing_is_known_nothing_may_be_given() -> None:
    assert words({"additionalProperties": False}, {"x": 1}) == [
        "is unknown; nothing may be given here"
    ]


def test_of_very_many_forms_not_all_are_told() -> None:
    (told,) = words({"anyOf": [{"const": f"name {number}"} for number in range(200)]}, "x")
    assert len(told) < 400


def test_of_many_allowed_values_those_that_look_alike_are_told_first() -> None:
    schema: JsonObject = {"enum": [*(f"colour-{n}" for n in range(100)), "teal"]}
    (told,) = words(schema, "teel")
    assert told.startswith("must be one of 'teal', 'colour-0', ")
    assert told.endswith("and 89 more, not the text 'teel'")


@pytest.mark.parametrize(
    ("name", "text", "fits"),
    [
        ("date", "2026-02-30", False),
        ("date-time", "2026-11-22T14:30:00Z", True),
        ("date-time", "2026-11-22 14:30", True),
        ("date-time", "tomorrow", False),
        ("time", "14:30", True),
        ("time", "half past two", False),
        ("uuid", "123e4567-e89b-42d3-a456-426614174000", True),
        ("uuid", "123", False),
        ("ipv4", "192.0.2.256", False),
        ("ipv6", "2001:db8::1", True),
        ("email", "ann@example.org", True),
        ("email", "ann", False),
        ("uri", "https://example.org/a b", True),
        ("uri", "example.org", False),
        ("date", "x" * 100_000, True),
    ],
)
def test_a_format_refuses_only_what_no_reading_of_it_allows(
    name: str, text: str, fits: bool
) -> None:
    assert (FORMATS[name](text)) is fits


def test_null_is_allowed_where_openapi_says_so() -> None:
    assert words({"type": "string", "nullable": True}, None) == []


def test_beside_a_reference_of_an_old_draft_nothing_counts() -> None:
    schema: JsonObject = {"properties": {"x": {"$ref": "#/definitions/d", "maximum": 1}}}
    schema["definitions"] = {"d": {"type": "integer"}}
    assert words(schema, {"x": 5}) == ["must be at most 1, not 5"]
    schema["$schema"] = "http://json-schema.org/draft-07/schema#"
    assert words(schema, {"x": 5}) == []
    schema["properties"] = {"x": {"$ref": "#/definitions/d", "type": "string"}}
    assert words(schema, {"x": 5}) == []


def test_prefix_items_are_no_keyword_of_an_old_draft() -> None:
    schema: JsonObject = {"prefixItems": [{"type": "string"}], "items": {"type": "integer"}}
    assert words(schema, ["a", 1]) == []
    assert words(schema, [1, 1]) != []
    schema["$schema"] = "http://json-schema.org/draft-07/schema#"
    assert words(schema, [1, 1]) == []


def test_not_more_faults_are_told_than_anyone_needs() -> None:
    assert len(words({"items": {"type": "string"}}, [*range(500)])) == FAULTS_MAX


@pytest.mark.parametrize(
    "schema",
    [
        *({"enum": "abc"}, {"enum": None}, {"anyOf": []}, {"type": []}, {"type": "nonsense"}),
        *({"required": True}, {"pattern": "("}, {"not": {"type": "nonsense"}}, {"format": []}),
        *({"properties": None, "additionalProperties": False}, {"properties": {"d": 5}}),
        *({"$ref": "https://example.org/schema.json"}, {"$ref": "#/nowhere"}, {"$ref": 5}),
        *(
            {"$dynamicRef": "#a"},
            {"not": {"$ref": "#/nowhere"}},
            {"if": {"$ref": "#/x"}, "then": False},
        ),
        *({"allOf": [5]}, {"$defs": {"a": 5}}, {"patternProperties": {"(": False}}),
    ],
)
def test_a_keyword_that_is_malformed_says_nothing_and_the_others_count(schema: JsonObject) -> None:
    inner: Json = {**schema, "maxProperties": 1}
    assert words({"properties": {"x": inner}}, {"x": {"d": 1}}) == []
    assert words({"properties": {"x": inner}}, {"x": {"d": 1, "e": 2}}) == [
        "must have at most 1 key, not 2"
    ]


def test_a_schema_may_lead_to_itself_deeper_in_the_value() -> None:
    tree: JsonObject = {
        "properties": {"name": {"type": "string"}, "inner": {"items": {"$ref": "#"}}},
        "required": ["name"],
    }
    assert words(tree, {"name": "a", "inner": [{"name": "b", "inner": []}]}) == []
    assert words(tree, {"name": "a", "inner": [{"name": "b", "inner": [{}]}]}) == ["is missing"]


def test_the_opposite_of_what_is_read_in_a_wider_way_is_not_demanded() -> None:
    either: JsonObject = {"oneOf": [{"type": "number"}, {"minimum": 1}]}
    assert words({"not": either}, 2) == []
    assert words({"not": {"$ref": "#/$defs/either"}, "$defs": {"either": either}}, 2) == []


def test_what_a_validator_says_in_words_of_its_own_is_passed_on() -> None:
    assert words({"not": {"const": 13}}, 13) == [': {"const":13} is not allowed for 13']

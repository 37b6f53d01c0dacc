"""Schemas as checks: what may trap us; what arguments are refused and how, what is put right."""

import time

import pytest

from core.errors import CallRefused
from core.tools.json_schema import TEXT_CHARACTERS_A_PART, measure_value
from core.tools.schema_check import (
    FAULTS_TOLD,
    MATCHED_CHARACTERS_MAX,
    FullCheck,
    SchemaCheck,
    argument_check,
)
from core.tools.schema_reading import SCHEMA_PARTS_MAX, measure_schema
from core.tools.spec import ToolSpec
from core.values import Json, JsonObject
from servers.schemas import AddInput, NumbersInput, ThumbnailInput

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


ORDER: JsonObject = {
    "type": "object",
    "properties": {
        "items": {"type": "array", "items": {"$ref": "#/$defs/Item"}},
        "user-id": {"type": "integer"},
        "note": {"type": "string"},
        "code": {"type": "string", "pattern": "^[A-Z]{3}$"},
        "rate": {"anyOf": [{"type": "number"}, {"type": "null"}]},
        "label": {"type": ["string", "number"]},
        "odd": {"not": {"const": 13}},
    },
    "required": ["items"],
    "$defs": {
        "Item": {
            "type": "object",
            "properties": {"price": {"type": "number"}, "names": {"type": "object"}},
            "required": ["price"],
            "additionalProperties": False,
        }
    },
}


def tool(schema: JsonObject, name: str = "order") -> ToolSpec:
    return ToolSpec("shop", name, "", schema)


def wrapped(name: str, model: type[AddInput | NumbersInput | ThumbnailInput]) -> ToolSpec:
    """A tool of ours, with the schema that its server publishes."""
    inner: JsonObject = model.model_json_schema()
    return tool({"properties": {"input": inner}, "required": ["input"], "type": "object"}, name)


def checked(spec: ToolSpec, *args: Json, **kwargs: Json) -> JsonObject:
    """What a call with these arguments sends."""
    return argument_check(spec).checked(spec.bind(args, kwargs))


def refusal(spec: ToolSpec, *args: Json, **kwargs: Json) -> str:
    with pytest.raises(CallRefused) as caught:
        checked(spec, *args, **kwargs)
    return str(caught.value)


ADD = wrapped("add", AddInput)
SHOP = tool(ORDER)


def test_arguments_that_fit_are_sent_as_they_are() -> None:
    bound = SHOP.bind((), {"items": [{"price": 1}], "user_id": 3.0, "note": None, "rate": None})
    del bound["note"]
    assert argument_check(SHOP).checked(bound) is bound
    assert checked(ADD, 1, 2.5) == {"input": {"a": 1, "b": 2.5}}


OF_ADD: list[tuple[tuple[Json, ...], JsonObject, str]] = [
        (("five", 2), {}, "argument 'a' must be a number, not the text 'five'"),
        ((1, True), {}, "argument 'b' must be a number, not True"),
        ((1, None), {}, "argument 'b' must be a number, not None"),
        ((), {"input": 5}, "the arguments must be a dict, not 5"),
        ((), {"input": {"a": 1, "b": 2, "c": 3}}, "argument 'c' is unknown; there may be 'a', 'b'"),
        (([], {}), {}, "argument 'a' must be a number, not an empty list; "
                       "argument 'b' must be a number, not an empty dict"),
]  # fmt: skip


@pytest.mark.parametrize(("args", "kwargs", "told"), OF_ADD)
def test_a_refusal_names_the_arguments_without_their_wrapper(
    args: tuple[Json, ...], kwargs: JsonObject, told: str
) -> None:
    assert refusal(ADD, *args, **kwargs) == f"add(): {told}"


NESTED: list[tuple[JsonObject, str]] = [
    ({"items": [{"price": 1}, {"price": "x"}]}, "'items[1].price' must be a number"),
    ({"items": [{}]}, "'items[0].price' is missing"),
    ({"items": [{"price": 1, "prise": 2}]}, "'items[0].prise' is unknown; did you mean"),
    ({"items": [{"price": 1, "x\x1b[2J y": 2}]}, r"'items[0]['x\x1b[2J y']' is unknown; there"),
    ({"items": [], "user_id": "me"}, "'user_id' must be a whole number, not the text 'me'"),
    ({"items": [], "code": "abc"}, "'code' must be text that matches the pattern"),
    ({"items": [], "odd": 13}, "argument 'odd': {\"const\":13} is not allowed for 13"),
    ({"items": 1, "note": [], "code": 2}, "'code' must be text, not 2"),
]


@pytest.mark.parametrize(("kwargs", "told"), NESTED)
def test_a_refusal_leads_to_the_place_in_a_nested_value(kwargs: JsonObject, told: str) -> None:
    message = refusal(SHOP, **kwargs)
    assert message.startswith("order(): argument '")
    assert told in message


def test_of_many_faults_the_first_are_told_and_the_others_counted() -> None:
    message = refusal(SHOP, items=[*range(20)])
    assert message.count("must be a dict") == FAULTS_TOLD
    assert message.endswith("; and 12 more faults")


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({"note": None, "code": None, "user_id": None}, {}),
        ({"rate": None}, {"rate": None}),
        ({"user_id": "42", "rate": " 2.5 "}, {"user-id": 42, "rate": 2.5}),
        ({"label": "42"}, {"label": "42"}),
    ],
)
def test_what_a_model_surely_means_is_sent_so(given: JsonObject, sent: JsonObject) -> None:
    assert checked(SHOP, items=[{"price": "1e2"}], **given) == {"items": [{"price": 100.0}], **sent}


@pytest.mark.parametrize("text", ["007", "1_000", "1,000", "inf", "nan", "0x10", "", "٣", "1" * 50])
def test_text_that_spells_no_number_of_json_is_text(text: str) -> None:
    assert "argument 'a' must be a number, not the text" in refusal(ADD, text, 1)


def test_what_was_given_is_not_changed_by_putting_it_right() -> None:
    given: JsonObject = {"items": [{"price": "5"}], "note": None}
    argument_check(SHOP).checked(given)
    assert given == {"items": [{"price": "5"}], "note": None}


def test_none_inside_of_an_argument_is_not_left_out() -> None:
    assert "'items[0].names' must be a dict, not None" in refusal(
        SHOP, items=[{"price": 1, "names": None}]
    )


def test_our_own_tools_take_what_their_schemas_allow() -> None:
    numbers = wrapped("int_list_to_exponential_sum", NumbersInput)
    assert checked(numbers, [1, 2.5, "3"]) == {"input": {"numbers": [1, 2.5, 3]}}
    long: list[Json] = [1.5] * 100_000
    assert checked(numbers, long) == {"input": {"numbers": long}}
    assert "must have at most 100,000 items, not 100,001" in refusal(numbers, [*long, 1])
    thumbnail = wrapped("create_thumbnail", ThumbnailInput)
    assert "'image_path' must have at least 1 character, not 0" in refusal(thumbnail, "")


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "nonsense"},
        {"$ref": "https://example.org/schema.json"},
        {"properties": {"a": {"pattern": "("}}},
        {"properties": {"a": {"$dynamicRef": "#a"}}},
        {"not": {"enum": [*range(30_000)]}},
    ],
)
def test_a_schema_that_cannot_be_used_is_left_to_the_server(schema: JsonObject) -> None:
    spec = tool(schema)
    assert argument_check(spec).checked({"a": "x"}) == {"a": "x"}


def test_a_tool_that_takes_one_dict_is_checked_by_its_whole_schema() -> None:
    choice: JsonObject = {"anyOf": [{"required": ["city"]}, {"required": ["zip"]}]}
    spec = tool({"type": "object", **choice})
    assert spec.takes_whole
    assert checked(spec, {"zip": 1}) == {"zip": 1}
    assert refusal(spec, {"town": 1}) == (
        "order(): argument 'city' is missing (in the nearest of its 2 forms)"
    )


def test_a_place_that_lies_too_deep_is_told_in_part() -> None:
    schema: JsonObject = {"type": "null"}
    value: Json = 1
    for _ in range(20):
        schema, value = {"items": schema}, [value]
    message = refusal(tool({"type": "object", "properties": {"x": schema}}), x=value)
    assert message == f"order(): argument 'x{'[0]' * 11}…' must be None, not 1"


def test_a_check_is_made_once_a_tool() -> None:
    assert argument_check(SHOP) is argument_check(SHOP)
    assert argument_check(SHOP) is not argument_check(tool(ORDER))


def test_a_call_without_the_wrapper_is_told_so_in_a_sentence() -> None:
    with pytest.raises(
        CallRefused, match=r"add\(\): the arguments are missing, the object 'input'"
    ):
        argument_check(ADD).checked({})


def test_a_schema_that_allows_nothing_is_told_as_that() -> None:
    with pytest.raises(
        CallRefused, match=r"order\(\): the arguments can have no value: the tool's"
    ):
        checked(tool({"type": "object", "enum": []}))


class TestFullChecks:
    """Schemas of the program's own: what can't be checked doesn't fit."""

    def test_the_first_faults_are_told_by_place_without_the_values(self) -> None:
        check = FullCheck({"items": {"type": "integer"}})
        told = [f'/{place}: the value is not of type "integer"' for place in range(2)]
        assert check.faults(["a secret", "b", "c"], 2) == told
        assert check.faults([1], 2) == []

    def test_a_value_that_no_validator_takes_does_not_fit(self) -> None:
        assert FullCheck({}).faults("\ud800", 1)
        assert SchemaCheck({}).breach("\ud800") is None, "of a server's value nothing is said"

    @pytest.mark.parametrize("schema", [{"type": "nonsense"}, {"$ref": "http://127.0.0.1:9/s"}])
    def test_what_is_no_schema_is_refused(self, schema: JsonObject) -> None:
        with pytest.raises(ValueError, match="this is no JSON Schema: "):
            FullCheck(schema)

"""Arguments against input schemas: what is refused and how, and what is put right."""

import pytest

from core.errors import CallRefused
from core.tools.argument_check import FAULTS_TOLD, argument_check
from core.tools.spec import ToolSpec
from core.values import Json, JsonObject
from servers.schemas import AddInput, NumbersInput, ThumbnailInput

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

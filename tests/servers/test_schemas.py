"""What counts as a number when it comes from a model."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from servers.schemas import (
    LIST_ITEMS_MAX,
    STRING_CHARACTERS_MAX,
    AddInput,
    FactorialInput,
    NumbersInput,
    StringInput,
    read_number,
    read_whole_number,
)
from servers.shared.errors import ToolInputError


@pytest.mark.parametrize(
    ("given_value", "number"),
    [
        (3, 3),
        (3.0, 3.0),
        ("3", 3),
        (" -2.5 ", -2.5),
        ("1e3", 1000.0),
        (10**4000, 10**4000),
    ],
)
def test_numbers_are_read_and_keep_their_kind(given_value: object, number: float) -> None:
    assert (read_number(given_value), type(read_number(given_value))) == (number, type(number))


@pytest.mark.parametrize(
    ("given_value", "says"),
    [
        (True, "must be a number such as 3 or 2.5, not true"),
        (None, "not null"),
        ("three", "not 'three'"),
        ("1,000", "not '1,000'"),
        ("", "not ''"),
        ([1], "not a list"),
        ({"a": 1}, "not an object"),
        (math.nan, "must be a finite number, not nan"),
        (-math.inf, "must be a finite number, not -inf"),
        ("inf", "must be a finite number, not 'inf'"),
        ("1" * 5000, "must be a finite number, not '1111.*…$"),
        ("x" * 10**6, "not 'xxxx.*…$"),
    ],
)
def test_what_is_no_number_is_refused_and_quoted(given_value: object, says: str) -> None:
    with pytest.raises(ToolInputError, match=says) as caught:
        read_number(given_value)
    assert len(str(caught.value)) < 100


@pytest.mark.parametrize("given_value", [3, 3.0, "3", "3.0"])
def test_a_whole_number_may_be_written_as_a_decimal(given_value: object) -> None:
    assert read_whole_number(given_value) == 3
    assert FactorialInput.model_validate({"a": given_value}).a == 3


@pytest.mark.parametrize("given_value", [2.5, "2.5"])
def test_a_fraction_is_no_whole_number(given_value: object) -> None:
    with pytest.raises(ToolInputError, match="must be a whole number, not"):
        read_whole_number(given_value)


@given(st.integers() | st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_and_its_text_read_the_same(number: float) -> None:
    assert read_number(str(number)) == read_number(number) == number


def test_an_argument_that_the_tool_does_not_have_is_refused() -> None:
    with pytest.raises(ValidationError, match="extra_forbidden"):
        AddInput.model_validate({"a": 1, "b": 2, "c": 3})


def test_lists_and_texts_are_bounded() -> None:
    assert len(NumbersInput(numbers=[0] * LIST_ITEMS_MAX).numbers) == LIST_ITEMS_MAX
    with pytest.raises(ValidationError, match="too_long"):
        NumbersInput(numbers=[0] * (LIST_ITEMS_MAX + 1))
    with pytest.raises(ValidationError, match="string_too_long"):
        StringInput(string="x" * (STRING_CHARACTERS_MAX + 1))


def test_schemas_say_plainly_what_an_argument_is() -> None:
    properties = AddInput.model_json_schema()["properties"]
    assert properties["a"] == {"description": "first number", "title": "A", "type": "number"}
    assert FactorialInput.model_json_schema()["properties"]["a"]["type"] == "integer"

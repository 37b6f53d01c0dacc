"""What people type into a form's fields: which texts fit, and what would have."""

import pytest

from core.mcp.form import FormField, read_form
from core.values import Json, JsonObject
from modules.terminal.asking.forms import expectation, fitting_answer

OPTIONS: list[Json] = [{"const": "r", "title": "Red"}, {"const": "g", "title": "Green"}]
TITLED: JsonObject = {"oneOf": OPTIONS}


def only_field(schema: JsonObject) -> FormField:
    (field,) = read_form({"type": "object", "properties": {"x": schema}})
    return field


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        ({"type": "string"}, " as typed ", " as typed "),
        ({"type": "string", "format": "email"}, " a@b.example ", "a@b.example"),
        ({"type": "string", "format": "uri"}, "urn:isbn:1", "urn:isbn:1"),
        ({"type": "string", "format": "date"}, "2028-02-29", "2028-02-29"),
        (
            {"type": "string", "format": "date-time"},
            "2026-01-31T09:30:00.5+01:00",
            "2026-01-31T09:30:00.5+01:00",
        ),
        ({"type": "string", "format": "color"}, "red", "red"),
        ({"type": "integer"}, " -12 ", -12),
        ({"type": "number"}, "3", 3),
        ({"type": "number"}, "1.5e3", 1500.0),
        ({"type": "boolean"}, "Yes", True),
        ({"type": "boolean"}, "n", False),
        ({"type": "string", **TITLED}, "r", "r"),
        ({"type": "string", **TITLED}, "green", "g"),
        ({"type": "string", **TITLED}, "2", "g"),
        ({"type": "string", "enum": ["2", "1"]}, "2", "2"),
        ({"type": "string", "enum": ["a", "A"]}, "A", "A"),
        ({"type": "array", "items": {"anyOf": OPTIONS}}, "2, red,g", ["g", "r"]),
        ({"type": "array", "items": {"enum": ["a, b", "c"]}}, "a, b", ["a, b"]),
    ],
)
def test_a_text_that_fits_becomes_the_value(schema: JsonObject, text: str, value: Json) -> None:
    found = fitting_answer(only_field(schema), text)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("schema", "text", "expected"),
    [
        ({"type": "string", "minLength": 3}, "ab", "text of at least 3 characters"),
        ({"type": "string", "maxLength": 1}, "ab", "text of at most 1 characters"),
        (
            {"type": "string", "minLength": 3, "maxLength": 5},
            "abcdef",
            "text of 3 to 5 characters",
        ),
        ({"type": "string", "format": "email"}, "a b@c", "an e-mail address"),
        ({"type": "string", "format": "uri"}, "example.org", "a URI"),
        ({"type": "string", "format": "uri"}, "http://[", "a URI"),
        ({"type": "string", "format": "date"}, "20260131", "a date such as 2026-01-31"),
        ({"type": "string", "format": "date"}, "2026-02-30", "a date"),
        ({"type": "string", "format": "date-time"}, "2026-01-31T09:30:00", "a date and time"),
        ({"type": "string", "format": "date-time"}, "2026-01-31T25:30:00Z", "a date and time"),
        ({"type": "integer", "minimum": 0, "maximum": 9}, "10", "from 0 up to 9"),
        ({"type": "integer"}, "1.0", "a whole number"),
        ({"type": "integer"}, "1_000", "a whole number"),
        ({"type": "integer"}, "9" * 5000, "a whole number"),
        ({"type": "number"}, "1e999", "a number"),
        ({"type": "number"}, "nan", "a number"),
        ({"type": "boolean"}, "perhaps", "y or n"),
        ({"type": "string", **TITLED}, "3", "one of them, or its number"),
        ({"type": "string", **TITLED}, "0", "one of them"),
        ({"type": "string", "enum": ["1", "5"]}, "2", "one of them"),
        (
            {"type": "array", "items": {"anyOf": OPTIONS}, "minItems": 2},
            "r",
            "at least 2 values or numbers, with commas between",
        ),
        (
            {"type": "array", "items": {"anyOf": OPTIONS}, "maxItems": 1},
            "1,2",
            "at most 1 ",
        ),
        ({"type": "array", "items": {"anyOf": OPTIONS}}, "r, blue", "values"),
    ],
)
def test_one_that_does_not_is_told_what_would(schema: JsonObject, text: str, expected: str) -> None:
    field = only_field(schema)
    assert fitting_answer(field, text) is None
    assert expected in expectation(field)

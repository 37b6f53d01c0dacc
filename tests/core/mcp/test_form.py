"""The forms of MCP's elicitation: fields, defaults, and which typed texts fit."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.mcp.form import (
    CHOICES_MAX,
    FIELDS_MAX,
    Choice,
    ChoiceField,
    ChoicesField,
    FormError,
    FormField,
    Labels,
    NumberField,
    TextField,
    Unfit,
    YesNoField,
    defaults_of,
    expectation,
    fitting_answer,
    read_form,
)
from core.values import Json, JsonObject

PLAIN = Labels("x", "x", "", required=False)
OPTIONS: list[Json] = [{"const": "r", "title": "Red"}, {"const": "g", "title": "Green"}]
TITLED: JsonObject = {"oneOf": OPTIONS}
RED_GREEN = (Choice("r", "Red"), Choice("g", "Green"))


EMPTY: JsonObject = {}


def form(**properties: Json) -> JsonObject:
    return form_of(properties)


def form_of(properties: JsonObject) -> JsonObject:
    return {"type": "object", "properties": properties}


def only_field(schema: JsonObject) -> FormField:
    (field,) = read_form(form(x=schema))
    return field


class TestReading:
    @pytest.mark.parametrize(
        ("schema", "field"),
        [
            ({"type": "string"}, TextField(PLAIN)),
            (
                {"type": "string", "format": "email", "minLength": 3, "maxLength": 9},
                TextField(PLAIN, "email", 3, 9),
            ),
            ({"type": "string", "default": "a"}, TextField(PLAIN, default="a")),
            (
                {"type": "integer", "minimum": 1, "maximum": 9, "default": 2},
                NumberField(PLAIN, True, 1, 9, 2),
            ),
            ({"type": "number", "default": 1.5}, NumberField(PLAIN, default=1.5)),
            ({"type": "boolean", "default": False}, YesNoField(PLAIN, False)),
            (
                {"type": "string", "enum": ["a", "b"], "default": "b"},
                ChoiceField(PLAIN, (Choice("a", "a"), Choice("b", "b")), "b"),
            ),
            ({"type": "string", **TITLED, "default": "g"}, ChoiceField(PLAIN, RED_GREEN, "g")),
            (
                {"type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"]},
                ChoiceField(PLAIN, RED_GREEN),
            ),
            (
                {"type": "array", "items": {"type": "string", "enum": ["a"]}, "minItems": 1},
                ChoicesField(PLAIN, (Choice("a", "a"),), 1),
            ),
            (
                {
                    "type": "array",
                    "items": {"anyOf": OPTIONS},
                    "maxItems": 2,
                    "default": ["g"],
                },
                ChoicesField(PLAIN, RED_GREEN, 0, 2, ("g",)),
            ),
        ],
    )
    def test_every_kind_of_the_protocol_is_read(self, schema: JsonObject, field: FormField) -> None:
        assert only_field(schema) == field

    def test_titles_descriptions_and_what_is_required_are_read_in_order(self) -> None:
        schema = form(b={"type": "boolean", "title": "B", "description": "d"}, a={"type": "string"})
        first, second = read_form({**schema, "required": ["b", 7]})
        assert first.labels == Labels("b", "B", "d", required=True)
        assert second.labels == Labels("a", "a", "", required=False)

    @pytest.mark.parametrize(
        "schema",
        [
            {"type": "string", "default": 1},
            {"type": "integer", "default": "1", "minimum": None, "maximum": True},
            {"type": "number", "default": 10**400, "minimum": float("nan")},
            {"type": "boolean", "default": 1},
            {"type": "string", "enum": ["a"], "default": "b"},
            {"type": "string", "enum": ["a"], "default": ["a"], "enumNames": ["A", "B"]},
            {"type": "array", "items": {"enum": ["a"]}, "default": ["b"], "minItems": -1},
            {"type": "array", "items": {"enum": ["a"]}, "default": [EMPTY], "maxItems": "1"},
        ],
    )
    def test_what_is_of_a_wrong_type_in_a_field_is_passed_over(self, schema: JsonObject) -> None:
        field = only_field(schema)
        assert field.default is None

    @pytest.mark.parametrize(
        "schema",
        [
            {},
            {"type": "object"},
            {"type": ["string", "null"]},
            {"type": "array"},
            {"type": "array", "items": {"type": "string"}},
            {"type": "string", "enum": []},
            {"type": "string", "enum": [1, 2]},
            {"type": "string", "oneOf": [{"title": "no value"}]},
            {"type": "string", "enum": [str(n) for n in range(CHOICES_MAX + 1)]},
            {"type": "string", "enum": ["x" * 10_000]},
        ],
    )
    def test_other_kinds_are_refused(self, schema: JsonObject) -> None:
        with pytest.raises(FormError):
            only_field(schema)

    def test_so_are_forms_without_end(self) -> None:
        many: JsonObject = {str(n): {"type": "string"} for n in range(FIELDS_MAX + 1)}
        with pytest.raises(FormError, match="51 fields"):
            read_form(form_of(many))
        with pytest.raises(FormError, match="name"):
            read_form(form_of({"x" * 1000: {"type": "string"}}))

    def test_long_titles_are_cut(self) -> None:
        assert len(only_field({"type": "string", "title": "x" * 100_000}).labels.title) < 1000

    @given(
        schema=st.dictionaries(
            st.text(),
            st.none() | st.integers() | st.text() | st.lists(st.text(), max_size=2),
            max_size=6,
        )
    )
    @settings(max_examples=40)
    def test_whatever_a_server_sends_it_is_read_or_refused(self, schema: JsonObject) -> None:
        for kind in ("string", "number", "array", "boolean"):
            try:
                read_form(form(x={**schema, "type": kind}))
            except FormError:
                assert kind in ("string", "array")


class TestAnswers:
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
    def test_a_text_that_fits_becomes_the_value(
        self, schema: JsonObject, text: str, value: Json
    ) -> None:
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
    def test_one_that_does_not_is_told_what_would(
        self, schema: JsonObject, text: str, expected: str
    ) -> None:
        field = only_field(schema)
        with pytest.raises(Unfit) as refused:
            fitting_answer(field, text)
        assert expected in str(refused.value)
        assert str(refused.value) == expectation(field)


class TestDefaults:
    def test_all_kinds_of_defaults_are_given_by_field(self) -> None:
        """The schema of the conformance suite's scenario for SEP-1034, in our own words."""
        schema = form(
            name={"type": "string", "default": "Ada"},
            age={"type": "integer", "default": 36},
            score={"type": "number", "default": 99.5},
            active={"type": "boolean", "default": True},
            off={"type": "boolean", "default": False},
            colour={"type": "string", **TITLED, "default": "g"},
            colours={"type": "array", "items": {"enum": ["r", "g"]}, "default": ["r"]},
            none={"type": "string"},
        )
        assert defaults_of(schema) == {
            "name": "Ada",
            "age": 36,
            "score": 99.5,
            "active": True,
            "off": False,
            "colour": "g",
            "colours": ["r"],
        }

    @pytest.mark.parametrize(
        "schema",
        [
            {"type": "string", "minLength": 9, "default": "short"},
            {"type": "string", "format": "date", "default": "tomorrow"},
            {"type": "integer", "minimum": 1, "default": 0},
            {"type": "integer", "default": 1.5},
            {"type": "array", "items": {"enum": ["a"]}, "minItems": 1, "default": []},
            {"type": "object", "default": {}},
        ],
    )
    def test_one_that_its_own_field_does_not_allow_is_none(self, schema: JsonObject) -> None:
        assert defaults_of(form(x=schema, y={"type": "boolean", "default": True})) == {"y": True}

    @pytest.mark.parametrize("schema", [{}, {"properties": 1}, {"properties": {"a": 1}}])
    def test_what_is_no_form_has_none(self, schema: JsonObject) -> None:
        assert defaults_of(schema) == {}

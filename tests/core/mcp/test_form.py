"""The forms of MCP's elicitation: fields, what fits them, and their defaults."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.mcp.form import (
    CHOICES_MAX,
    FIELDS_MAX,
    Choice,
    FormError,
    FormField,
    read_form,
)
from core.values import Json, JsonObject

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
        ("schema", "kind", "default"),
        [
            ({"type": "string"}, "text", None),
            ({"type": "string", "default": "a"}, "text", "a"),
            ({"type": "integer", "minimum": 1, "maximum": 9, "default": 2}, "integer", 2),
            ({"type": "number", "default": 1.5}, "number", 1.5),
            ({"type": "boolean", "default": False}, "yes or no", False),
            ({"type": "string", "enum": ["a", "b"], "default": "b"}, "choice", "b"),
            ({"type": "string", **TITLED, "default": "g"}, "choice", "g"),
            (
                {"type": "array", "items": {"anyOf": OPTIONS}, "maxItems": 2, "default": ["g"]},
                "choices",
                ["g"],
            ),
        ],
    )
    def test_every_kind_of_the_protocol_is_read(
        self, schema: JsonObject, kind: str, default: Json
    ) -> None:
        field = only_field(schema)
        assert (field.kind, field.default) == (kind, default)
        assert type(field.default) is type(default)

    @pytest.mark.parametrize(
        ("schema", "choices"),
        [
            ({"type": "string", **TITLED}, RED_GREEN),
            ({"type": "array", "items": {"anyOf": OPTIONS}}, RED_GREEN),
            (
                {"type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"]},
                RED_GREEN,
            ),
            ({"type": "string", "enum": ["a"]}, (Choice("a", "a"),)),
        ],
    )
    def test_choices_have_titles_in_every_form_of_the_protocol(
        self, schema: JsonObject, choices: tuple[Choice, ...]
    ) -> None:
        assert only_field(schema).choices == choices

    @pytest.mark.parametrize(
        ("schema", "fitting", "unfit"),
        [
            ({"type": "string", "minLength": 2, "maxLength": 3}, "ab", ["a", "abcd", 1]),
            ({"type": "string", "format": "email"}, "a@b.example", ["a b@c", ""]),
            ({"type": "string", "format": "color"}, "red", [None]),
            ({"type": "string", "format": "ipv4", "pattern": "^x$"}, "passed over", [1]),
            ({"type": "string", "minLength": 10**400}, "", [1]),
            ({"type": "integer", "minimum": 1, "maximum": 9}, 9, [0, 10, 1.5, True, "1"]),
            ({"type": "boolean"}, False, [0, "n"]),
            ({"type": "string", **TITLED}, "g", ["Green", "x"]),
            (
                {"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 1, "maxItems": 1},
                ["a"],
                [[], ["c"], ["a", "b"]],
            ),
            ({"type": "string"}, "a", ["half \ud83d"]),
        ],
    )
    def test_what_fits_is_told_from_what_does_not(
        self, schema: JsonObject, fitting: Json, unfit: list[Json]
    ) -> None:
        field = only_field(schema)
        assert field.fits(fitting)
        assert not any(field.fits(value) for value in unfit)

    def test_titles_descriptions_and_what_is_required_are_read_in_order(self) -> None:
        schema = form(b={"type": "boolean", "title": "B", "description": "d"}, a={"type": "string"})
        first, second = read_form({**schema, "required": ["b", 7]})
        assert (first.name, first.title, first.description, first.required) == ("b", "B", "d", True)
        assert (second.name, second.title, second.description) == ("a", "a", "")
        assert not second.required

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
        assert len(only_field({"type": "string", "title": "x" * 100_000}).title) < 1000

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


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "minLength": 9, "default": "short"},
        {"type": "string", "format": "date", "default": "tomorrow"},
        {"type": "integer", "minimum": 1, "default": 0},
        {"type": "integer", "default": 1.5},
        {"type": "array", "items": {"enum": ["a"]}, "minItems": 1, "default": []},
    ],
)
def test_a_default_that_its_own_field_does_not_allow_is_none(schema: JsonObject) -> None:
    assert only_field(schema).default is None


@pytest.mark.parametrize("schema", [{}, {"properties": 1}])
def test_what_is_no_form_has_no_fields(schema: JsonObject) -> None:
    assert read_form(schema) == ()

"""The flat forms of MCP's elicitation: which fields one has, and what they are by default.

After MCP 2025-11-25, "Elicitation", "Requested Schema": text, numbers, yes or no, one choice or
several, each with an optional default (SEP-1034, SEP-1330); the older `enumNames` is read too.
A `pattern` is passed over: it is no part of that schema, and one written to take for ever would
hold up the program. The server checks what it gets.
"""

from dataclasses import dataclass, replace
from typing import TypeAlias

from core.values import Json, JsonObject

FIELDS_MAX = 50
"""A form with more fields is not asked."""

CHOICES_MAX = 200
"""Nor is one with a field of more choices."""

TEXT_CHARACTERS_MAX = 500
"""Titles and descriptions are cut there."""

NAME_CHARACTERS_MAX = 200
"""A form whose fields or choices have longer names is not asked."""

NUMBER_MAX = 1e300
"""Bounds and defaults beyond are passed over: a server may write numbers of any length."""


class FormError(ValueError):
    """The form can't be asked; the text says why."""


@dataclass(frozen=True, slots=True)
class Labels:
    """How a field presents itself; `title` is its name where it has no title."""

    name: str
    title: str
    description: str
    required: bool


@dataclass(frozen=True, slots=True)
class TextField:
    """Text; `format` is "email", "uri", "date" or "date-time" where one is asked for."""

    labels: Labels
    format: str | None = None
    min_length: int = 0
    max_length: int | None = None
    default: str | None = None


@dataclass(frozen=True, slots=True)
class NumberField:
    """A number; bounds are inclusive."""

    labels: Labels
    whole: bool = False
    minimum: int | float | None = None
    maximum: int | float | None = None
    default: int | float | None = None


@dataclass(frozen=True, slots=True)
class YesNoField:
    """Yes or no."""

    labels: Labels
    default: bool | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the values to choose from; the title is the value where there is no other."""

    value: str
    title: str


@dataclass(frozen=True, slots=True)
class ChoiceField:
    """One of several values."""

    labels: Labels
    choices: tuple[Choice, ...]
    default: str | None = None


@dataclass(frozen=True, slots=True)
class ChoicesField:
    """Several of several values; the bounds are on their number."""

    labels: Labels
    choices: tuple[Choice, ...]
    min_items: int = 0
    max_items: int | None = None
    default: tuple[str, ...] | None = None


FormField: TypeAlias = TextField | NumberField | YesNoField | ChoiceField | ChoicesField


def read_form(schema: JsonObject) -> tuple[FormField, ...]:
    """The fields of a requested schema, in its order; a default of the wrong type is dropped.

    Raises:
        FormError: it is too large, or has a field of a kind that the protocol does not know.
    """
    properties = _object(schema.get("properties"))
    if len(properties) > FIELDS_MAX:
        raise FormError(f"it has {len(properties):,} fields, {FIELDS_MAX} at most can be asked for")
    required = _strings(schema.get("required"))
    return tuple(
        read_field(name, _object(inner), required=name in required)
        for name, inner in properties.items()
    )


def read_field(name: str, schema: JsonObject, *, required: bool) -> FormField:
    """One field, from its schema.

    Raises:
        FormError: the protocol knows no such field.
    """
    if len(name) > NAME_CHARACTERS_MAX:
        raise FormError(f"a field's name has over {NAME_CHARACTERS_MAX} characters")
    labels = Labels(
        name, _text(schema.get("title")) or name, _text(schema.get("description")), required
    )
    match schema.get("type"):
        case "string":
            choices = _choices(name, schema)
            return _text_field(labels, schema) if choices is None else _one(labels, schema, choices)
        case "number" | "integer":
            return _number_field(labels, schema)
        case "boolean":
            default = schema.get("default")
            return YesNoField(labels, default if isinstance(default, bool) else None)
        case "array" if (choices := _choices(name, _object(schema.get("items")))) is not None:
            return _several(labels, schema, choices)
        case kind:
            raise FormError(f"its field '{name}' is of a kind that can't be asked for ({kind})")


def _text_field(labels: Labels, schema: JsonObject) -> TextField:
    kind = schema.get("format")
    field = TextField(
        labels,
        kind if isinstance(kind, str) else None,
        _count(schema.get("minLength")) or 0,
        _count(schema.get("maxLength")),
    )
    default = schema.get("default")
    return replace(field, default=default) if isinstance(default, str) else field


def _number_field(labels: Labels, schema: JsonObject) -> NumberField:
    field = NumberField(
        labels,
        schema.get("type") == "integer",
        _number(schema.get("minimum")),
        _number(schema.get("maximum")),
    )
    return replace(field, default=_number(schema.get("default")))


def _one(labels: Labels, schema: JsonObject, choices: tuple[Choice, ...]) -> ChoiceField:
    default = schema.get("default")
    known = next((one.value for one in choices if one.value == default), None)
    return ChoiceField(labels, choices, known)


def _several(labels: Labels, schema: JsonObject, choices: tuple[Choice, ...]) -> ChoicesField:
    values = [one.value for one in choices]
    default = schema.get("default")
    fits = isinstance(default, list) and all(value in values for value in default)
    return ChoicesField(
        labels,
        choices,
        _count(schema.get("minItems")) or 0,
        _count(schema.get("maxItems")),
        tuple(_strings(default)) if fits else None,
    )


def _choices(name: str, schema: JsonObject) -> tuple[Choice, ...] | None:
    """The values to choose from; None where any text will do."""
    titled = schema.get("oneOf", schema.get("anyOf"))
    if isinstance(titled, list):
        options = [_object(option) for option in titled]
        found = [(option.get("const"), option.get("title")) for option in options]
    elif isinstance(values := schema.get("enum"), list):
        titles = schema.get("enumNames")
        if not isinstance(titles, list) or len(titles) != len(values):
            titles = values
        found = list(zip(values, titles, strict=True))
    else:
        return None
    choices = [Choice(v, _text(t) or v) for v, t in found if isinstance(v, str)]
    if not choices or len(choices) != len(found) or len(choices) > CHOICES_MAX:
        raise FormError(f"its field '{name}' has choices that can't be shown")
    if max(len(one.value) for one in choices) > NAME_CHARACTERS_MAX:
        raise FormError(f"a choice of its field '{name}' is too long to be shown")
    return tuple(choices)


def _object(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _strings(value: Json) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _text(value: Json) -> str:
    if not isinstance(value, str):
        return ""
    return value if len(value) <= TEXT_CHARACTERS_MAX else f"{value[:TEXT_CHARACTERS_MAX]}…"


def _count(value: Json) -> int | None:
    number = _number(value)
    return int(number) if number is not None and number >= 0 else None


def _number(value: Json) -> int | float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if abs(value) <= NUMBER_MAX else None

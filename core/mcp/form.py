"""The flat forms of MCP's elicitation: which fields one has, what fits them, their defaults.

After MCP 2025-11-25, "Elicitation", "Requested Schema": text, numbers, yes or no, one choice or
several, each with an optional default (SEP-1034, SEP-1330); the older `enumNames` is read too.
A `pattern` is passed over: it is no part of that schema, and one written to take for ever would
hold up the program. The server checks what it gets.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final, Literal, TypeAlias

import jsonschema_rs

from core.base.frozen import frozen
from core.base.text import shorten
from core.tools.json_schema import as_object
from core.values import Json, JsonObject

FIELDS_MAX: Final = 50
"""A form with more fields is not asked."""

CHOICES_MAX: Final = 200
"""Nor is one with a field of more choices."""

TEXT_CHARACTERS_MAX: Final = 500
"""Titles and descriptions are cut there."""

NAME_CHARACTERS_MAX: Final = 200
"""A form whose fields or choices have longer names is not asked."""

NUMBER_MAX: Final = 1e300
"""Bounds and defaults beyond are passed over: a server may write numbers of any length."""

COUNT_MAX: Final = 10**9
"""Lengths beyond mean the same: no answer is as long."""

FORMATS: Final = frozenset({"email", "uri", "date", "date-time"})
"""What the protocol may ask of a text; other formats are passed over."""

FieldKind: TypeAlias = Literal["text", "number", "integer", "yes or no", "choice", "choices"]


class FormError(ValueError):
    """The form can't be asked; the text says why."""


@frozen
class Choice:
    """One of the values to choose from; the title is the value where there is no other."""

    value: str
    title: str


@frozen
class FormField:
    """One field, as it presents itself; `title` is its name where it has no title.

    `limits` is the JSON Schema that a value is held against: what the server's own schema says
    and the protocol knows. `default` is a value that fits, or None.
    """

    name: str
    title: str
    description: str
    required: bool
    kind: FieldKind
    limits: JsonObject
    choices: tuple[Choice, ...] = ()
    default: Json = None

    def fits(self, value: Json) -> bool:
        """Whether the field allows a value."""
        validator = jsonschema_rs.validator_for(self.limits, validate_formats=True)
        try:
            return validator.is_valid(value)
        except ValueError:  # half a character, which JSON can spell
            return False


def read_form(schema: JsonObject) -> tuple[FormField, ...]:
    """The fields of a requested schema, in its order; a default that does not fit is dropped.

    Raises:
        FormError: it is too large, or has a field of a kind that the protocol does not know.
    """
    properties = as_object(schema.get("properties"))
    if len(properties) > FIELDS_MAX:
        raise FormError(f"it has {len(properties):,} fields, {FIELDS_MAX} at most can be asked for")
    required = schema.get("required")
    names = required if isinstance(required, list) else []
    return tuple(
        _read_field(name, as_object(inner), required=name in names)
        for name, inner in properties.items()
    )


def _read_field(name: str, schema: JsonObject, *, required: bool) -> FormField:
    """One field, from its schema.

    Raises:
        FormError: the protocol knows no such field.
    """
    if len(name) > NAME_CHARACTERS_MAX:
        raise FormError(f"a field's name has over {NAME_CHARACTERS_MAX} characters")
    kind, limits, choices = _kind(name, schema)
    default = schema.get("default")
    if kind in ("number", "integer"):
        default = _number(default)
    field = FormField(
        name,
        _text(schema.get("title")) or name,
        _text(schema.get("description")),
        required,
        kind,
        limits,
        choices,
    )
    return replace(field, default=default) if field.fits(default) else field


def _kind(name: str, schema: JsonObject) -> tuple[FieldKind, JsonObject, tuple[Choice, ...]]:
    """The kind of a field, what its values are held against, and what may be chosen."""
    match schema.get("type"):
        case "string" if choices := _choices(name, schema):
            return "choice", {"enum": [one.value for one in choices]}, choices
        case "string":
            limits = _limits(schema, _count, "minLength", "maxLength")
            asked = schema.get("format")
            if isinstance(asked, str) and asked in FORMATS:
                limits["format"] = asked
            return "text", {"type": "string", **limits}, ()
        case "number" | "integer" as kind:
            return kind, {"type": kind, **_limits(schema, _number, "minimum", "maximum")}, ()
        case "boolean":
            return "yes or no", {"type": "boolean"}, ()
        case "array" if choices := _choices(name, as_object(schema.get("items"))):
            limits = _limits(schema, _count, "minItems", "maxItems")
            items: JsonObject = {"enum": [one.value for one in choices]}
            return "choices", {"type": "array", "items": items, **limits}, choices
        case other:
            raise FormError(f"its field '{name}' is of a kind that can't be asked for ({other})")


def _limits(
    schema: JsonObject, read: Callable[[Json], int | float | None], *names: str
) -> JsonObject:
    """The limits that are there and of the right type."""
    found = {name: read(schema.get(name)) for name in names}
    return {name: limit for name, limit in found.items() if limit is not None}


def _choices(name: str, schema: JsonObject) -> tuple[Choice, ...]:
    """The values to choose from; none where any text will do."""
    titled = schema.get("oneOf", schema.get("anyOf"))
    if isinstance(titled, list):
        options = [as_object(option) for option in titled]
        found = [(option.get("const"), option.get("title")) for option in options]
    elif isinstance(values := schema.get("enum"), list):
        titles = schema.get("enumNames")
        if not isinstance(titles, list) or len(titles) != len(values):
            titles = values
        found = list(zip(values, titles, strict=True))
    else:
        return ()
    choices = [Choice(v, _text(t) or v) for v, t in found if isinstance(v, str)]
    if not choices or len(choices) != len(found) or len(choices) > CHOICES_MAX:
        raise FormError(f"its field '{name}' has choices that can't be shown")
    if max(len(one.value) for one in choices) > NAME_CHARACTERS_MAX:
        raise FormError(f"a choice of its field '{name}' is too long to be shown")
    return tuple(choices)


def _text(value: Json) -> str:
    return shorten(value, TEXT_CHARACTERS_MAX) if isinstance(value, str) else ""


def _count(value: Json) -> int | None:
    number = _number(value)
    return min(int(number), COUNT_MAX) if number is not None and number >= 0 else None


def _number(value: Json) -> int | float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if abs(value) <= NUMBER_MAX else None

"""The flat forms of MCP elicitation: fields, defaults, and what people type, turned into values."""

import math
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import TypeAlias, assert_never
from urllib.parse import urlsplit

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


NUMBER_CHARACTERS_MAX = 100
"""A longer number is not one that anybody means."""

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
_WHOLE_NUMBER = re.compile(r"[+-]?\d+", re.ASCII)
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_DATE_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")
_YES = ("y", "yes", "true")
_NO = ("n", "no", "false")


class Unfit(ValueError):
    """An answer that does not fit its field; the text says what would."""


def fitting_answer(field: FormField, text: str) -> Json:
    """The value that a typed text means.

    Raises:
        Unfit: it means none, or one that the field does not allow.
    """
    match field:
        case TextField():
            meant = text if field.format is None else text.strip()
            value: Json = meant if _text_fits(field, meant) else None
        case NumberField():
            value = _typed_number(field, text.strip())
        case YesNoField():
            value = _yes_or_no(text.strip().lower())
        case ChoiceField(choices=choices):
            value = _chosen(choices, text.strip())
        case ChoicesField():
            value = _all_chosen(field, text)
        case _:
            assert_never(field)
    if value is None:
        raise Unfit(expectation(field))
    return value


def fitting_default(field: FormField) -> Json:
    """The field's default as it is sent; None where there is none, or one that does not fit."""
    match field:
        case TextField(default=str(text)):
            return text if _text_fits(field, text) else None
        case NumberField(default=int() | float() as number):
            return number if _number_fits(field, number) else None
        case ChoicesField(default=tuple(values)):
            return list[Json](values) if _count_fits(field, values) else None
        case _:
            return field.default if not isinstance(field.default, tuple) else None


def defaults_of(schema: JsonObject) -> JsonObject:
    """The defaults of a requested schema, by field (SEP-1034); fields without one are left out.

    What an answer is completed with when the user, or a program in their place, accepts a form
    as it is. Fields that can't be asked for are passed over.
    """
    properties = schema.get("properties")
    entries = list(properties.items())[:FIELDS_MAX] if isinstance(properties, dict) else []
    found: JsonObject = {}
    for name, inner in entries:
        with suppress(FormError):
            field = read_field(name, inner if isinstance(inner, dict) else {}, required=False)
            if (default := fitting_default(field)) is not None:
                found[name] = default
    return found


def expectation(field: FormField) -> str:
    """What fits the field, in a few words."""
    match field:
        case TextField():
            return _text_expectation(field)
        case NumberField():
            return _number_expectation(field)
        case YesNoField():
            return "y or n"
        case ChoiceField(choices=choices):
            return "one of them" + (", or its number" if is_numbered(choices) else "")
        case ChoicesField(choices=choices):
            what = "values or numbers" if is_numbered(choices) else "values"
            return f"{_count_of(field.min_items, field.max_items)}{what}, with commas between"
        case _:
            assert_never(field)


def is_numbered(choices: Sequence[Choice]) -> bool:
    """Whether choices may be answered by number: unless one looks like a number itself."""
    return not any(text.strip().isdecimal() for one in choices for text in (one.value, one.title))


def _text_fits(field: TextField, text: str) -> bool:
    if len(text) < field.min_length:
        return False
    if field.max_length is not None and len(text) > field.max_length:
        return False
    match field.format:
        case "email":
            return _EMAIL.fullmatch(text) is not None
        case "uri":
            return _is_uri(text)
        case "date":  # RFC 3339, full-date
            return _DATE.fullmatch(text) is not None and _is_date(text)
        case "date-time":  # RFC 3339
            return _DATE_TIME.fullmatch(text) is not None and _is_date_time(text)
        case _:
            return True


def _is_uri(text: str) -> bool:
    with suppress(ValueError):
        parts = urlsplit(text)
        return bool(parts.scheme and (parts.netloc or parts.path)) and not re.search(r"\s", text)
    return False


def _is_date(text: str) -> bool:
    with suppress(ValueError):
        return bool(date.fromisoformat(text))
    return False


def _is_date_time(text: str) -> bool:
    with suppress(ValueError):
        return bool(datetime.fromisoformat(text.upper()))
    return False


def _typed_number(field: NumberField, text: str) -> int | float | None:
    if len(text) > NUMBER_CHARACTERS_MAX:
        return None
    if _WHOLE_NUMBER.fullmatch(text):
        number = int(text)
    elif not field.whole and _NUMBER.fullmatch(text):
        number = float(text)
    else:
        return None
    return number if _number_fits(field, number) else None


def _number_fits(field: NumberField, number: float) -> bool:
    if not math.isfinite(number) or (field.whole and number != int(number)):
        return False
    low, high = field.minimum, field.maximum
    return (low is None or number >= low) and (high is None or number <= high)


def _yes_or_no(text: str) -> bool | None:
    return True if text in _YES else False if text in _NO else None


def _chosen(choices: Sequence[Choice], text: str) -> str | None:
    """The value that is meant by value, title or number; case counts only where it must."""
    folded = text.casefold()
    for one in choices:
        if text in (one.value, one.title):
            return one.value
    for one in choices:
        if folded in (one.value.casefold(), one.title.casefold()):
            return one.value
    if is_numbered(choices) and text.isdecimal() and 1 <= int(text[:9]) <= len(choices):
        return choices[int(text[:9]) - 1].value
    return None


def _all_chosen(field: ChoicesField, text: str) -> list[Json] | None:
    whole = _chosen(field.choices, text.strip())  # a value may have a comma in it
    parts = [part.strip() for part in text.split(",") if part.strip()]
    found = [whole] if whole is not None else [_chosen(field.choices, part) for part in parts]
    values = list(dict.fromkeys(value for value in found if value is not None))
    fits = None not in found and _count_fits(field, values)
    return list[Json](values) if fits else None


def _count_fits(field: ChoicesField, values: Sequence[str]) -> bool:
    most = len(values) if field.max_items is None else field.max_items
    return field.min_items <= len(values) <= most


def _text_expectation(field: TextField) -> str:
    kinds = {
        "email": "an e-mail address",
        "uri": "a URI such as https://example.org",
        "date": "a date such as 2026-01-31",
        "date-time": "a date and time such as 2026-01-31T09:30:00Z",
    }
    kind = kinds.get(field.format or "", "text")
    if length := _count_of(field.min_length, field.max_length).strip():
        return f"{kind} of {length} characters"
    return kind


def _number_expectation(field: NumberField) -> str:
    kind = "a whole number" if field.whole else "a number"
    low = "" if field.minimum is None else f" from {field.minimum}"
    high = "" if field.maximum is None else f" up to {field.maximum}"
    return f"{kind}{low}{high}"


def _count_of(least: int, most: int | None) -> str:
    """`2 to 4 `, `at least 2 `, `at most 4 ` or nothing."""
    if most is None:
        return f"at least {least} " if least else ""
    if not least:
        return f"at most {most} "
    return f"{least} " if least == most else f"{least} to {most} "

"""The tables of docs/http.md, from the endpoints, the events and the kinds of problems."""

import json
from collections.abc import Iterator

from pydantic import BaseModel

from core.base.json_text import Json, JsonObject
from modules.service.http.app import ENDPOINTS
from modules.service.http.endpoints.shapes import JSON_TYPE, AnswerRequest, ChatRequest
from modules.service.http.openapi import asked_of, event_schemas
from modules.service.served.event_types import EVENT_TYPES
from modules.service.served.problems import PROBLEMS

_COMMON = {"type", "run", "at", "step", "attempt"}


def endpoint_rows() -> list[str]:
    """A row for each endpoint."""
    rows = ["| endpoint | does | answer |", "| --- | --- | --- |"]
    for each in ENDPOINTS:
        asked = ", ".join(
            f"`{name}`: {schema['description']}" for name, schema in asked_of(each).items()
        )
        told = f"{each.told} {asked and f'({asked})'}".strip()
        answer = f"`{each.answer_type.partition(';')[0]}`"
        if each.answer_type == JSON_TYPE:
            answer = "nothing (204)" if each.answer is None else f"`{_name(each.answer)}`"
        rows.append(f"| `{each.method} {each.shown_path}` | {told} | {answer} |")
    return rows


def _name(answer: object) -> str:
    return getattr(answer, "__name__", "") if isinstance(answer, type) else "objects by kind"


def body_rows(kind: type[BaseModel]) -> list[str]:
    """A row for each field of a body."""
    rows = ["| field | type | default | meaning |", "| --- | --- | --- | --- |"]
    schema: JsonObject = kind.model_json_schema()
    fields = schema["properties"]
    assert isinstance(fields, dict)
    for name, field in kind.model_fields.items():
        default = "required"
        if not field.is_required():
            default = f"`{json.dumps(field.get_default(call_default_factory=True))}`"
        rows.append(f"| `{name}` | {_kind(fields[name])} | {default} | {field.description or ''} |")
    return rows


def event_rows() -> list[str]:
    """A row for each event."""
    rows = ["| event | when | its fields |", "| --- | --- | --- |"]
    for name, schema in event_schemas().items():
        rows.append(f"| `{name}` | {_told(EVENT_TYPES[name])} | {', '.join(_fields(schema))} |")
    return rows


def _told(kind: type) -> str:
    return " ".join((kind.__doc__ or "").split()).replace("|", "\\|")


def _fields(schema: JsonObject) -> Iterator[str]:
    fields, required = schema["properties"], schema["required"]
    assert isinstance(fields, dict)
    assert isinstance(required, list)
    for name, field in fields.items():
        if name not in _COMMON:
            yield f"`{name}`{'' if name in required else '?'} ({_kind(field)})"


def _kind(schema: Json) -> str:
    """A type in a word or two."""
    match schema:
        case {"enum": [*values]}:
            return " \\| ".join(f"`{value}`" for value in values)
        case {"const": value}:
            return f"`{value}`"
        case {"anyOf": [*either]}:
            return " or ".join(_kind(each) for each in either)
        case {"type": "array", "items": each}:
            return f"list of {_kind(each)}"
        case {"type": str(kind)}:
            return kind
        case {"$ref": str(place)}:
            return place.rpartition("/")[2]
        case _:
            return "any"


def problem_rows() -> list[str]:
    """A row for each kind of problem."""
    rows = ["| status | type | title | what to know |", "| --- | --- | --- | --- |"]
    for kind, each in sorted(PROBLEMS.items(), key=lambda one: one[1].status):
        row = f"| {each.status} | `/problems#{kind}` | {each.title} | {each.explanation} |"
        rows.append(row)
    return rows


SECTIONS = {
    "endpoints": endpoint_rows,
    "chat": lambda: body_rows(ChatRequest),
    "answer": lambda: body_rows(AnswerRequest),
    "events": event_rows,
    "problems": problem_rows,
}
"""What stands between which marks."""

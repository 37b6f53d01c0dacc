"""The OpenAPI document (3.1), from the table of endpoints and the types that they use."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, cast

from pydantic import TypeAdapter
from pydantic.json_schema import JsonSchemaMode

from core.values import Json, JsonObject
from core.version import __version__
from modules.service.http.endpoints.shapes import IN_HEADER, JSON_TYPE, Problem
from modules.service.http.endpoints.streams import EVENTS_TYPE
from modules.service.http.endpoints.table import BINARY_TYPE, Endpoint
from modules.service.http.problems import PROBLEM_TYPE
from modules.service.served.event_types import EVENT_TYPES
from modules.service.served.problems import PROBLEMS

OPENAPI_PATH: Final = "/openapi.json"

_REFS: Final = "#/components/schemas/{model}"

_SHARED: Final = ("bad-request", "unauthorized", "forbidden", "bug")
"""Kinds of problems that any endpoint may refuse with."""

_MODE: Final[JsonSchemaMode] = "validation"
"""Of answers too: keys that every answer has are required in either mode of a typed dictionary."""

_OF_BODIES: Final = ("too-slow", "too-large", "unsupported-media-type")


def openapi_document(endpoints: Sequence[Endpoint]) -> JsonObject:
    """The whole document."""
    schemas, found = _schemas(endpoints)
    paths: dict[str, Json] = {}
    for endpoint in endpoints:
        operations = cast("JsonObject", paths.setdefault(endpoint.shown_path, {}))
        operations[endpoint.method.lower()] = _operation(endpoint, found)
    info: JsonObject = {
        "title": "Cortex-R",
        "version": __version__,
        "description": "An agent that plans in Python and calls tools. See docs/http.md.",
    }
    return {
        "openapi": "3.1.0",
        "info": info,
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}, {}],
    }


def event_schemas() -> dict[str, JsonObject]:
    """The JSON Schema of each event by its name, for docs/http.md."""
    return {name: _adapter(kind).json_schema() for name, kind in EVENT_TYPES.items()}


def _adapter(kind: object) -> TypeAdapter[object]:
    """Describes a type; which, the type checker can't know here."""
    return TypeAdapter(cast("type[object]", kind))


def _schemas(endpoints: Iterable[Endpoint]) -> tuple[JsonObject, dict[object, JsonObject]]:
    """All schemas by their names, and for each type what refers to its schema."""
    bodies = [each.body for each in endpoints if each.body not in (None, bytes)]
    answers = [each.answer for each in endpoints if each.answer is not None]
    wanted: list[object] = [*bodies, *answers, Problem, *EVENT_TYPES.values()]
    keyed: list[tuple[str, JsonSchemaMode, TypeAdapter[object]]]
    keyed = [(str(at), _MODE, _adapter(kind)) for at, kind in enumerate(wanted)]
    refs, shared = TypeAdapter.json_schemas(keyed, ref_template=_REFS)
    found = {kind: refs[str(at), _MODE] for at, kind in enumerate(wanted)}
    schemas: JsonObject = dict(cast("JsonObject", shared["$defs"]))
    named: list[Json] = [found[kind] for kind in EVENT_TYPES.values()]
    mapping: JsonObject = {name: str(found[kind]["$ref"]) for name, kind in EVENT_TYPES.items()}
    schemas["Event"] = {
        "oneOf": named,
        "discriminator": {"propertyName": "type", "mapping": mapping},
        "description": "The data of a message of a stream of events.",
    }
    return schemas, found


def _operation(endpoint: Endpoint, found: Mapping[object, JsonObject]) -> JsonObject:
    words = [word for word in endpoint.shown_path.split("/") if word and "{" not in word]
    operation: JsonObject = {
        "operationId": "_".join([endpoint.method.lower(), *words, *_path_names(endpoint)]),
        "summary": endpoint.told,
        "parameters": _parameters(endpoint),
        "responses": _responses(endpoint, found),
    }
    if endpoint.is_open:
        operation["security"] = []
    if endpoint.body is not None:
        is_file = endpoint.body is bytes
        content: JsonObject = {} if is_file else {"schema": found[endpoint.body]}
        kind = BINARY_TYPE if is_file else JSON_TYPE
        operation["requestBody"] = {"required": not is_file, "content": {kind: content}}
    return operation


def _path_names(endpoint: Endpoint) -> list[str]:
    return [part.partition("}")[0] for part in endpoint.shown_path.split("{")[1:]]


def _parameters(endpoint: Endpoint) -> list[Json]:
    found: list[Json] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in _path_names(endpoint)
    ]
    for name, schema in asked_of(endpoint).items():
        told, place = schema.pop("description"), "header" if name == IN_HEADER else "query"
        found.append({"name": name, "in": place, "description": told, "schema": schema})
    return found


def asked_of(endpoint: Endpoint) -> dict[str, JsonObject]:
    """The JSON Schema of each value that may stand in the query or a header, by its name."""
    properties = endpoint.query.model_json_schema()["properties"]
    return {name: {**schema} for name, schema in properties.items()}


def _responses(endpoint: Endpoint, found: Mapping[object, JsonObject]) -> JsonObject:
    good: JsonObject = {"description": "As it should be."}
    if endpoint.answer_type == EVENTS_TYPE:
        told = "Messages whose data is an `Event`, each with its id and name."
        media: JsonObject = {"x-event": {"$ref": "#/components/schemas/Event"}}
        good = {"description": told, "content": {EVENTS_TYPE: media}}
    elif endpoint.answer is not None:
        good["content"] = {JSON_TYPE: {"schema": found[endpoint.answer]}}
    elif endpoint.status != 204:
        good["content"] = {endpoint.answer_type: {"schema": {"type": "string"}}}
    responses: JsonObject = {str(endpoint.status): good}
    if endpoint.status == 201:
        responses["200"] = good
    if endpoint.answer_type == EVENTS_TYPE and endpoint.method == "GET":
        responses["204"] = {"description": "The run has ended, and all its events were seen."}
    kinds = () if endpoint.is_open else _SHARED
    kinds += endpoint.problems + (() if endpoint.body is None else _OF_BODIES)
    by_status: dict[int, list[str]] = {}
    for kind in kinds:
        by_status.setdefault(PROBLEMS[kind].status, []).append(PROBLEMS[kind].title)
    for status, titles in sorted(by_status.items()):
        content: JsonObject = {PROBLEM_TYPE: {"schema": found[Problem]}}
        responses[str(status)] = {"description": "; ".join(titles), "content": content}
    return responses

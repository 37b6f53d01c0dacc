"""The OpenAPI document says what the service does: each answer is held against it."""

import re
from pathlib import Path

import jsonschema_rs
import pytest
from pydantic import TypeAdapter

from core.values import Json, JsonObject
from modules.service.http.app import ENDPOINTS
from modules.service.http.openapi import openapi_document
from modules.service.served.event_types import EVENT_TYPES
from tests.modules.service.http.served import answering, chatted, served

DOCUMENT = openapi_document(ENDPOINTS)
JSON = "application/json"
OBJECT = TypeAdapter(JsonObject)


def at(*keys: str) -> JsonObject:
    """What stands there in the document."""
    found: Json = DOCUMENT
    for key in keys:
        assert isinstance(found, dict)
        found = found[key]
    assert isinstance(found, dict)
    return found


def fits(value: object, schema: JsonObject) -> None:
    """Hold a value against a schema of the document."""
    whole: JsonObject = {**schema, "components": at("components")}
    jsonschema_rs.validator_for(whole).validate(value)


def references(value: Json) -> list[str]:
    if isinstance(value, dict):
        own = [str(value["$ref"])] if "$ref" in value else []
        return own + [each for one in value.values() for each in references(one)]
    return [each for one in value for each in references(one)] if isinstance(value, list) else []


def test_everything_that_is_referred_to_is_there() -> None:
    names = {each.removeprefix("#/components/schemas/") for each in references(DOCUMENT)}
    assert names
    assert names <= set(at("components", "schemas"))


def test_operations_have_names_of_their_own() -> None:
    operations = [each for path in at("paths").values() for each in OBJECT.validate_python(path)]
    ids = re.findall(r"'operationId': '(\w+)'", str(DOCUMENT))
    assert len(ids) == len(set(ids)) == len(operations)


def test_every_event_has_a_schema() -> None:
    event = at("components", "schemas", "Event")
    mapping = OBJECT.validate_python(event["discriminator"])["mapping"]
    assert set(OBJECT.validate_python(mapping)) == set(EVENT_TYPES)


@pytest.mark.parametrize(
    "path",
    [
        *("/runs", "/runs/{id}", "/chats", "/chat/{id}/history", "/chat/{id}/trace", "/tools"),
        *("/servers", "/profiles", "/budgets", "/documents", "/health", "/problems"),
    ],
)
async def test_answers_are_as_the_document_says(tmp_path: Path, path: str) -> None:
    async with served(tmp_path, [answering("12")]) as service:
        assert (await service.client.get("/openapi.json")).json() == DOCUMENT
        assert (await service.client.put("/documents/a.md", content=b"x")).status_code == 201
        events = await chatted(service.client, message="go", conversation_id="notes")
        id_ = "notes" if "/chat" in path else str(events[0].data["run"])
        response = await service.client.get(path.replace("{id}", id_))
    assert response.status_code == 200
    fits(response.json(), at("paths", path, "get", "responses", "200", "content", JSON, "schema"))
    for event in events:
        named = EVENT_TYPES[event.name].__name__
        fits(event.data, {"$ref": f"#/components/schemas/{named}"})


async def test_problems_are_as_the_document_says(tmp_path: Path) -> None:
    async with served(tmp_path, []) as service:
        response = await service.client.get("/runs/none")
    kind = "application/problem+json"
    schema = at("paths", "/runs/{id}", "get", "responses", "404", "content", kind, "schema")
    fits(response.json(), schema)

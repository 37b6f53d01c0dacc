"""The Gemini backend, and events and errors of the Gemini API for `fake_service` to answer with."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from config.models_file import ModelEntry
from core.errors import ModelUnavailable
from core.ports import (
    ModelReply,
    ModelRequest,
)
from core.values import Json, JsonObject
from modules.models.credentials.api_key import ApiKey
from modules.models.gemini import GeminiModel
from modules.models.serving.reply import collect_reply
from tests.modules.fake_service import FakeService, fake_service

KEY = "AIzaTest0123456789"


REQUEST = ModelRequest("decision", "Plan this: {}")


USAGE: JsonObject = {"promptTokenCount": 11, "candidatesTokenCount": 5, "thoughtsTokenCount": 2}


def part(*parts: JsonObject, reason: str | None = "STOP", **fields: Json) -> JsonObject:
    """A GenerateContentResponse as documented."""
    content: JsonObject = {"role": "model", "parts": list(parts)}
    candidate: JsonObject = {"content": content, "index": 0}
    if reason is not None:
        candidate["finishReason"] = reason
    return {"candidates": [candidate], "usageMetadata": USAGE, "modelVersion": "test", **fields}


def answer(text: str, reason: str | None = "STOP", **fields: Json) -> JsonObject:
    return part({"text": text}, reason=reason, **fields)


def event(document: Json) -> bytes:
    return b"data: " + json.dumps(document).encode() + b"\r\n\r\n"


def refusal(
    code: int, status: str, message: str, reason: str = "OTHER", *details: JsonObject
) -> JsonObject:
    """An error body as Google's APIs send it (google.rpc.Status)."""
    info: JsonObject = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason}
    return {
        "error": {
            "code": code,
            "message": message,
            "status": status,
            "details": [info, *details],
        }
    }


def quota(quota_id: str) -> JsonObject:
    return {
        "@type": "type.googleapis.com/google.rpc.QuotaFailure",
        "violations": [{"quotaMetric": "requests", "quotaId": quota_id}],
    }


def retry_in(delay: str) -> JsonObject:
    return {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}


@asynccontextmanager
async def gemini(url: str, key: str = KEY, /, **fields: object) -> AsyncGenerator[GeminiModel]:
    entry = ModelEntry.model_validate(
        {
            "type": "gemini",
            "model": "gemini-test",
            "base_url": url,
            "timeout_seconds": 10.0,
            **fields,
        }
    )
    model = GeminiModel(entry, ApiKey(key, "GEMINI_API_KEY"))
    try:
        yield model
    finally:
        await model.aclose()
        await model.aclose()


async def ask(model: GeminiModel, request: ModelRequest = REQUEST) -> ModelReply:
    return await collect_reply(model, model.stream(request))


async def asked_body(request: ModelRequest, **fields: object) -> JsonObject:
    """What the server is sent for a request."""
    async with fake_service() as fake:
        fake.streams(event(answer("x")))
        async with gemini(fake.url, **fields) as model:
            await ask(model, request)
    return fake.bodies[0]


async def failure(fake: FakeService, **fields: object) -> ModelUnavailable:
    """The error that the user gets for what the server says."""
    async with gemini(fake.url, **fields) as model:
        with pytest.raises(ModelUnavailable) as caught:
            await ask(model)
    assert KEY not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return caught.value

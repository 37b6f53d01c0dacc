"""The Anthropic backend, and events and errors of the Messages API for `fake_service` to send."""

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
from modules.models.anthropic import AnthropicModel
from modules.models.credentials.api_key import ApiKey
from modules.models.serving.reply import collect_reply
from tests.modules.fake_service import FakeService, fake_service

KEY = "sk-ant-test-0123456789"


MODEL = "claude-sonnet-5-5"


REQUEST = ModelRequest("decision", "Plan this: {}")


def event(kind: str, **fields: Json) -> bytes:
    """One event as documented: its type is in the name and in the data."""
    data = json.dumps({"type": kind, **fields})
    return f"event: {kind}\ndata: {data}\n\n".encode()


def begin(**usage: int) -> bytes:
    message: JsonObject = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 3, "output_tokens": 1, **usage},
    }
    return event("message_start", message=message)


def block(index: int, content: JsonObject, *deltas: JsonObject) -> bytes:
    return (
        event("content_block_start", index=index, content_block=content)
        + event("ping")
        + b"".join(event("content_block_delta", index=index, delta=delta) for delta in deltas)
        + event("content_block_stop", index=index)
    )


def text(*pieces: str, index: int = 0) -> bytes:
    deltas: list[JsonObject] = [{"type": "text_delta", "text": piece} for piece in pieces]
    return block(index, {"type": "text", "text": ""}, *deltas)


def end(reason: str | None = "end_turn", output_tokens: int = 7, **delta: Json) -> bytes:
    stop: JsonObject = {"stop_reason": reason, "stop_sequence": None, **delta}
    usage: JsonObject = {"output_tokens": output_tokens}
    return event("message_delta", delta=stop, usage=usage) + event("message_stop")


def refusal(kind: str, message: str, **details: Json) -> JsonObject:
    """The body of an error."""
    error: JsonObject = {"type": kind, "message": message}
    if details:
        error["details"] = details
    return {"type": "error", "error": error, "request_id": "req_1"}


@asynccontextmanager
async def claude(url: str, key: str = KEY, /, **fields: object) -> AsyncGenerator[AnthropicModel]:
    entry = ModelEntry.model_validate(
        {
            "type": "anthropic",
            "model": MODEL,
            "base_url": url,
            "timeout_seconds": 10.0,
            **fields,
        }
    )
    model = AnthropicModel(entry, ApiKey(key, "ANTHROPIC_API_KEY"))
    try:
        yield model
    finally:
        await model.aclose()
        await model.aclose()


async def ask(model: AnthropicModel, request: ModelRequest = REQUEST) -> ModelReply:
    return await collect_reply(model, model.stream(request))


async def asked_body(request: ModelRequest, **fields: object) -> JsonObject:
    """What the server is sent for a request."""
    async with fake_service() as fake:
        fake.streams(begin(), text("x"), end())
        async with claude(fake.url, **fields) as model:
            await ask(model, request)
    return fake.bodies[0]


async def failure(fake: FakeService, **fields: object) -> ModelUnavailable:
    """The error that the user gets for what the server says."""
    async with claude(fake.url, **fields) as model:
        with pytest.raises(ModelUnavailable) as caught:
            await ask(model)
    assert KEY not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return caught.value

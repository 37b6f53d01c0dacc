"""The Anthropic backend, and events and errors of the Messages API for `fake_service` to send."""

import json
from contextlib import AbstractAsyncContextManager

from config.models_file import ModelEntry
from core.values import Json, JsonObject
from modules.models.credentials.api_key import ApiKey
from modules.models.hosted.anthropic import AnthropicModel
from tests.modules.models.hosted.sdk_checks import SdkService, opened

KEY = "sk-ant-test-0123456789"
VARIABLE = "ANTHROPIC_API_KEY"
MODEL = "claude-sonnet-5-5"


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


def claude(
    url: str, key: str = KEY, /, **fields: object
) -> AbstractAsyncContextManager[AnthropicModel]:
    fixed = {"type": "anthropic", "model": MODEL, "base_url": url, "timeout_seconds": 10.0}
    entry = ModelEntry.model_validate({**fixed, **fields})
    return opened(AnthropicModel(entry, ApiKey(key, VARIABLE)))


SERVICE = SdkService(
    claude,
    KEY,
    VARIABLE,
    key_header="authorization: Bearer ",
    began=begin() + text("x"),
    whole=begin() + text("x") + end(),
)
asked_body, failure = SERVICE.asked_body, SERVICE.failure

"""A server on loopback that speaks OpenAI's chat completions protocol, after its API reference."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from config.models_file import ModelEntry
from core.ports import ModelReply, ModelRequest
from core.values import Json, JsonObject
from modules.models.credentials.keys import ApiKey
from modules.models.hosted.model import HostedModel
from modules.models.serving.reply import collect_reply
from tests.modules.models.service import FakeService, Handler, pieces, serving

KEY = ApiKey("sk-geheim-1234567890", "TEST_API_KEY")
WAIT_SECONDS = 10.0


def chunk(finish: str | None = None, **delta: Json) -> JsonObject:
    """A chunk of a streamed reply."""
    choice: JsonObject = {"index": 0, "delta": {**delta}, "finish_reason": finish}
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": [choice]}


def call_piece(
    name: str | None = None, arguments: Json = None, index: int | None = 0, **fields: Json
) -> JsonObject:
    """A chunk with a piece of a tool call."""
    given: dict[str, Json] = {"name": name, "arguments": arguments}
    function: JsonObject = {key: value for key, value in given.items() if value is not None}
    call: JsonObject = {"function": function, **fields}
    return chunk(tool_calls=[call if index is None else {**call, "index": index}])


def text(*pieces: str) -> list[JsonObject]:
    """The chunks of a reply of text."""
    return [chunk(role="assistant"), *(chunk(content=piece) for piece in pieces), chunk("stop")]


def counted(**usage: Json) -> JsonObject:
    """The chunk with the count of tokens."""
    return {"object": "chat.completion.chunk", "choices": [], "usage": {**usage}}


def whole(content: str | None, finish: str = "stop", **message: Json) -> JsonObject:
    """A reply in one piece."""
    inner: JsonObject = {"role": "assistant", "content": content, **message}
    choice: JsonObject = {"index": 0, "message": inner, "finish_reason": finish}
    usage: JsonObject = {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12}
    return {"object": "chat.completion", "choices": [choice], "usage": usage}


def streams(*chunks: JsonObject) -> Handler:
    """Streams chunks, then `[DONE]`."""
    events = [f"data: {json.dumps(value)}\n\n".encode() for value in chunks]
    return pieces(*events, b"data: [DONE]\n\n")


@asynccontextmanager
async def model_server(*handlers: Handler) -> AsyncGenerator[FakeService]:
    """A server that plays the handlers, by default `Hello`."""
    server = FakeService()
    server.plays(*(handlers or [streams(*text("Hello"))]))
    async with serving(server):
        server.url += "/v1"
        yield server


@asynccontextmanager
async def talking(
    *handlers: Handler, key: ApiKey | None = KEY, **entry: Json
) -> AsyncGenerator[tuple[FakeService, HostedModel]]:
    """A server, and the backend that speaks to it; closed twice at the end, as it may be."""
    async with model_server(*handlers) as server:
        fields = {"type": "openai", "model": "test-model", "base_url": server.url, **entry}
        model = HostedModel(ModelEntry.model_validate(fields), key)
        try:
            yield server, model
        finally:
            await model.aclose()
            await model.aclose()


async def asked(model: HostedModel, request: ModelRequest) -> ModelReply:
    """The whole reply, in bounded time."""
    async with asyncio.timeout(WAIT_SECONDS):
        return await collect_reply(model, model.stream(request))

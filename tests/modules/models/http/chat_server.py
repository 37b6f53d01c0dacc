"""A server on loopback that speaks OpenAI's protocol, and what came over the wire from it."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager

import pytest

from config.models_file import ModelEntry
from core.errors import ModelUnavailable
from core.ports import ModelReply, ModelRequest
from core.values import Json, JsonObject
from modules.models.credentials import ApiKey
from modules.models.hosted.model import HostedModel
from modules.models.http.client import ServiceClient
from modules.models.http.errors import Advice, ServiceError, ServiceErrors
from modules.models.http.reply import ServiceReply
from modules.models.serving.watched import collect_reply
from tests.modules.models.service import FakeService, Handler, pieces, serving

KEY = ApiKey("sk-geheim-1234567890", "TEST_API_KEY")
WAIT_SECONDS = 10.0
ADVICE = Advice("start it", "name another", "set SOME_KEY")


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


@asynccontextmanager
async def wire(
    url: str, key: ApiKey | None = KEY, idle_seconds: float = 10
) -> AsyncGenerator[ServiceClient]:
    """A wire to a server, closed twice at the end, as it may be."""
    opened = ServiceClient(ServiceErrors("model x", url, ADVICE, key, idle_seconds))
    try:
        async with asyncio.timeout(20):
            yield opened
    finally:
        await opened.aclose()
        await opened.aclose()


async def events(reply: ServiceReply) -> list[bytes]:
    """All events of a reply."""
    async with aclosing(reply.events()) as found:
        return [data async for data in found]


async def documents(reply: ServiceReply) -> list[JsonObject]:
    """All documents of a reply."""
    async with aclosing(reply.documents()) as found:
        return [document async for document in found]


@asynccontextmanager
async def posted(
    handler: Handler, key: ApiKey | None = KEY, idle_seconds: float = 10
) -> AsyncGenerator[ServiceReply]:
    """A handler's reply."""
    async with (
        model_server(handler) as server,
        wire(server.url, key, idle_seconds) as opened,
        opened.exchange("/x", {}) as reply,
    ):
        yield reply


async def heard(handler: Handler) -> list[bytes]:
    """The events that a handler's reply holds."""
    async with posted(handler) as reply:
        return await events(reply)


async def fault(handler: Handler, key: ApiKey | None = KEY) -> ModelUnavailable:
    """The failure of reading a handler's reply as events; it holds no key and no cause."""
    with pytest.raises(ModelUnavailable) as caught:
        async with posted(handler, key) as reply:
            await events(reply)
    assert KEY.value not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    assert str(caught.value).startswith("model x ")
    return caught.value


async def refusal(handler: Handler, key: ApiKey | None = KEY) -> ServiceError:
    """The same, for a status that is no success."""
    refused = await fault(handler, key)
    assert isinstance(refused, ServiceError)
    return refused

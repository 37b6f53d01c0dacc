"""A server on loopback that speaks OpenAI's chat completions protocol, with faults on order.

It answers as OpenAI's API reference says; `server.plays(handler, …)` gives the next requests to
handlers of the test, the last of which stays. `server.bodies` keeps what was asked.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TypeAlias

from config.models_file import ModelEntry
from core.ports import ModelReply, ModelRequest
from core.values import Json, JsonObject
from modules.models.credentials.keys import ApiKey
from modules.models.hosted.model import HostedModel
from modules.models.serving.reply import collect_reply
from tests.core.mcp.http_server import Exchange, McpHttpServer, http_server

KEY = ApiKey("sk-geheim-1234567890", "TEST_API_KEY")
WAIT_SECONDS = 10.0

Handler: TypeAlias = Callable[[Exchange], Awaitable[None]]


def chunk(finish: str | None = None, **delta: Json) -> JsonObject:
    """A chunk of a streamed reply."""
    choice: JsonObject = {"index": 0, "delta": {**delta}, "finish_reason": finish}
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": [choice]}


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

    async def play(exchange: Exchange) -> None:
        await exchange.stream()
        for value in chunks:
            await exchange.event(value)
        await exchange.text("data: [DONE]\n\n")
        await exchange.end()

    return play


def sends(data: str | bytes, kind: str = "text/event-stream") -> Handler:
    """Sends a body as it stands."""

    async def play(exchange: Exchange) -> None:
        body = data.encode() if isinstance(data, str) else data
        await exchange.reply(200, body, kind)

    return play


def refuses(
    status: int, error: Json = None, headers: Mapping[str, str] | None = None, **fields: Json
) -> Handler:
    """Answers with a status and an error document, OpenAI's form by default."""

    async def play(exchange: Exchange) -> None:
        document = error if error is not None else {"error": {"message": "No.", **fields}}
        await exchange.json(document, status, headers)

    return play


class ModelServer:
    """What is played next, and what was asked."""

    def __init__(self, server: McpHttpServer) -> None:
        """Answer `Hello` until a test says otherwise."""
        self._server = server
        self._handlers: list[Handler] = [streams(*text("Hello"))]
        self.url = server.url.replace("/mcp", "/v1")
        server.on["(answer)"] = self._answer

    @property
    def bodies(self) -> list[JsonObject]:
        """What was asked, oldest first."""
        return [seen.message for seen in self._server.seen]

    @property
    def headers(self) -> dict[str, str]:
        """The headers of the last request."""
        return self._server.seen[-1].headers

    @property
    def paths(self) -> list[str]:
        """Where requests went."""
        return [seen.path for seen in self._server.seen]

    @property
    def connections(self) -> int:
        """How many connections there were."""
        return self._server.connections

    def plays(self, *handlers: Handler) -> None:
        """Hand the next requests to these; the last one to all that follow."""
        self._handlers = [*handlers]

    async def _answer(self, exchange: Exchange) -> None:
        handler = self._handlers.pop(0) if len(self._handlers) > 1 else self._handlers[0]
        await handler(exchange)


@asynccontextmanager
async def model_server(*handlers: Handler) -> AsyncGenerator[ModelServer]:
    """A server on a free port; with handlers, it plays them."""
    async with http_server() as base:
        server = ModelServer(base)
        if handlers:
            server.plays(*handlers)
        yield server


@asynccontextmanager
async def talking(
    *handlers: Handler, key: ApiKey | None = KEY, **entry: Json
) -> AsyncGenerator[tuple[ModelServer, HostedModel]]:
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

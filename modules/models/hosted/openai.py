"""Models behind OpenAI's chat completions protocol: OpenAI's own, and every server that speaks it.

vLLM, llama.cpp's server, llama_cpp.server, LM Studio, OpenRouter, Groq and many more do. OpenAI's
own SDK would bring types and follow OpenAI's changes by itself; but it costs 1.4 s to import
against httpx2's 0.1, retries by itself, and knows nothing of how the other servers differ, which is
most of what is to know here. So this is plain HTTP (`modules.models.hosted.http`).

What a server or model doesn't take (`temperature`, `response_format`, …) is left out once it has
said so, in the same request and in all later ones of this client; unless it was this one request
that was too long.
"""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, aclosing

from config.models_file import ModelEntry
from core.base.json_preview import json_start
from core.errors import ModelUnavailable
from core.ports import ModelRequest, ModelTraits, ReplyDelta
from core.values import JsonObject
from modules.models.choosing.vision_names import sees_images
from modules.models.credentials.api_key import ApiKey
from modules.models.hosted.errors import Advice, ServiceRefusal
from modules.models.hosted.http import ModelWire
from modules.models.hosted.openai_reply import ReplyReader, first_choice
from modules.models.hosted.openai_request import (
    Dialect,
    adapted,
    first_dialect,
    is_about_length,
    request_body,
)
from modules.models.hosted.reply import WireReply, json_value
from modules.models.serving.budget import output_limit

OPENAI_URL = "https://api.openai.com/v1"
OPENAI_KEY = "OPENAI_API_KEY"

USAGE_SECONDS = 5.0
"""How long the count of tokens is waited for once a reply is complete."""

_REFUSING_STATUSES = (400, 422)
"""What servers answer to a parameter that they don't take; 422 is FastAPI's."""


class OpenAIModel:
    """One model of one server. A `core.ports.TextModel`."""

    def __init__(self, entry: ModelEntry, key: ApiKey | None) -> None:
        """Keep the settings; a server other than OpenAI's may need no key.

        `entry.model` is filled in; `base_url` is what stands before `/chat/completions`.
        """
        self._model = entry.model or ""
        self._output_tokens_max = entry.max_output_tokens
        self.name = f"{entry.type}:{self._model}"
        self.traits = ModelTraits(
            images=sees_images(self._model) if entry.images is None else entry.images,
            schemas=True,
            context_tokens=entry.context_tokens,
        )
        self._dialect = first_dialect(entry)
        self._wire = ModelWire(
            f"model {self.name}",
            entry.base_url or OPENAI_URL,
            _advice(entry),
            key,
            idle_seconds=entry.timeout_seconds,
        )

    def __repr__(self) -> str:
        """The name only."""
        return f"OpenAIModel({self.name})"

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ReplyDelta, None]:
        """The reply as it is written (`POST /chat/completions`).

        Raises:
            ModelUnavailable: see `wire/client.py`; a stream that ends too early is transient.
        """
        async with AsyncExitStack() as stack:
            reply = await self._asked(stack, request)
            async with aclosing(_deltas(reply)) as deltas:
                async for delta in deltas:
                    yield delta

    async def aclose(self) -> None:
        """Close the connections; safe to call twice."""
        await self._wire.aclose()

    async def _asked(self, stack: AsyncExitStack, request: ModelRequest) -> WireReply:
        """The reply to the request in a dialect that the server takes."""
        dialect = self._dialect
        while True:  # a dialect has a dozen parts, and each round takes one away
            body = request_body(self._model, request, self._tokens_max(request), dialect)
            try:
                return await stack.enter_async_context(self._wire.post("/chat/completions", body))
            except ServiceRefusal as refusal:
                if (narrower := _without_refused(dialect, body, refusal)) is None:
                    raise
                dialect = narrower
                if not is_about_length(refusal.error):  # else all later ones would lose the bound
                    self._dialect = dialect

    def _tokens_max(self, request: ModelRequest) -> int | None:
        return output_limit(request, self._output_tokens_max)


def _without_refused(dialect: Dialect, body: JsonObject, refusal: ServiceRefusal) -> Dialect | None:
    if refusal.status in _REFUSING_STATUSES:
        return adapted(dialect, body, refusal.error)
    if refusal.status == 500:  # so llama_cpp.server says of a `response_format` it doesn't know
        narrower = adapted(dialect, body, refusal.error)
        return narrower if narrower is not None and narrower.schemas != dialect.schemas else None
    return None


async def _deltas(reply: WireReply) -> AsyncGenerator[ReplyDelta, None]:
    """The deltas of a reply, `ReplyEnd` last."""
    reader = ReplyReader()
    try:
        async with aclosing(_documents(reply)) as documents:
            async for document in documents:
                for delta in reader.feed(document):
                    yield delta
                if reader.finish is not None:
                    reply.expect_end(USAGE_SECONDS)
    except ModelUnavailable:
        if reader.finish is None:  # else only the count of tokens is missing
            raise
    if reader.finish is None and not reply.is_done:
        raise reply.broke_off()
    for delta in reader.end():
        yield delta


async def _documents(reply: WireReply) -> AsyncGenerator[JsonObject, None]:
    """The chunks of a reply that is streamed, else its one body; errors among them are raised."""
    if reply.media_type == "application/json":
        body = await reply.json()
        if first_choice(body) is None and body.get("error") is None:
            raise reply.unreadable(json_start(body, 200).encode())
        yield _sound(reply, body)
        reply.is_done = True
        return
    if reply.media_type == "text/html":
        raise reply.unreadable(await reply.beginning())
    async with aclosing(reply.events()) as events:
        async for data in events:
            chunk = json_value(data)
            if not isinstance(chunk, dict):
                raise reply.unreadable(data)
            yield _sound(reply, chunk)


def _sound(reply: WireReply, document: JsonObject) -> JsonObject:
    """The document, if it reports no error; OpenRouter puts some into the choice."""
    for part in (document, first_choice(document) or {}):
        if (failure := reply.error_in(part)) is not None:
            raise failure
    return document


def _advice(entry: ModelEntry) -> Advice:
    variable = entry.api_key_env or OPENAI_KEY
    no_key = f"set {variable}, or store a key with: agent.py auth set {entry.type}"
    if entry.base_url is None:
        return Advice(
            "check the network connection, or work without it: --model offline",
            "name another with --model openai:MODEL or in config/models.json",
            no_key,
        )
    return Advice(
        "start the server, or check base_url in config/models.json",
        "name another model there, or check base_url, which mostly ends in /v1",
        no_key,
    )

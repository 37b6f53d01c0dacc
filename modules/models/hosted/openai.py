"""Models behind OpenAI's chat completions protocol: OpenAI's own, and every server that speaks it.

vLLM, llama.cpp's server, llama_cpp.server, LM Studio, OpenRouter, Groq and many more do. OpenAI's
own SDK would bring types and follow OpenAI's changes by itself; but it costs 0.55 s of CPU to
import against httpx2's 0.1, and knows nothing of how the other servers differ, which is most of
what is to know here. So this is plain HTTP (`modules.models.http.service`).

What a server or model doesn't take (`temperature`, `response_format`, …) is left out once it has
said so, in the same request and in all later ones of this client; unless it was this one request
that was too long.
"""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, aclosing
from functools import partial

from config.models_file import ModelEntry
from core.base.json_text import json_start
from core.ports import ModelRequest, ModelTraits, ReplyDelta
from core.values import JsonObject
from modules.models.credentials.keys import ApiKey
from modules.models.hosted.openai_reply import OpenAIReply, first_choice
from modules.models.hosted.openai_request import (
    Dialect,
    adapted,
    first_dialect,
    is_about_length,
    request_body,
)
from modules.models.http.errors import ServiceError, service_advice
from modules.models.http.reply import ServiceReply, deltas_of
from modules.models.http.service import ServiceHttp
from modules.models.serving.budget import output_limit
from modules.models.vision_names import sees_images

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
            context_tokens=entry.context_tokens,
        )
        self._dialect = first_dialect(entry)
        self._http = ServiceHttp(
            f"model {self.name}",
            entry.base_url or OPENAI_URL,
            service_advice(entry, entry.api_key_env or OPENAI_KEY),
            key,
            idle_seconds=entry.timeout_seconds,
        )

    def __repr__(self) -> str:
        """The name only."""
        return f"OpenAIModel({self.name})"

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ReplyDelta, None]:
        """The reply as it is written (`POST /chat/completions`).

        Raises:
            ModelUnavailable: see `ServiceHttp.post`; a stream that ends too early is transient.
        """
        async with AsyncExitStack() as stack:
            reply = await self._asked(stack, request)
            wait = partial(reply.expect_end, USAGE_SECONDS)
            reader = OpenAIReply(reply)
            async with aclosing(deltas_of(_documents(reply), reader, wait)) as deltas:
                async for delta in deltas:
                    yield delta

    async def aclose(self) -> None:
        """Close the connections; safe to call twice."""
        await self._http.aclose()

    async def _asked(self, stack: AsyncExitStack, request: ModelRequest) -> ServiceReply:
        """The reply to the request in a dialect that the server takes."""
        dialect, limit = self._dialect, output_limit(request, self._output_tokens_max)
        while True:  # a dialect has a dozen parts, and each round takes one away
            body = request_body(self._model, request, limit, dialect)
            try:
                return await stack.enter_async_context(self._http.post("/chat/completions", body))
            except ServiceError as error:
                if (narrower := _without_refused(dialect, body, error)) is None:
                    raise
                dialect = narrower
                if not is_about_length(error.said):  # else all later ones would lose the bound
                    self._dialect = dialect


def _without_refused(dialect: Dialect, body: JsonObject, error: ServiceError) -> Dialect | None:
    if error.status in _REFUSING_STATUSES:
        return adapted(dialect, body, error.said)
    if error.status == 500:  # so llama_cpp.server says of a `response_format` it doesn't know
        narrower = adapted(dialect, body, error.said)
        return narrower if narrower is not None and narrower.schemas != dialect.schemas else None
    return None


async def _documents(reply: ServiceReply) -> AsyncGenerator[JsonObject]:
    """The chunks of a reply that is streamed, else its one body; errors among them are raised."""
    if reply.media_type == "application/json":
        body = await reply.json()
        if (error := reply.error_in(body)) is not None:
            raise error
        if first_choice(body) is None:
            raise reply.unreadable(json_start(body, 200).encode())
        reply.is_done = True
        yield body
        return
    if reply.media_type == "text/html":
        raise reply.unreadable(await reply.beginning())
    async with aclosing(reply.objects(reply.events())) as chunks:
        async for chunk in chunks:
            yield chunk

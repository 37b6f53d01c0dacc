"""Models behind OpenAI's chat completions protocol: OpenAI's own, and every server that speaks it.

vLLM, llama.cpp's server, llama_cpp.server, LM Studio, OpenRouter, Groq and many more do. Follows
OpenAI's API reference, "Create chat completion" (2026-11).

What a server or model doesn't take (`temperature`, `response_format`, …) is left out once it has
said so, in the same request and in all later ones of this client; unless it was this one request
that was too long. Which parameter it is, an error says (`param`, or in the message).
"""

import base64
import re
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, aclosing
from dataclasses import replace
from functools import partial
from typing import Literal, TypeAlias, assert_never

from config.models_file import ModelEntry, ThinkingEffort
from core.base.frozen import frozen
from core.base.json_text import json_start
from core.ports import ImageInput, ModelRequest, ReplyDelta
from core.values import Json, JsonObject
from modules.models.hosted.openai_reply import OpenAIReply, first_choice
from modules.models.http.client import ServiceClient
from modules.models.http.error_document import ErrorDocument
from modules.models.http.errors import ServiceError, ServiceErrors
from modules.models.http.reply import ServiceReply, deltas_of
from modules.models.serving.budget import output_limit

USAGE_SECONDS = 5.0
"""How long the count of tokens is waited for once a reply is complete."""

_REFUSING_STATUSES = (400, 422)
"""What servers answer to a parameter that they don't take; 422 is FastAPI's."""


SCHEMA_NAME = "reply"
"""What the schema is called in a request; it has to be called something."""

SchemaForm: TypeAlias = Literal["strict", "json_schema", "json_object"]
"""How a server is held to a schema, best first: OpenAI's strict mode, its ordinary one, and that of
llama_cpp.server, which others take for any JSON. Our schemas (`planning.reply.reply_schema`) are
of the subset that all of them take."""

LimitName: TypeAlias = Literal["max_completion_tokens", "max_tokens"]

_EFFORTS: dict[ThinkingEffort, tuple[str, ...]] = {
    "off": ("none", "minimal"),  # models before gpt-5.1 know no "none", those since no "minimal"
    "low": ("low",),
    "medium": ("medium",),
    "high": ("high",),
}

_REFUSABLE = (
    "response_format",
    "temperature",
    "seed",
    "max_completion_tokens",
    "max_tokens",
    "reasoning_effort",
    "stream_options",
    "stream",
)
"""The parameters that can be left out, or said otherwise."""

_LENGTH = re.compile(r"context[ _](?:length|window|size)|too (?:large|long|many)", re.IGNORECASE)


@frozen
class Dialect:
    """What a server takes, as far as it has not refused it.

    Of tuples the first is used, and none where they are empty: `schemas` are forms of
    `response_format`, `limits` names of the bound on output tokens, `efforts` values of
    `reasoning_effort`. `usage` is `stream_options`, `system` the system message.
    """

    schemas: tuple[SchemaForm, ...] = ("strict", "json_schema", "json_object")
    limits: tuple[LimitName, ...] = ("max_tokens", "max_completion_tokens")
    efforts: tuple[str, ...] = ()
    temperature: bool = True
    seed: bool = True
    stream: bool = True
    usage: bool = True
    system: bool = True


class OpenAIService:
    """One model of one server."""

    def __init__(self, entry: ModelEntry, errors: ServiceErrors) -> None:
        """Make the client; takes its time, so call it in a thread.

        Raises:
            ModelUnavailable: the settings of the environment are of no use.
        """
        self._model = entry.model or ""
        self._output_tokens_max = entry.max_output_tokens
        self._dialect = first_dialect(entry)
        self._http = ServiceClient(errors)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ReplyDelta, None]:
        """The reply as it is written (`POST /chat/completions`).

        Raises:
            ModelUnavailable: see `ServiceClient.exchange`; a stream that ends early is transient.
        """
        async with AsyncExitStack() as stack:
            reply = await self._asked(stack, request)
            wait = partial(reply.expect_end, USAGE_SECONDS)
            reader = OpenAIReply(reply)
            async with aclosing(deltas_of(_documents(reply), reader, wait)) as deltas:
                async for delta in deltas:
                    yield delta

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def _asked(self, stack: AsyncExitStack, request: ModelRequest) -> ServiceReply:
        """The reply to the request in a dialect that the server takes."""
        dialect, limit = self._dialect, output_limit(request, self._output_tokens_max)
        while True:  # a dialect has a dozen parts, and each round takes one away
            body = request_body(self._model, request, limit, dialect)
            try:
                return await stack.enter_async_context(
                    self._http.exchange("/chat/completions", body)
                )
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
        if (error := reply.errors.reported(body)) is not None:
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


def first_dialect(entry: ModelEntry) -> Dialect:
    """What to begin with: OpenAI itself wants `max_completion_tokens`, which others ignore."""
    efforts = () if entry.thinking is None else _EFFORTS[entry.thinking]
    if entry.base_url is None:
        return Dialect(limits=("max_completion_tokens", "max_tokens"), efforts=efforts)
    return Dialect(efforts=efforts)


def request_body(
    model: str, request: ModelRequest, output_tokens_max: int | None, dialect: Dialect
) -> JsonObject:
    """The JSON to send."""
    body: JsonObject = {"model": model, "messages": _messages(request, dialect)}
    if dialect.stream:
        body["stream"] = True
        if dialect.usage:
            body["stream_options"] = {"include_usage": True}
    if dialect.temperature:
        body["temperature"] = request.temperature
    if dialect.seed and request.seed is not None:
        body["seed"] = request.seed
    if output_tokens_max is not None and dialect.limits:
        body[dialect.limits[0]] = output_tokens_max
    if dialect.efforts:
        body["reasoning_effort"] = dialect.efforts[0]
    if request.schema is not None and dialect.schemas:
        body["response_format"] = _response_format(request.schema, dialect.schemas[0])
    return body


def adapted(dialect: Dialect, body: JsonObject, error: ErrorDocument) -> Dialect | None:
    """The dialect without what `error` names of `body`; None where it names nothing of it.

    Every step takes something away, so this comes to an end.
    """
    match _named(body, error):
        case "response_format":
            return replace(dialect, schemas=dialect.schemas[1:])
        case "max_completion_tokens" | "max_tokens":
            return replace(dialect, limits=dialect.limits[1:])
        case "reasoning_effort":
            return replace(dialect, efforts=dialect.efforts[1:])
        case "temperature":
            return replace(dialect, temperature=False)
        case "seed":
            return replace(dialect, seed=False)
        case "stream_options":
            return replace(dialect, usage=False)
        case "stream":
            return replace(dialect, stream=False)
        case "system":
            return replace(dialect, system=False)
        case _:
            return None


def is_about_length(error: ErrorDocument) -> bool:
    """Whether it is this request that is too long: that says nothing of the next one.

    Servers name `max_tokens` then too, which with the prompt does not fit into their context.
    """
    return _LENGTH.search(f"{error.code} {error.message}") is not None


def _messages(request: ModelRequest, dialect: Dialect) -> list[Json]:
    """The stable part of the prompt as the system message, which caches go by, then the rest."""
    system, user = request.system, request.user
    if not dialect.system or not user.strip():
        system, user = "", request.prompt
    content: Json = user
    if request.images:
        content = [{"type": "text", "text": user}, *map(_image_part, request.images)]
    messages: list[Json] = [{"role": "user", "content": content}]
    return [{"role": "system", "content": system}, *messages] if system.strip() else messages


def _image_part(image: ImageInput) -> Json:
    data = base64.b64encode(image.data).decode("ascii")
    return {"type": "image_url", "image_url": {"url": f"data:{image.media_type};base64,{data}"}}


def _response_format(schema: JsonObject, form: SchemaForm) -> JsonObject:
    match form:
        case "strict":
            named: JsonObject = {"name": SCHEMA_NAME, "schema": schema, "strict": True}
            return {"type": "json_schema", "json_schema": named}
        case "json_schema":
            return {"type": "json_schema", "json_schema": {"name": SCHEMA_NAME, "schema": schema}}
        case "json_object":
            return {"type": "json_object", "schema": schema}
        case _:
            assert_never(form)


def _named(body: JsonObject, error: ErrorDocument) -> str | None:
    """Which parameter of `body` an error is about; `param` outweighs the message."""
    sent = [name for name in _REFUSABLE if name in body]
    root = re.split(r"[.\[]", error.param, maxsplit=1)[0]
    if root == "reasoning" and "reasoning_effort" in sent:
        return "reasoning_effort"
    if root in sent:
        return root
    # A word as common as "stream" counts as a name only where it is a parameter of its own.
    found = (n for n in sent if n != "stream" and re.search(rf"(?<!\w){n}(?!\w)", error.message))
    if (name := next(found, None)) is not None:
        return name
    return "system" if "system role" in error.message.lower() and _has_system(body) else None


def _has_system(body: JsonObject) -> bool:
    match body["messages"]:
        case [{"role": "system"}, *_]:
            return True
        case _:
            return False

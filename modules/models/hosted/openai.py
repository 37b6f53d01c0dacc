"""Models behind OpenAI's chat completions protocol: OpenAI's own, and every server that speaks it.

vLLM, llama.cpp's server, llama_cpp.server, LM Studio, OpenRouter, Groq and many more do. Follows
OpenAI's API reference, "Create chat completion" (2026-11).

What a server or model doesn't take (`temperature`, `response_format`, …) is left out once it has
said so, in the same request and in all later ones of this client; unless it was this one request
that was too long. Which parameter it is, an error says (`param`, or in the message).
"""

import base64
import re
from collections.abc import Mapping
from typing import Final, TypeAlias

from config.models_file import ModelEntry, ThinkingEffort
from core.ports import ImageInput, ModelRequest
from core.values import Json, JsonObject
from modules.models.hosted.openai_reply import OpenAIReply
from modules.models.hosted.service import StreamingService
from modules.models.http.error_document import ErrorDocument
from modules.models.http.errors import ServiceError, ServiceErrors
from modules.models.serving.budget import output_limit

SCHEMA_NAME: Final = "reply"
"""What the schema is called in a request; it has to be called something."""

_EFFORTS: Final[dict[ThinkingEffort, tuple[str, ...]]] = {
    "off": ("none", "minimal"),  # models before gpt-5.1 know no "none", those since no "minimal"
    "low": ("low",),
    "medium": ("medium",),
    "high": ("high",),
}

_AS_IT_IS: Final = ("as it is",)

Dialect: TypeAlias = Mapping[str, tuple[str, ...]]
"""What a server takes: the forms of each parameter that it has not refused, of which the first is
sent. `system` is the system message, `limit` the bound on output tokens by its names."""

_ALL: Final[Dialect] = {
    # OpenAI's strict mode, its ordinary one, and that of llama_cpp.server, which others take for
    # any JSON. Our schemas (`planning.reply.reply_schema`) are of the subset that all take.
    "response_format": ("strict", "json_schema", "json_object"),
    "temperature": _AS_IT_IS,
    "seed": _AS_IT_IS,
    "limit": ("max_tokens", "max_completion_tokens"),
    "reasoning_effort": (),
    "stream_options": _AS_IT_IS,
    "stream": _AS_IT_IS,
    "system": _AS_IT_IS,
}

_LENGTH: Final = re.compile(
    r"context[ _](?:length|window|size)|too (?:large|long|many)", re.IGNORECASE
)


class OpenAIService(StreamingService[Dialect]):
    """One model of one server; its manner is a dialect of the protocol."""

    linger_seconds = 5.0
    """How long the count of tokens is waited for once a reply is complete."""

    def __init__(self, entry: ModelEntry, errors: ServiceErrors) -> None:
        dialect: dict[str, tuple[str, ...]] = {**_ALL}
        if entry.base_url is None:  # OpenAI itself wants the other name, which others ignore
            dialect["limit"] = _ALL["limit"][::-1]
        if entry.thinking is not None:
            dialect["reasoning_effort"] = _EFFORTS[entry.thinking]
        super().__init__(errors, "/chat/completions", OpenAIReply, dialect)
        self._model = entry.model or ""
        self._output_tokens_max = entry.max_output_tokens

    async def narrower(
        self, manner: Dialect, body: JsonObject, error: ServiceError
    ) -> Dialect | None:
        """The dialect without what the error names of `body`; None where it names nothing of it."""
        named = _named(body, error.said)
        # 422 is FastAPI's, and 500 what llama_cpp.server says of a form that it doesn't know.
        is_refused = error.status in (400, 422) or (
            error.status == 500 and named == "response_format"
        )
        if named is None or not is_refused:
            return None
        parameter = "limit" if named in _ALL["limit"] else named
        narrower = {**manner, parameter: manner[parameter][1:]}
        if not _is_about_length(error.said):  # else all later ones would lose the bound
            self.manner = narrower
        return narrower

    def body(self, request: ModelRequest, manner: Dialect) -> JsonObject:
        """The JSON to send."""
        body: JsonObject = {
            "model": self._model,
            "messages": _messages(request, with_system=bool(manner["system"])),
        }
        if manner["stream"]:
            body["stream"] = True
            if manner["stream_options"]:
                body["stream_options"] = {"include_usage": True}
        if manner["temperature"]:
            body["temperature"] = request.temperature
        if manner["seed"] and request.seed is not None:
            body["seed"] = request.seed
        limit = output_limit(request, self._output_tokens_max)
        if manner["limit"] and limit is not None:
            body[manner["limit"][0]] = limit
        if manner["reasoning_effort"]:
            body["reasoning_effort"] = manner["reasoning_effort"][0]
        if manner["response_format"] and request.schema is not None:
            body["response_format"] = _response_format(request.schema, manner["response_format"][0])
        return body


def _is_about_length(error: ErrorDocument) -> bool:
    """Whether it is this request that is too long: that says nothing of the next one.

    Servers name `max_tokens` then too, which with the prompt does not fit into their context.
    """
    return _LENGTH.search(f"{error.code} {error.message}") is not None


def _messages(request: ModelRequest, *, with_system: bool) -> list[Json]:
    """The stable part of the prompt as the system message, which caches go by, then the rest."""
    system, user = request.system, request.user
    if not with_system or not user.strip():
        system, user = "", request.prompt
    content: Json = user
    if request.images:
        content = [{"type": "text", "text": user}, *map(_image_part, request.images)]
    messages: list[Json] = [{"role": "user", "content": content}]
    return [{"role": "system", "content": system}, *messages] if system.strip() else messages


def _image_part(image: ImageInput) -> Json:
    data = base64.b64encode(image.data).decode("ascii")
    return {"type": "image_url", "image_url": {"url": f"data:{image.media_type};base64,{data}"}}


def _response_format(schema: JsonObject, form: str) -> JsonObject:
    if form == "json_object":
        return {"type": "json_object", "schema": schema}
    named: JsonObject = {"name": SCHEMA_NAME, "schema": schema}
    if form == "strict":
        named["strict"] = True
    return {"type": "json_schema", "json_schema": named}


def _named(body: JsonObject, error: ErrorDocument) -> str | None:
    """Which parameter of `body` an error is about; `param` outweighs the message."""
    sent = [name for name in (*_ALL, *_ALL["limit"]) if name in body]
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

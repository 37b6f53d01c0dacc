"""Anthropic's Claude models through the anthropic SDK (its async client, streaming).

The SDK makes and sends the request and knows its errors; the events of the reply are read here,
because the SDK's own reader takes quadratic time on hostile streams. It costs 1.3 s to import, so
that happens at the first request, in a thread. Nothing is tried twice here; the manager of models
does that. Anthropic's variables in the environment (ANTHROPIC_BASE_URL, ANTHROPIC_AUTH_TOKEN,
ANTHROPIC_PROFILE, keys in ANTHROPIC_CUSTOM_HEADERS, …) don't count: which service is asked with
which key, the entry alone says.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING

from pydantic_core import from_json

from config.models_file import ModelEntry
from core.base.retry_after import retry_after_seconds
from core.base.sse import EventParser, EventTooLong
from core.errors import ModelUnavailable
from core.ports import ModelRequest, ModelTraits, ReplyDelta
from core.values import Json, JsonObject
from modules.models.credentials.api_key import ApiKey
from modules.models.hosted.claude.family import ClaudeFamily
from modules.models.hosted.claude.reply import AnthropicReply
from modules.models.hosted.sdk.errors import SdkFaults
from modules.models.hosted.sdk.opening import SdkOpening, translated

if TYPE_CHECKING:
    import httpx2
    from anthropic import APIStatusError, AsyncAnthropic
    from anthropic.types.message_create_params import MessageCreateParamsStreaming

DEFAULT_MODEL = "claude-sonnet-5-5"
DEFAULT_BASE_URL = "https://api.anthropic.com"

EVENT_STREAM = "text/event-stream"
LAST_EVENT = "message_stop"

LINGER_SECONDS = 0.5
"""How long the end of a stream is waited for behind its last event."""


class AnthropicModel:
    """One Claude model with one client, opened at the first request."""

    def __init__(self, entry: ModelEntry, key: ApiKey) -> None:
        """Keep the settings; nothing is opened."""
        self._entry = entry
        self._key = key
        self._model = entry.model or DEFAULT_MODEL
        self._family = ClaudeFamily(self._model)
        self._faults = SdkFaults(self.name, key, entry.timeout_seconds)
        self._opening = SdkOpening(self._new_client, self._faults)

    def __repr__(self) -> str:
        """The model, without its key."""
        return f"AnthropicModel({self._model!r})"

    @property
    def name(self) -> str:
        """`anthropic:MODEL`."""
        return f"anthropic:{self._model}"

    @property
    def traits(self) -> ModelTraits:
        """What Anthropic documents, and what the entry says in its place."""
        images = self._entry.images
        return ModelTraits(
            images=self._family.is_claude if images is None else images,
            schemas=self._family.takes_schemas,
            context_tokens=self._entry.context_tokens or self._family.context_tokens,
        )

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ReplyDelta, None]:
        """The reply as it is written (`POST /v1/messages` of the Claude API).

        Raises:
            ModelUnavailable: no connection, nothing in time, a refused key or request, a used up
                quota, or a reply without text; the message says what to do.
        """
        self._faults.check_key()
        client = await self._opening.client()
        params = await asyncio.to_thread(self._params, request)
        reply = AnthropicReply(self._faults)
        ask = client.messages.with_streaming_response.create
        with translated(lambda error: self._translate(error, reply)):
            async with ask(**params) as answer:
                self._check_type(answer.http_response)
                try:
                    async with aclosing(_documents(answer.http_response)) as documents:
                        async for document in documents:
                            for delta in reply.take(document):
                                yield delta
                except Exception:
                    yield reply.so_far  # it is billed all the same
                    raise
            for delta in reply.end():
                yield delta

    async def aclose(self) -> None:
        """Close the connections; safe to call twice."""
        if (client := self._opening.take()) is not None:
            await client.close()

    def _new_client(self) -> "AsyncAnthropic":
        from anthropic import AsyncAnthropic

        from modules.models.hosted.sdk.http import SdkHttp

        base_url = self._entry.base_url or DEFAULT_BASE_URL
        http = SdkHttp(
            base_url,
            {"authorization": f"Bearer {self._key.value}", "x-api-key": ""},
            self._entry.timeout_seconds,
        )
        client = AsyncAnthropic(
            api_key=self._key.value,
            base_url=base_url,
            http_client=http.client,
            max_retries=0,
            # Else variables of the environment could send prompts to a collector of traces.
            open_telemetry=False,
        )
        # Imports the resource's module, which takes its time.
        _ = client.messages.with_streaming_response
        return client

    def _params(self, request: ModelRequest) -> "MessageCreateParamsStreaming":
        from modules.models.hosted.claude.request import message_params

        return message_params(self._family, self._entry, request)

    def _check_type(self, response: "httpx2.Response") -> None:
        """Refuse a success that is no stream of events, such as a proxy's page."""
        content_type: str = response.headers.get("content-type", "")
        if EVENT_STREAM not in content_type.lower():
            raise self._faults.unreadable(content_type[:80] or "no content type")

    def _translate(self, error: Exception, reply: AnthropicReply) -> ModelUnavailable | None:
        """What the error means for the user, None if it is a bug rather than an outage."""
        from anthropic import APIConnectionError, APIStatusError

        if isinstance(error, APIStatusError):
            return self._refusal(error)
        if isinstance(error, APIConnectionError):
            cause = error.__cause__ if isinstance(error.__cause__, Exception) else error
            ours = self._faults.of_transport(cause, is_writing=False)
            return ours or self._faults.unreachable(cause)
        if isinstance(error, EventTooLong):
            return self._faults.unavailable(
                f"sent an event of more than {error}; choose another with --model"
            )
        if isinstance(error, _NoDocument):
            return self._faults.unreadable("an event that is no JSON object")
        return self._faults.of_transport(error, is_writing=reply.has_begun)

    def _refusal(self, error: "APIStatusError") -> ModelUnavailable:
        headers = error.response.headers
        # What the SDK itself would go by; a limit on spending comes as 429 like any other.
        is_final: bool = headers.get("x-should-retry", "") == "false"
        code = error.error_code or ""
        return self._faults.refusal(
            error.status_code,
            error.api_message or error.message,
            spent=is_final or code.endswith("spend_limit_reached"),
            retry_after_seconds=retry_after_seconds(headers),
        )


class _NoDocument(Exception):
    """The data of an event is no JSON object."""


async def _documents(response: "httpx2.Response") -> AsyncGenerator[JsonObject, None]:
    """The data of each event, up to the one that ends the reply.

    Raises:
        EventTooLong: an event is over the bound.
        _NoDocument: an event holds something else.
    """
    from modules.models.hosted.sdk.http import EVENT_BYTES_MAX, Pace

    parser, pace = EventParser(EVENT_BYTES_MAX), Pace()
    async with aclosing(response.aiter_raw()) as pieces:
        async for piece in pieces:
            for event in parser.feed(piece):
                document = _document(event.data)
                if document.get("type") == LAST_EVENT:
                    await _drain(pieces)
                    return
                yield document
                await pace.keep()


def _document(data: bytes) -> JsonObject:
    try:
        value: Json = from_json(data)
    except ValueError:
        raise _NoDocument from None
    if not isinstance(value, dict):
        raise _NoDocument
    return value


async def _drain(pieces: AsyncIterator[bytes]) -> None:
    """Read to the end, if that comes soon: only then the connection can be used again."""
    with suppress(Exception):  # the reply is whole, whatever becomes of the connection
        async with asyncio.timeout(LINGER_SECONDS):
            async for _ in pieces:
                pass

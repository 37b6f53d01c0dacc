"""Anthropic's Claude models through the anthropic SDK (its async client, streaming).

The SDK makes and sends the requests; the events of the reply are read here, because the SDK's own
reader takes quadratic time on hostile streams. What a model takes, the service says (its Models
API): it is asked where an entry says how to think, else only once a request was refused, for most
requests hold nothing that a current model refuses. Anthropic's variables in the environment
(ANTHROPIC_BASE_URL, ANTHROPIC_AUTH_TOKEN, ANTHROPIC_PROFILE, keys in ANTHROPIC_CUSTOM_HEADERS, …)
don't count: which service is asked with which key, the entry alone says.

Requests follow platform.claude.com, "Create a Message" of API version 2026-10-21, which knows no
temperature: a request that names one is refused.

Heavy: imports anthropic (1.3 s). `model.py` beside imports this in a thread.
"""

import asyncio
import base64
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, aclosing
from http import HTTPStatus
from typing import Final, cast

from anthropic import AsyncAnthropic
from anthropic.types.image_block_param import ImageBlockParam
from anthropic.types.message_create_params import MessageCreateParamsStreaming
from anthropic.types.output_config_param import OutputConfigParam
from anthropic.types.text_block_param import TextBlockParam
from anthropic.types.thinking_config_param import ThinkingConfigParam

from config.models_file import ModelEntry, ThinkingEffort
from core.base.frozen import frozen
from core.errors import ModelUnavailable
from core.ports import ImageInput, ModelRequest, ReplyDelta
from core.values import Json, JsonObject
from modules.models.hosted.anthropic_reply import AnthropicReply
from modules.models.http.client import ServiceClient, unwrapped
from modules.models.http.errors import ServiceError, ServiceErrors
from modules.models.http.reply import ServiceReply, deltas_of
from modules.models.serving.budget import output_limit

OUTPUT_TOKENS = 32_000
"""`max_tokens` unless an entry says: every model since Claude 4 takes it, thinking included."""

LEAST_OUTPUT_TOKENS = 4096
"""The same where the service does not say, such as with others who speak this protocol."""

LEAST_BUDGET_TOKENS = 1024
"""The least that a model may be given to think, where it is given a number."""

CACHED_CHARACTERS_MIN = 2000
"""A shorter prefix is below the 512 tokens that the least demanding model caches."""

THINKING_ROOM_TOKENS = 16_384
"""What a model that thinks gets on top of what a request allows for its reply."""

_BUDGETS: Final[dict[ThinkingEffort, int]] = {"low": 2048, "medium": 8192, "high": 16_384}

_OFF: Final = ("disabled", "between_tools")
"""The values of `thinking.type` that turn it off, the better one first."""

EVENT_STREAM = "text/event-stream"


@frozen
class ClaudeFacts:
    """What a model takes: `output_tokens` at most, schemas, and how its thinking is set.

    `adaptive`: by an effort; `budget`: by a number of tokens; `off`: the `thinking.type` that
    turns it off, None where nothing does. What is said here by default holds of the newest.
    """

    output_tokens: int | None = None
    schemas: bool = True
    adaptive: bool = True
    budget: bool = False
    off: str | None = "disabled"


LEAST = ClaudeFacts(LEAST_OUTPUT_TOKENS, schemas=False, adaptive=False)
"""What every model takes, also of others who speak this protocol."""


class AnthropicService:
    """One Claude model with one client."""

    def __init__(self, entry: ModelEntry, errors: ServiceErrors) -> None:
        """Make the client; takes its time, so call it in a thread.

        Raises:
            ModelUnavailable: the settings of the environment are of no use.
        """
        self._entry = entry
        self._errors = errors
        self._facts: ClaudeFacts | None = None
        key = errors.key.value if errors.key is not None else ""
        headers = {"authorization": f"Bearer {key}", "x-api-key": ""}
        self._client = AsyncAnthropic(
            api_key=key,
            base_url=errors.base_url,
            http_client=ServiceClient(errors, headers),
            max_retries=0,
            # Else variables of the environment could send prompts to a collector of traces.
            open_telemetry=False,
        )
        # Imports the resource's module, which takes its time.
        self._create = self._client.messages.with_streaming_response.create

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ReplyDelta, None]:
        """The reply as it is written (`POST /v1/messages` of the Claude API).

        Raises:
            ModelUnavailable: see `HostedModel.stream`.
        """
        async with AsyncExitStack() as stack:
            reply = await self._asked(stack, request)
            if reply.media_type != EVENT_STREAM:  # such as a proxy's page
                raise reply.unreadable(await reply.beginning())
            events = reply.objects(reply.events())
            reader = AnthropicReply(self._errors)
            async with aclosing(deltas_of(events, reader, reply.expect_end)) as deltas:
                async for delta in deltas:
                    yield delta

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _asked(self, stack: AsyncExitStack, request: ModelRequest) -> ServiceReply:
        """The reply to a request that the model takes."""
        if self._facts is None and self._entry.thinking is not None:
            self._facts = await self._asked_facts() or ClaudeFacts()
        facts = self._facts or ClaudeFacts()
        params = await asyncio.to_thread(message_params, facts, self._entry, request)
        try:
            return await self._sent(stack, params)
        except ServiceError as error:
            if error.status != HTTPStatus.BAD_REQUEST or self._facts is not None:
                raise
            self._facts = await self._asked_facts() or LEAST
            narrower = await asyncio.to_thread(message_params, self._facts, self._entry, request)
            if narrower == params:
                raise
        return await self._sent(stack, narrower)

    async def _sent(
        self, stack: AsyncExitStack, params: MessageCreateParamsStreaming
    ) -> ServiceReply:
        with unwrapped():
            answer = await stack.enter_async_context(self._create(**params))
        return ServiceReply(answer.http_response, self._errors)

    async def _asked_facts(self) -> ClaudeFacts | None:
        """What the service says of the model (`GET /v1/models/MODEL`); None if it does not.

        Raises:
            ModelUnavailable: it can't be reached (transient).
        """
        retrieve = self._client.models.with_streaming_response.retrieve
        try:
            with unwrapped():
                async with retrieve(self._entry.model or "") as answer:
                    return facts_in(await ServiceReply(answer.http_response, self._errors).json())
        except ModelUnavailable as error:
            if error.transient:
                raise
            return None


def facts_in(document: JsonObject) -> ClaudeFacts:
    """The facts in an answer of the Models API ("Get a model"); what is missing is not taken."""
    most, capabilities = document.get("max_tokens"), document.get("capabilities")
    return ClaudeFacts(
        most if isinstance(most, int) and most > 0 else LEAST_OUTPUT_TOKENS,
        schemas=_can(capabilities, "structured_outputs"),
        adaptive=_can(capabilities, "thinking", "types", "adaptive"),
        budget=_can(capabilities, "thinking", "types", "enabled"),
        off=next((t for t in _OFF if _can(capabilities, "thinking", "types", t)), None),
    )


def _can(value: Json, *keys: str) -> bool:
    for key in (*keys, "supported"):
        value = value.get(key) if isinstance(value, dict) else None
    return value is True


def message_params(
    facts: ClaudeFacts, entry: ModelEntry, request: ModelRequest
) -> MessageCreateParamsStreaming:
    """The body. Encodes images, a millisecond a megabyte: call it in a thread if there are any.

    The prefix of the prompt goes as the system message, with a mark behind it up to which the
    service keeps it for five minutes.
    """
    has_user_text = bool(request.user.strip())
    limit = _output_limit(facts, entry, request)
    text: TextBlockParam = {
        "type": "text",
        "text": request.user if has_user_text else request.prompt,
    }
    params: MessageCreateParamsStreaming = {
        "model": entry.model or "",
        "max_tokens": limit,
        "messages": [
            {"role": "user", "content": [*(_image(image) for image in request.images), text]}
        ],
        "stream": True,
    }
    if has_user_text and request.system.strip():
        params["system"] = [_system(request.system)]
    if (thinking := _thinking(facts, entry.thinking, limit)) is not None:
        params["thinking"] = cast("ThinkingConfigParam", thinking)
    if output := _output_config(facts, entry, request):
        params["output_config"] = output
    return params


def _output_limit(facts: ClaudeFacts, entry: ModelEntry, request: ModelRequest) -> int:
    """`max_tokens`: what the entry says is for all that is written, as it is billed."""
    most = entry.max_output_tokens or OUTPUT_TOKENS
    most = min(most, facts.output_tokens or most)
    room = 0 if entry.thinking == "off" and facts.off is not None else THINKING_ROOM_TOKENS
    return output_limit(request, most, room) or most


def _thinking(
    facts: ClaudeFacts, effort: ThinkingEffort | None, room_tokens: int
) -> JsonObject | None:
    """The value of `thinking`; None leaves it out. `room_tokens` is the output's limit."""
    if effort is None:
        return None
    if effort == "off":
        return {"type": facts.off} if facts.off is not None else None
    if facts.adaptive:
        # By default the newest send their thoughts without a word of text.
        return {"type": "adaptive", "display": "summarized"}
    budget = min(_BUDGETS[effort], room_tokens // 2)
    if not facts.budget or budget < LEAST_BUDGET_TOKENS:
        return None
    return {"type": "enabled", "budget_tokens": budget}


def _output_config(
    facts: ClaudeFacts, entry: ModelEntry, request: ModelRequest
) -> OutputConfigParam:
    config: JsonObject = {}
    if entry.thinking == "off":
        if facts.off is None:
            config["effort"] = "low"
    elif entry.thinking is not None and facts.adaptive:
        config["effort"] = entry.thinking
    if request.schema is not None and facts.schemas:
        config["format"] = {"type": "json_schema", "schema": request.schema}
    return cast("OutputConfigParam", config)


def _system(text: str) -> TextBlockParam:
    block: TextBlockParam = {"type": "text", "text": text}
    if len(text) >= CACHED_CHARACTERS_MIN:
        block["cache_control"] = {"type": "ephemeral"}
    return block


def _image(image: ImageInput) -> ImageBlockParam:
    data = base64.standard_b64encode(image.data).decode("ascii")
    return {
        "type": "image",
        "source": {"type": "base64", "media_type": image.media_type, "data": data},
    }

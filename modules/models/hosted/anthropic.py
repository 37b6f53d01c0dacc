"""Anthropic's Claude models through the anthropic SDK (its async client, streaming).

The SDK makes and sends the requests; the events of the reply are read here, because the SDK's own
reader takes quadratic time on hostile streams. What a model takes, the service says (its Models
API): it is asked where an entry says how to think, else only once a request was refused, for most
requests hold nothing that a current model refuses. Anthropic's variables in the environment
(ANTHROPIC_BASE_URL, ANTHROPIC_AUTH_TOKEN, ANTHROPIC_PROFILE, keys in ANTHROPIC_CUSTOM_HEADERS, …)
don't count: which service is asked with which key, the entry alone says.

Heavy: imports anthropic (1.3 s). `sdk.py` beside imports it in a thread.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, aclosing
from http import HTTPStatus

from anthropic import AsyncAnthropic
from anthropic.types.message_create_params import MessageCreateParamsStreaming

from config.models_file import ModelEntry
from core.errors import ModelUnavailable
from core.ports import ModelRequest, ReplyDelta
from modules.models.credentials.keys import ApiKey
from modules.models.hosted.anthropic_reply import AnthropicReply
from modules.models.hosted.anthropic_request import (
    LEAST,
    ClaudeFacts,
    facts_in,
    message_params,
)
from modules.models.http.client import ServiceClient, unwrapped
from modules.models.http.errors import ServiceError, ServiceErrors
from modules.models.http.reply import ServiceReply, deltas_of

EVENT_STREAM = "text/event-stream"


class AnthropicService:
    """One Claude model with one client."""

    def __init__(self, entry: ModelEntry, key: ApiKey, errors: ServiceErrors) -> None:
        """Make the client; takes its time, so call it in a thread.

        Raises:
            ModelUnavailable: the settings of the environment are of no use.
        """
        self._entry = entry
        self._errors = errors
        self._facts: ClaudeFacts | None = None
        base_url = entry.base_url or ""
        headers = {"authorization": f"Bearer {key.value}", "x-api-key": ""}
        self._client = AsyncAnthropic(
            api_key=key.value,
            base_url=base_url,
            http_client=ServiceClient(base_url, headers, errors, entry.timeout_seconds),
            max_retries=0,
            # Else variables of the environment could send prompts to a collector of traces.
            open_telemetry=False,
        )
        # Imports the resource's module, which takes its time.
        self._create = self._client.messages.with_streaming_response.create

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ReplyDelta, None]:
        """The reply as it is written (`POST /v1/messages` of the Claude API).

        Raises:
            ModelUnavailable: see `SdkModel.stream`.
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

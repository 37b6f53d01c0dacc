"""Google's Gemini models through the google-genai SDK (its async client, streaming).

After ai.google.dev of November 2026, "Gemini thinking": generations up to 2.5 think by a budget in
tokens, later ones by a level, and are not to be given a temperature. Which level or budget is the
least that a model takes, its refusals say.

Google's variables in the environment (GOOGLE_GENAI_USE_VERTEXAI, GOOGLE_GEMINI_BASE_URL,
GOOGLE_GENAI_API_VERSION, GOOGLE_API_KEY, …) don't count: which service is asked with which key,
the entry alone says.

Heavy: imports google.genai (0.6 s). `model.py` beside imports this in a thread.
"""

import logging
import re
import warnings
from collections.abc import AsyncGenerator, Generator
from contextlib import aclosing, contextmanager
from http import HTTPStatus
from typing import Final, cast

from google.genai import Client
from google.genai.client import DebugConfig
from google.genai.errors import APIError
from google.genai.types import (
    AutomaticFunctionCallingConfig,
    Content,
    GenerateContentConfig,
    GenerateContentResponse,
    HttpOptions,
    Part,
    ThinkingConfig,
    ThinkingLevel,
)

from config.models_file import ModelEntry, ThinkingEffort
from core.ports import ModelRequest, ReplyDelta
from core.values import Json
from modules.models.hosted.gemini_reply import GeminiReply, few_values
from modules.models.http.client import ServiceClient, unwrapped
from modules.models.http.error_document import ErrorDocument, error_document
from modules.models.http.errors import ServiceError, ServiceErrors
from modules.models.http.reply import deltas_of
from modules.models.serving.budget import output_limit

API_VERSION = "v1beta"
"""The one that knows all models, previews and open weights too."""

JSON_TYPE = "application/json"

THINKING_ROOM_TOKENS = 16_384
"""What a model that thinks gets on top of what a request allows for its reply."""

_LEVELS: Final[dict[ThinkingEffort, tuple[ThinkingLevel, ...]]] = {
    "off": (ThinkingLevel.MINIMAL, ThinkingLevel.LOW),
    "low": (ThinkingLevel.LOW,),
    "medium": (ThinkingLevel.MEDIUM, ThinkingLevel.HIGH),
    "high": (ThinkingLevel.HIGH,),
}
"""The best value first, then those for models that refuse it."""

_BUDGETS: Final[dict[ThinkingEffort, tuple[int, ...]]] = {
    "off": (0, 128),
    "low": (1024,),
    "medium": (8192,),
    "high": (24_576,),
}

_BY_BUDGET: Final = re.compile(r"gemini-[12](?![0-9])")

_UNREADABLE = (ValueError, TypeError, AttributeError, LookupError, RecursionError)
"""What the SDK raises on bodies that are not of its format."""


class GeminiService:
    """One Gemini model with one client."""

    def __init__(self, entry: ModelEntry, errors: ServiceErrors) -> None:
        """Make the client; takes its time, so call it in a thread.

        Raises:
            ModelUnavailable: the settings of the environment are of no use.
        """
        # Without a handler the SDK's warnings, such as on two keys, would go to stderr raw; so
        # would those that quote what the service sent in the place of a word that it knows.
        logging.getLogger("google_genai").addHandler(logging.NullHandler())
        warnings.filterwarnings("ignore", category=UserWarning, module=r"google\.genai")
        self._model = entry.model or ""
        self._errors = errors
        by_budget, is_gemini = _BY_BUDGET.search(self._model) is not None, "gemini" in self._model
        self._output_tokens_max = entry.max_output_tokens
        self._room_tokens = 0 if by_budget and entry.thinking == "off" else THINKING_ROOM_TOKENS
        self._takes_temperature = by_budget or not is_gemini
        self._takes_schemas = is_gemini
        # The values for its effort that it has not refused, of which the first is sent.
        self._thinking = _thinking_values(entry.thinking, by_budget=by_budget)
        key = errors.key.value if errors.key is not None else ""
        headers = {"x-goog-api-key": key, "authorization": ""}
        self._http = ServiceClient(errors, headers, few_values)
        self._client = Client(
            vertexai=False,
            api_key=key,
            http_options=HttpOptions(
                base_url=errors.base_url,
                api_version=API_VERSION,
                httpx_async_client=self._http,
                # The SDK would read all certificate authorities twice more, once for websockets.
                client_args={"verify": self._http.context},
                async_client_args={"ssl": self._http.context},
            ),
            # In the place of what GOOGLE_GENAI_CLIENT_MODE and its like say.
            debug_config=DebugConfig(client_mode=None, replays_directory=None, replay_id=None),
        )

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ReplyDelta, None]:
        """The reply as it is written (`models.streamGenerateContent` of the Gemini API).

        Raises:
            ModelUnavailable: see `HostedModel.stream`.
        """
        reader = GeminiReply(self._errors)
        try:
            async with aclosing(deltas_of(self._pieces(request), reader)) as deltas:
                async for delta in deltas:
                    yield delta
        finally:
            # The generators of the SDK are four deep, and close when they are collected.
            if (response := self._http.take()) is not None:
                await response.aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()
        self._client.close()

    async def _pieces(self, request: ModelRequest) -> AsyncGenerator[GenerateContentResponse]:
        """What the SDK reads; its errors are ours.

        Raises:
            ModelUnavailable: see `HostedModel.stream`.
        """
        while True:  # each round takes one value for thinking away
            thinking = self._thinking
            try:
                with self._translated():
                    async for piece in await self._client.aio.models.generate_content_stream(
                        model=self._model,
                        contents=_contents(request),
                        config=self._config(request, thinking[0] if thinking else None),
                    ):
                        yield piece
                return
            except ServiceError as error:
                named = "thinking" in error.said.message.lower()
                if error.status != HTTPStatus.BAD_REQUEST or not (named and thinking):
                    raise
                self._thinking = thinking[1:]

    def _config(
        self, request: ModelRequest, thinking: ThinkingConfig | None
    ) -> GenerateContentConfig:
        """Everything but the user's turn."""
        has_user_text = bool(request.user.strip())
        schema = request.schema if self._takes_schemas else None
        return GenerateContentConfig(
            system_instruction=request.system if has_user_text and request.system else None,
            temperature=request.temperature if self._takes_temperature else None,
            seed=request.seed,
            max_output_tokens=output_limit(request, self._output_tokens_max, self._room_tokens),
            response_mime_type=JSON_TYPE if schema is not None else None,
            response_json_schema=schema,
            thinking_config=thinking,
            # Requests of its own are nothing that an SDK should send.
            automatic_function_calling=AutomaticFunctionCallingConfig(disable=True),
            automatic_continuation=False,
        )

    @contextmanager
    def _translated(self) -> Generator[None]:
        try:
            with unwrapped():
                yield
        except APIError as error:  # in the middle of a stream
            details: object = getattr(error, "details", None)  # untyped in the SDK
            said = error_document(cast("Json", details))
            raise self._errors.in_reply(said or ErrorDocument()) from None
        except _UNREADABLE as error:
            raise self._errors.unreadable("", type(error).__name__.encode()) from None


def _thinking_values(effort: ThinkingEffort | None, *, by_budget: bool) -> list[ThinkingConfig]:
    """How long to think, with a summary of the thoughts; the best value first."""
    if effort is None:
        return []
    shown = True if effort != "off" else None
    if by_budget:
        return [
            ThinkingConfig(thinking_budget=tokens, include_thoughts=shown)
            for tokens in _BUDGETS[effort]
        ]
    return [
        ThinkingConfig(thinking_level=level, include_thoughts=shown) for level in _LEVELS[effort]
    ]


def _contents(request: ModelRequest) -> Content:
    """The user's turn: images first, as Google advises, then the text.

    A prompt that is all prefix goes here too, because an empty turn is refused.
    """
    images = [
        Part.from_bytes(data=image.data, mime_type=image.media_type) for image in request.images
    ]
    text = request.user if request.user.strip() else request.prompt
    return Content(role="user", parts=[*images, Part.from_text(text=text)])

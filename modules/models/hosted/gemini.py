"""Google's Gemini models through the google-genai SDK (its async client, streaming).

Google's variables in the environment (GOOGLE_GENAI_USE_VERTEXAI, GOOGLE_GEMINI_BASE_URL,
GOOGLE_GENAI_API_VERSION, GOOGLE_API_KEY, …) don't count: which service is asked with which key,
the entry alone says.

Heavy: imports google.genai (0.6 s). `sdk.py` beside imports it in a thread.
"""

import logging
import warnings
from collections.abc import AsyncGenerator, Generator
from contextlib import aclosing, contextmanager
from dataclasses import replace
from http import HTTPStatus
from typing import cast

from google.genai import Client
from google.genai.client import DebugConfig
from google.genai.errors import APIError
from google.genai.types import GenerateContentResponse, HttpOptions

from config.models_file import ModelEntry
from core.ports import ModelRequest, ReplyDelta
from core.values import Json
from modules.models.credentials.keys import ApiKey
from modules.models.hosted.gemini_events import few_values
from modules.models.hosted.gemini_reply import GeminiReply
from modules.models.hosted.gemini_request import contents, generation_config, settings_of
from modules.models.http.client import ServiceClient, unwrapped
from modules.models.http.error_document import ErrorDocument, error_document
from modules.models.http.errors import ServiceError, ServiceErrors
from modules.models.http.reply import deltas_of

API_VERSION = "v1beta"
"""The one that knows all models, previews and open weights too."""

_UNREADABLE = (ValueError, TypeError, AttributeError, LookupError, RecursionError)
"""What the SDK raises on bodies that are not of its format."""


class GeminiService:
    """One Gemini model with one client."""

    def __init__(self, entry: ModelEntry, key: ApiKey, errors: ServiceErrors) -> None:
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
        self._settings = settings_of(entry)
        headers = {"x-goog-api-key": key.value, "authorization": ""}
        base_url = entry.base_url or ""
        self._http = ServiceClient(base_url, headers, errors, entry.timeout_seconds, few_values)
        self._client = Client(
            vertexai=False,
            api_key=key.value,
            http_options=HttpOptions(
                base_url=base_url,
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
            ModelUnavailable: see `SdkModel.stream`.
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
            ModelUnavailable: see `SdkModel.stream`.
        """
        while True:  # each round takes one value for thinking away
            settings = self._settings
            try:
                with self._translated():
                    async for piece in await self._client.aio.models.generate_content_stream(
                        model=self._model,
                        contents=contents(request),
                        config=generation_config(settings, request),
                    ):
                        yield piece
                return
            except ServiceError as error:
                named = "thinking" in error.said.message.lower()
                if error.status != HTTPStatus.BAD_REQUEST or not (named and settings.thinking):
                    raise
                self._settings = replace(settings, thinking=settings.thinking[1:])

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

"""Google's Gemini models through the google-genai SDK (its async client, streaming).

The SDK costs 0.6 s to import, so that happens at the first request, in a thread. Nothing is
tried twice here; the manager of models does that. Google's variables in the environment
(GOOGLE_GENAI_USE_VERTEXAI, GOOGLE_GEMINI_BASE_URL, GOOGLE_GENAI_API_VERSION, GOOGLE_API_KEY, …)
don't count: which service is asked with which key, the entry alone says.
"""

import logging
import warnings
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from config.models_file import ModelEntry
from core.base.retry_after import retry_after_seconds
from core.errors import ModelUnavailable
from core.ports import ModelRequest, ModelTraits, ReplyDelta
from core.values import Json
from modules.models.credentials.api_key import ApiKey
from modules.models.hosted.google.errors import error_details
from modules.models.hosted.google.family import CONTEXT_TOKENS, GeminiFamily
from modules.models.hosted.sdk.errors import SdkFaults
from modules.models.hosted.sdk.opening import SdkOpening, translated

if TYPE_CHECKING:
    import httpx2
    from google.genai import Client
    from google.genai.errors import APIError
    from google.genai.types import GenerateContentResponse

    from modules.models.hosted.google.reply import GeminiReply
    from modules.models.hosted.sdk.http import SdkHttp

DEFAULT_MODEL = "gemini-2.5-flash"
DEFAULT_BASE_URL = "https://generativelanguage.googleapis.com/"

EVENT_VALUES_MAX = 500
"""JSON values in one event: a piece of a reply has some 50."""

_UNREADABLE = (ValueError, TypeError, AttributeError, LookupError, RecursionError)
"""What the SDK raises on bodies that are not of its format."""


@dataclass(frozen=True, slots=True)
class _Opened:
    """The SDK's client on the HTTP client under it."""

    client: "Client"
    http: "SdkHttp"


class GeminiModel:
    """One Gemini model with one client, opened at the first request."""

    def __init__(self, entry: ModelEntry, key: ApiKey) -> None:
        """Keep the settings; nothing is opened."""
        self._entry = entry
        self._key = key
        self._model = entry.model or DEFAULT_MODEL
        self._family = GeminiFamily(self._model)
        self._faults = SdkFaults(self.name, key, entry.timeout_seconds)
        self._opening = SdkOpening(self._new_client, self._faults)

    def __repr__(self) -> str:
        """The model, without its key."""
        return f"GeminiModel({self._model!r})"

    @property
    def name(self) -> str:
        """`gemini:MODEL`."""
        return f"gemini:{self._model}"

    @property
    def traits(self) -> ModelTraits:
        """What Google documents, and what the entry says in its place."""
        images, is_gemini = self._entry.images, self._family.is_gemini
        return ModelTraits(
            images=is_gemini if images is None else images,
            schemas=is_gemini,
            context_tokens=self._entry.context_tokens or (CONTEXT_TOKENS if is_gemini else None),
        )

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ReplyDelta, None]:
        """The reply as it is written (`models.streamGenerateContent` of the Gemini API).

        Raises:
            ModelUnavailable: no connection, nothing in time, a refused key or prompt, a used up
                quota, or a reply without text; the message says what to do.
        """
        self._faults.check_key()
        opened = await self._opening.client()

        from modules.models.hosted.google.reply import GeminiReply
        from modules.models.hosted.sdk.http import Pace

        reply, pace = GeminiReply(self._faults), Pace()
        with translated(lambda error: self._translate(error, reply)):
            pieces = await self._ask(opened, request)
            response: httpx2.Response | None = None
            try:
                async for piece in pieces:
                    response = response or opened.http.take()
                    for delta in reply.take(piece):
                        yield delta
                    await pace.keep()
            except Exception:
                yield reply.so_far  # it is billed all the same
                raise
            finally:
                # The generators of the SDK are four deep, and close when they are collected.
                if (response := response or opened.http.take()) is not None:
                    await response.aclose()
            for delta in reply.end():
                yield delta

    async def aclose(self) -> None:
        """Close the connections; safe to call twice."""
        if (opened := self._opening.take()) is not None:
            await opened.http.aclose()
            opened.client.close()

    async def _ask(
        self, opened: _Opened, request: ModelRequest
    ) -> AsyncIterator["GenerateContentResponse"]:
        from modules.models.hosted.google.request import contents, generation_config

        return await opened.client.aio.models.generate_content_stream(
            model=self._model,
            contents=contents(request),
            config=generation_config(self._family, self._entry, request),
        )

    def _new_client(self) -> _Opened:
        from google.genai import Client
        from google.genai.client import DebugConfig
        from google.genai.types import HttpOptions

        from modules.models.hosted.google.rehearsal import rehearse, silent_client
        from modules.models.hosted.sdk.http import SdkHttp

        # Without a handler the SDK's warnings, such as on two keys, would go to stderr raw; so
        # would those that quote what the service sent in the place of a word that it knows.
        logging.getLogger("google_genai").addHandler(logging.NullHandler())
        warnings.filterwarnings("ignore", category=UserWarning, module=r"google\.genai")
        base_url = self._entry.base_url or DEFAULT_BASE_URL
        http = SdkHttp(
            base_url,
            {"x-goog-api-key": self._key.value, "authorization": ""},
            self._entry.timeout_seconds,
            values_max=EVENT_VALUES_MAX,
        )
        client = Client(
            vertexai=False,
            api_key=self._key.value,
            http_options=HttpOptions(
                base_url=base_url,
                api_version=self._family.api_version,
                httpx_client=silent_client(),
                httpx_async_client=http.client,
                # The SDK would read all certificate authorities once more, for websockets.
                async_client_args={"ssl": http.context},
            ),
            # In the place of what GOOGLE_GENAI_CLIENT_MODE and its like say.
            debug_config=DebugConfig(client_mode=None, replays_directory=None, replay_id=None),
        )
        rehearse(client, self._family)
        return _Opened(client, http)

    def _translate(self, error: Exception, reply: "GeminiReply") -> ModelUnavailable | None:
        """What the error means for the user, None if it is a bug rather than an outage."""
        from google.genai.errors import APIError

        if isinstance(error, APIError):
            return self._refusal(error)
        ours = self._faults.of_transport(error, is_writing=reply.has_begun)
        if ours is None and isinstance(error, _UNREADABLE):
            ours = self._faults.unreadable(type(error).__name__)
        return ours

    def _refusal(self, error: "APIError") -> ModelUnavailable:
        import httpx2

        # Both are untyped in the SDK.
        details = error_details(cast("Json", getattr(error, "details", None)))
        response: object = getattr(error, "response", None)
        asked = (
            retry_after_seconds(response.headers) if isinstance(response, httpx2.Response) else None
        )
        return self._faults.refusal(
            error.code,
            str(error.message or error.status or ""),
            key_refused="API_KEY_INVALID" in details.reasons,
            spent=details.is_spent,
            retry_after_seconds=asked if asked is not None else details.retry_after_seconds,
        )

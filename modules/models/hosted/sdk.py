"""Models behind a vendor's SDK: Google's and Anthropic's.

An SDK takes 0.6 s and 1.3 s of CPU to import, so that happens at the first request, in a thread,
while servers start; `gemini.py` and `anthropic.py` beside import it, and they alone. What a model
can do is known before.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final, Protocol

from config.models_file import ModelEntry
from core.ports import ModelRequest, ModelTraits, ReplyDelta
from modules.models.credentials.keys import ApiKey
from modules.models.http.errors import ServiceErrors, service_advice

DEFAULT_BASE_URLS: Final = {
    "gemini": "https://generativelanguage.googleapis.com/",
    "anthropic": "https://api.anthropic.com",
}

CONTEXT_TOKENS: Final = {"gemini": 1_048_576, "anthropic": 200_000}
"""What every model of the service can hold; who needs more of one says so in its entry."""

FAMILIES: Final = {"gemini": "gemini", "anthropic": "claude"}
"""What stands in the names of models that see images. The services
serve others too: Google its open weights, and whoever else speaks Anthropic's protocol."""


class SdkBackend(Protocol):
    """The service as its SDK speaks to it."""

    def stream(self, request: ModelRequest) -> AsyncGenerator[ReplyDelta, None]:
        """The reply as it is written."""
        ...

    async def aclose(self) -> None:
        """Close the connections."""
        ...


class SdkModel:
    """One model of one service, opened at the first request. A `core.ports.TextModel`."""

    def __init__(self, entry: ModelEntry, key: ApiKey) -> None:
        """Keep the settings; nothing is opened. `entry.model` is filled in."""
        self.name = f"{entry.type}:{entry.model}"
        family = FAMILIES[entry.type]
        known = family in (entry.model or "")
        self.traits = ModelTraits(
            images=known if entry.images is None else entry.images,
            context_tokens=entry.context_tokens or (CONTEXT_TOKENS[entry.type] if known else None),
        )
        base_url = entry.base_url or DEFAULT_BASE_URLS[entry.type]
        self._entry = entry.model_copy(update={"base_url": base_url})
        self._key = key
        advice = service_advice(entry, key.origin)
        self._errors = ServiceErrors(
            f"model {self.name}", base_url, advice, key, entry.timeout_seconds
        )
        self._opening = asyncio.Lock()
        self._backend: SdkBackend | None = None

    def __repr__(self) -> str:
        """The model, without its key."""
        return f"SdkModel({self.name})"

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ReplyDelta, None]:
        """The reply as it is written.

        Raises:
            ModelUnavailable: no connection, nothing in time, a refused key or prompt, a used up
                quota, or a reply without text; the message says what to do.
        """
        self._errors.check_key()
        async with self._opening:
            if self._backend is None:
                self._backend = await asyncio.to_thread(self._open)
            backend = self._backend
        async with aclosing(backend.stream(request)) as deltas:
            async for delta in deltas:
                yield delta

    async def aclose(self) -> None:
        """Close the connections; safe to call twice, and the next request opens new ones."""
        backend, self._backend = self._backend, None
        if backend is not None:
            await backend.aclose()

    def _open(self) -> SdkBackend:
        try:
            if self._entry.type == "gemini":
                from modules.models.hosted.gemini import GeminiService

                return GeminiService(self._entry, self._key, self._errors)
            from modules.models.hosted.anthropic import AnthropicService

            return AnthropicService(self._entry, self._key, self._errors)
        except ImportError as error:
            raise self._errors.unavailable(
                f"can't be asked: its SDK is not whole ({type(error).__name__}); install Cortex-R "
                "once more"
            ) from None

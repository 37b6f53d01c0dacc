"""Google's Gemini models through the google-genai SDK (its async client).

The SDK costs 0.6 s to import, so that happens at the first request, in a thread. Nothing is
tried twice here; whoever wants retries wraps a model in them. The key goes into a request header
only: exceptions of the SDK hold that header, so ours are raised without them as a cause.
"""

import asyncio
import logging
from typing import TYPE_CHECKING, cast

from core.errors import ModelUnavailable
from core.ports import ModelReply, ModelRequest
from core.turn import Usage
from modules.redaction import Redactor

if TYPE_CHECKING:
    from google.genai import Client
    from google.genai.errors import APIError
    from google.genai.types import GenerateContentResponse

REQUEST_TIMEOUT_SECONDS = 60.0
"""Bound on one request, from the first byte sent to the last received."""

_HTTP_LIBRARIES = frozenset({"httpx", "httpx2", "httpcore", "httpcore2", "aiohttp"})


class GeminiModel:
    """One Gemini model with one client, opened at the first request."""

    def __init__(
        self,
        model: str,
        api_key: str,
        *,
        key_name: str = "GEMINI_API_KEY",
        base_url: str | None = None,
        timeout_seconds: float = REQUEST_TIMEOUT_SECONDS,
    ) -> None:
        """Keep the settings.

        `key_name` is the environment variable that the key came from, for messages; `base_url`
        replaces Google's address (a proxy, or a test).
        """
        self._model = model
        self._api_key = api_key
        self._key_name = key_name
        self._base_url = base_url
        self._timeout_seconds = timeout_seconds
        self._redactor = Redactor({"API_KEY": api_key})
        self._opening = asyncio.Lock()
        self._client: Client | None = None

    def __repr__(self) -> str:
        """The model, without its key."""
        return f"GeminiModel({self._model!r})"

    @property
    def name(self) -> str:
        """`gemini:MODEL`."""
        return f"gemini:{self._model}"

    async def generate(self, request: ModelRequest) -> ModelReply:
        """Send the prompt, return the text (`models.generateContent` of the Gemini API).

        Raises:
            ModelUnavailable: no connection, no answer in time, a refused key or prompt, a used
                up quota, or a reply without text; the message says what to do.
        """
        client = await self._open()
        try:
            async with asyncio.timeout(self._timeout_seconds):
                response = await client.aio.models.generate_content(
                    model=self._model, contents=request.prompt
                )
        except TimeoutError:
            raise self._timed_out() from None
        except Exception as error:
            if (ours := self._translate(error)) is None:
                raise
            raise ours from None
        return ModelReply(self._text(response), _usage(response))

    async def aclose(self) -> None:
        """Close the connections; safe to call twice."""
        client, self._client = self._client, None
        if client is not None:
            await client.aio.aclose()
            client.close()

    async def _open(self) -> "Client":
        async with self._opening:
            if self._client is None:
                self._client = await asyncio.to_thread(self._new_client)
            return self._client

    def _new_client(self) -> "Client":
        from google.genai import Client
        from google.genai.types import HttpOptions

        # Without a handler the SDK's warnings, such as on two keys, would go to stderr raw.
        logging.getLogger("google_genai").addHandler(logging.NullHandler())
        return Client(
            vertexai=False,
            api_key=self._api_key,
            http_options=HttpOptions(
                base_url=self._base_url, timeout=int(self._timeout_seconds * 1000)
            ),
        )

    def _translate(self, error: Exception) -> ModelUnavailable | None:
        """What the error means for the user, None if it is a bug rather than an outage."""
        from google.genai.errors import APIError

        if isinstance(error, APIError):
            return self._refusal(error)
        libraries = {kind.__module__.partition(".")[0] for kind in type(error).__mro__}
        if libraries & _HTTP_LIBRARIES or isinstance(error, OSError):
            if "Timeout" in type(error).__name__:
                return self._timed_out()
            return self._unavailable(
                f"can't be reached ({type(error).__name__}); check the network connection, or "
                "work without it: --model offline"
            )
        if isinstance(error, ValueError | TypeError | AttributeError):
            # What the SDK raises on bodies that are not of its format.
            return self._unavailable(
                f"sent a reply that can't be read ({type(error).__name__}); "
                "is there a proxy in between that wants a login?"
            )
        return None

    def _refusal(self, error: "APIError") -> ModelUnavailable:
        said = self._redactor.text(str(error.message or error.status or "no explanation"))[:500]
        if error.code in (401, 403) or "API_KEY_INVALID" in _reasons(error):
            return self._unavailable(f"refused the key: {said}; check {self._key_name}")
        if error.code == 404:
            return self._unavailable(
                f"is not known to the service: {said}; name another model with --model "
                "gemini:MODEL or in config/models.json"
            )
        if error.code == 429:
            return self._unavailable(
                f"has no quota left: {said}; wait a minute, or check the key's plan and limits"
            )
        if error.code >= 500:
            return self._unavailable(
                f"is in trouble (HTTP {error.code}): {said}; try again in a moment, or choose "
                "another model with --model"
            )
        return self._unavailable(f"refused the request (HTTP {error.code}): {said}")

    def _text(self, response: "GenerateContentResponse") -> str:
        feedback = response.prompt_feedback
        if feedback is not None and feedback.block_reason is not None:
            raise self._unavailable(
                f"refused the prompt ({feedback.block_reason.value}); put the request in other "
                "words, or choose another model with --model"
            )
        # A reply that was cut off is still text; whoever reads it will find what is missing.
        if text := response.text:
            return text
        candidate = response.candidates[0] if response.candidates else None
        reason = candidate.finish_reason if candidate is not None else None
        raise self._unavailable(
            f"gave a reply without text ({reason.value if reason is not None else 'empty'}); "
            "put the request in other words, or choose another model with --model"
        )

    def _timed_out(self) -> ModelUnavailable:
        return self._unavailable(
            f"did not answer within {self._timeout_seconds:g} s; check the network connection, "
            "or try again"
        )

    def _unavailable(self, what: str) -> ModelUnavailable:
        return ModelUnavailable(f"model {self.name} {what}")


def _usage(response: "GenerateContentResponse") -> Usage:
    """Tokens as they are billed: thoughts count as output."""
    counts = response.usage_metadata
    if counts is None:
        return Usage(model_calls=1)
    return Usage(
        model_calls=1,
        input_tokens=counts.prompt_token_count or 0,
        output_tokens=(counts.candidates_token_count or 0) + (counts.thoughts_token_count or 0),
    )


def _reasons(error: "APIError") -> set[str]:
    """The machine-readable reasons of an error (google.rpc.ErrorInfo in `error.details`)."""
    found: set[str] = set()
    level: object = getattr(error, "details", None)  # untyped in the SDK
    for key in ("error", "details"):
        level = cast("dict[str, object]", level).get(key) if isinstance(level, dict) else None
    if isinstance(level, list):
        for detail in cast("list[object]", level):
            if isinstance(detail, dict):
                found.add(str(cast("dict[str, object]", detail).get("reason")))
    return found

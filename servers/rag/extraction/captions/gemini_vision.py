"""Pictures described by Gemini: ai.google.dev/api/generate-content, over plain HTTP."""

import base64
from typing import TYPE_CHECKING

from servers.rag.extraction.captions.captioner import CAPTION_CHARS_MAX, PROMPT
from servers.rag.extraction.captions.replies import post_json, text_at, values_at

if TYPE_CHECKING:
    import httpx2

KEY_VARIABLE = "GEMINI_API_KEY"
DEFAULT_MODEL = "gemini-3.5-flash-lite"
BASE_URL = "https://generativelanguage.googleapis.com"
ANSWER_SECONDS = 30.0
OUTPUT_TOKENS = 2_000


class GeminiCaptioner:
    """Describes pictures with one model; they leave this machine."""

    def __init__(
        self, model: str, key: str, client: "httpx2.Client", base_url: str = BASE_URL
    ) -> None:
        """`key` goes in a header, never into an address or a message."""
        self._model = model.removeprefix("models/")
        self._key = key
        self._client = client
        self._base_url = base_url

    @property
    def name(self) -> str:
        """`gemini:` and the model."""
        return f"gemini:{self._model}"

    def caption(self, image: bytes) -> str | None:
        """What the model says of a picture; raises CaptionerUnavailable."""
        picture = {"mime_type": "image/png", "data": base64.b64encode(image).decode("ascii")}
        request = {
            "contents": [{"parts": [{"inline_data": picture}, {"text": PROMPT}]}],
            "generationConfig": {"temperature": 0, "maxOutputTokens": OUTPUT_TOKENS},
        }
        reply = post_json(
            self._client,
            f"{self._base_url}/v1beta/models/{self._model}:generateContent",
            request,
            self.name,
            ANSWER_SECONDS,
            {"x-goog-api-key": self._key},
        )
        parts = [
            part
            for candidate in values_at(reply, "candidates")[:1]
            for part in values_at(candidate, "content", "parts")
        ]
        said = "".join(text_at(part, "text") for part in parts).strip()[:CAPTION_CHARS_MAX]
        return said or None

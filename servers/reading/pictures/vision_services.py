"""Pictures described by a vision model in Ollama or by Gemini, over plain HTTP.

Sources: docs/api.md of Ollama, `/api/generate`; ai.google.dev/api/generate-content.
"""

import base64
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from servers.reading.pictures.captioner import CAPTION_CHARS_MAX, PROMPT, CaptionerUnavailable
from servers.shared.ollama_host import ollama_base_url

if TYPE_CHECKING:
    import httpx2

REPLY_BYTES_MAX = 1_000_000


def post_json(
    client: "httpx2.Client",
    url: str,
    request: Mapping[str, object],
    name: str,
    seconds: float,
    headers: Mapping[str, str] | None = None,
) -> object:
    """The JSON that a service answers.

    Raises:
        CaptionerUnavailable: it does not answer, refuses, or answers something else.
    """
    import httpx2

    try:
        with client.stream(
            "POST", url, json=dict(request), headers=dict(headers or {}), timeout=seconds
        ) as reply:
            if reply.status_code >= 400:
                raise CaptionerUnavailable(f"{name} refused a picture: HTTP {reply.status_code}")
            return _read(reply, name)
    except httpx2.HTTPError as error:
        raise CaptionerUnavailable(f"{name} can't be reached: {type(error).__name__}") from None
    except httpx2.InvalidURL:
        raise CaptionerUnavailable(f"{name} has no valid address") from None


def _read(reply: "httpx2.Response", name: str) -> object:
    body = bytearray()
    for piece in reply.iter_bytes():
        body += piece
        if len(body) > REPLY_BYTES_MAX:
            raise CaptionerUnavailable(f"{name} answered more than {REPLY_BYTES_MAX:,} bytes")
    try:
        return cast(object, json.loads(body))
    except (ValueError, RecursionError):
        raise CaptionerUnavailable(f"{name} answered something that is no JSON") from None


def at(value: object, *keys: str) -> object:
    """What lies in nested objects; None where it does not."""
    for key in keys:
        value = cast(dict[object, object], value).get(key) if isinstance(value, dict) else None
    return value


def text_at(value: object, *keys: str) -> str:
    """The text there; empty where there is none."""
    found = at(value, *keys)
    return found if isinstance(found, str) else ""


def values_at(value: object, *keys: str) -> list[object]:
    """The list there; empty where there is none."""
    found = at(value, *keys)
    return cast(list[object], found) if isinstance(found, list) else []


KEY_VARIABLE = "GEMINI_API_KEY"
DEFAULT_MODEL = "gemini-3.5-flash-lite"
BASE_URL = "https://generativelanguage.googleapis.com"
GEMINI_SECONDS = 30.0
GEMINI_TOKENS = 2_000


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
            "generationConfig": {"temperature": 0, "maxOutputTokens": GEMINI_TOKENS},
        }
        reply = post_json(
            self._client,
            f"{self._base_url}/v1beta/models/{self._model}:generateContent",
            request,
            self.name,
            GEMINI_SECONDS,
            {"x-goog-api-key": self._key},
        )
        parts = [
            part
            for candidate in values_at(reply, "candidates")[:1]
            for part in values_at(candidate, "content", "parts")
        ]
        said = "".join(text_at(part, "text") for part in parts).strip()[:CAPTION_CHARS_MAX]
        return said or None


PROBE_SECONDS = 2.0
OLLAMA_SECONDS = 60.0
OLLAMA_TOKENS = 1_000
MODELS_PROBED_MAX = 20


class OllamaCaptioner:
    """Describes pictures with one model."""

    def __init__(self, model: str, address: str, client: "httpx2.Client") -> None:
        """`address` is the server's base URL, without a slash at its end."""
        self._model = model
        self._address = address
        self._client = client

    @property
    def name(self) -> str:
        """`ollama:` and the model."""
        return f"ollama:{self._model}"

    def caption(self, image: bytes) -> str | None:
        """What the model says of a picture; raises CaptionerUnavailable."""
        request = {
            "model": self._model,
            "prompt": PROMPT,
            "images": [base64.b64encode(image).decode("ascii")],
            "stream": False,
            "options": {"temperature": 0, "num_predict": OLLAMA_TOKENS},
        }
        reply = post_json(
            self._client, f"{self._address}/api/generate", request, self.name, OLLAMA_SECONDS
        )
        said = text_at(reply, "response").strip()[:CAPTION_CHARS_MAX]
        return said or None


def find_vision_model(address: str, client: "httpx2.Client") -> str | None:
    """An installed model that sees, the first one that Ollama lists; None also if it is not there.

    A model that runs in Ollama's cloud is left out: nobody asked for pictures to leave.
    """
    import httpx2

    try:
        reply = client.get(f"{address}/api/tags", timeout=PROBE_SECONDS)
        listed: object = reply.raise_for_status().json()
    except (httpx2.HTTPError, ValueError):
        return None
    for entry in values_at(listed, "models")[:MODELS_PROBED_MAX]:
        name = text_at(entry, "model") or text_at(entry, "name")
        if name and not text_at(entry, "remote_host") and _sees(name, address, client):
            return name
    return None


def ollama_address(environ: Mapping[str, str]) -> str:
    """The server's base URL; see `ollama_base_url`.

    Raises:
        CaptionerUnavailable: OLLAMA_HOST is no address.
    """
    try:
        return ollama_base_url(environ)
    except ValueError as error:
        raise CaptionerUnavailable(str(error)) from None


def _sees(model: str, address: str, client: "httpx2.Client") -> bool:
    try:
        shown = post_json(client, f"{address}/api/show", {"model": model}, model, PROBE_SECONDS)
    except CaptionerUnavailable:
        return False
    return "vision" in values_at(shown, "capabilities")

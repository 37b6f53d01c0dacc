"""Pictures described by a vision model in Ollama or by Gemini, over plain HTTP.

Imported when one of them may be asked: httpx2 takes a sixth of a second.
Sources: docs/api.md of Ollama, `/api/generate`; ai.google.dev/api/generate-content.
"""

import base64
import json
from collections.abc import Mapping
from typing import cast

import httpx2

from core.base.ollama import checked_address
from servers.reading.pictures.captioner import CAPTION_CHARS_MAX, PROMPT, CaptionerUnavailable

REPLY_BYTES_MAX = 1_000_000

GEMINI_MODEL = "gemini-3.5-flash-lite"
GEMINI_URL = "https://generativelanguage.googleapis.com"
GEMINI_SECONDS = 30.0
GEMINI_TOKENS = 2_000

PROBE_SECONDS = 2.0
OLLAMA_SECONDS = 60.0
OLLAMA_TOKENS = 1_000
MODELS_PROBED_MAX = 20


def plain_client() -> httpx2.Client:
    """A client that follows no redirect: pictures and keys go where they are meant to."""
    return httpx2.Client(follow_redirects=False)


class GeminiCaptioner:
    """Describes pictures with one model; they leave this machine."""

    def __init__(self, model: str, key: str, client: httpx2.Client) -> None:
        """`key` goes in a header, never into an address or a message."""
        self._model = model.removeprefix("models/") or GEMINI_MODEL
        self._key = key
        self._client = client

    @property
    def name(self) -> str:
        """`gemini:` and the model."""
        return f"gemini:{self._model}"

    def caption(self, image: bytes) -> str | None:
        """What the model says of a picture; raises CaptionerUnavailable."""
        picture = {"mime_type": "image/png", "data": base64.b64encode(image).decode("ascii")}
        reply = _answer(
            self._client,
            f"{GEMINI_URL}/v1beta/models/{self._model}:generateContent",
            self.name,
            GEMINI_SECONDS,
            {
                "contents": [{"parts": [{"inline_data": picture}, {"text": PROMPT}]}],
                "generationConfig": {"temperature": 0, "maxOutputTokens": GEMINI_TOKENS},
            },
            {"x-goog-api-key": self._key},
        )
        parts = [
            part
            for candidate in _values_at(reply, "candidates")[:1]
            for part in _values_at(candidate, "content", "parts")
        ]
        said = "".join(_text_at(part, "text") for part in parts).strip()[:CAPTION_CHARS_MAX]
        return said or None


class OllamaCaptioner:
    """Describes pictures with one model."""

    def __init__(self, model: str, address: str, client: httpx2.Client) -> None:
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
        reply = _answer(
            self._client,
            f"{self._address}/api/generate",
            self.name,
            OLLAMA_SECONDS,
            {
                "model": self._model,
                "prompt": PROMPT,
                "images": [base64.b64encode(image).decode("ascii")],
                "stream": False,
                "options": {"temperature": 0, "num_predict": OLLAMA_TOKENS},
            },
        )
        said = _text_at(reply, "response").strip()[:CAPTION_CHARS_MAX]
        return said or None


def ollama_address(environ: Mapping[str, str]) -> str:
    """Where Ollama listens.

    Raises:
        CaptionerUnavailable: OLLAMA_HOST is no address.
    """
    try:
        return checked_address(environ)
    except ValueError as error:
        raise CaptionerUnavailable(str(error)) from None


def find_vision_model(address: str, client: httpx2.Client) -> str | None:
    """An installed model that sees, the first one that Ollama lists; None also if it is not there.

    A model that runs in Ollama's cloud is left out: nobody asked for pictures to leave.
    """
    try:
        listed = _answer(client, f"{address}/api/tags", "ollama", PROBE_SECONDS)
    except CaptionerUnavailable:
        return None
    for entry in _values_at(listed, "models")[:MODELS_PROBED_MAX]:
        name = _text_at(entry, "model") or _text_at(entry, "name")
        if name and not _text_at(entry, "remote_host") and _sees(name, address, client):
            return name
    return None


def _sees(model: str, address: str, client: httpx2.Client) -> bool:
    try:
        shown = _answer(client, f"{address}/api/show", model, PROBE_SECONDS, {"model": model})
    except CaptionerUnavailable:
        return False
    return "vision" in _values_at(shown, "capabilities")


def _answer(
    client: httpx2.Client,
    url: str,
    name: str,
    seconds: float,
    request: Mapping[str, object] | None = None,
    headers: Mapping[str, str] | None = None,
) -> object:
    """The JSON that a service answers, to a POST if there is a request.

    Raises:
        CaptionerUnavailable: it does not answer, refuses, or answers something else.
    """
    method = "GET" if request is None else "POST"
    body = bytearray()
    try:
        with client.stream(method, url, json=request, headers=headers, timeout=seconds) as reply:
            if reply.status_code >= 400:
                raise CaptionerUnavailable(f"{name} refused a picture: HTTP {reply.status_code}")
            for piece in reply.iter_bytes():
                body += piece
                if len(body) > REPLY_BYTES_MAX:
                    raise CaptionerUnavailable(
                        f"{name} answered more than {REPLY_BYTES_MAX:,} bytes"
                    )
        return cast(object, json.loads(body))
    except httpx2.HTTPError as error:
        raise CaptionerUnavailable(f"{name} can't be reached: {type(error).__name__}") from None
    except httpx2.InvalidURL:
        raise CaptionerUnavailable(f"{name} has no valid address") from None
    except (ValueError, RecursionError):
        raise CaptionerUnavailable(f"{name} answered something that is no JSON") from None


def _at(value: object, keys: tuple[str, ...]) -> object:
    """What lies in nested objects; None where it does not."""
    for key in keys:
        value = cast(dict[object, object], value).get(key) if isinstance(value, dict) else None
    return value


def _text_at(value: object, *keys: str) -> str:
    """The text there; empty where there is none."""
    found = _at(value, keys)
    return found if isinstance(found, str) else ""


def _values_at(value: object, *keys: str) -> list[object]:
    """The list there; empty where there is none."""
    found = _at(value, keys)
    return cast(list[object], found) if isinstance(found, list) else []

"""Pictures described by a vision model in Ollama or by Gemini, over plain HTTP.

Imported when one of them may be asked: httpx2 takes a sixth of a second.
Sources: docs/api.md of Ollama, `/api/generate`; ai.google.dev/api/generate-content.
"""

import base64
from collections.abc import Mapping

from pydantic import BaseModel

from core.base.ollama import checked_address
from servers.reading.pictures.captioner import CAPTION_CHARS_MAX, PROMPT, CaptionerUnavailable
from servers.shared.json_service import JsonService, ServiceAddress

REPLY_BYTES_MAX = 1_000_000

GEMINI_MODEL = "gemini-3.5-flash-lite"
GEMINI_URL = "https://generativelanguage.googleapis.com"
GEMINI_SECONDS = 30.0
GEMINI_TOKENS = 2_000

PROBE_SECONDS = 2.0
OLLAMA_SECONDS = 60.0
OLLAMA_TOKENS = 1_000
MODELS_PROBED_MAX = 20


class _Part(BaseModel):
    text: str = ""


class _Content(BaseModel):
    parts: list[_Part] = []


class _Candidate(BaseModel):
    content: _Content = _Content()


class _GeminiReply(BaseModel):
    candidates: list[_Candidate] = []


class _OllamaReply(BaseModel):
    response: str = ""


class _Listed(BaseModel):
    name: str = ""
    remote_host: str = ""


class _Listing(BaseModel):
    models: list[_Listed] = []


class _Shown(BaseModel):
    capabilities: list[str] = []


class GeminiCaptioner:
    """Describes pictures with one model; they leave this machine."""

    def __init__(self, model: str, key: str, base_url: str = GEMINI_URL) -> None:
        """`key` goes in a header, never into an address or a message."""
        self._model = model.removeprefix("models/") or GEMINI_MODEL
        self._service = _service(self.name, base_url, GEMINI_SECONDS, key)

    @property
    def name(self) -> str:
        """`gemini:` and the model."""
        return f"gemini:{self._model}"

    def caption(self, image: bytes) -> str | None:
        """What the model says of a picture; raises CaptionerUnavailable."""
        picture = {"mime_type": "image/png", "data": base64.b64encode(image).decode("ascii")}
        reply = self._service.post(
            f"/v1beta/models/{self._model}:generateContent",
            {
                "contents": [{"parts": [{"inline_data": picture}, {"text": PROMPT}]}],
                "generationConfig": {"temperature": 0, "maxOutputTokens": GEMINI_TOKENS},
            },
            _GeminiReply,
        )
        parts = [part.text for each in reply.candidates[:1] for part in each.content.parts]
        return "".join(parts).strip()[:CAPTION_CHARS_MAX] or None


class OllamaCaptioner:
    """Describes pictures with one model."""

    def __init__(self, model: str, address: str) -> None:
        """`address` is the server's base URL, without a slash at its end."""
        self._model = model
        self._service = _service(self.name, address, OLLAMA_SECONDS)

    @property
    def name(self) -> str:
        """`ollama:` and the model."""
        return f"ollama:{self._model}"

    def caption(self, image: bytes) -> str | None:
        """What the model says of a picture; raises CaptionerUnavailable."""
        reply = self._service.post(
            "/api/generate",
            {
                "model": self._model,
                "prompt": PROMPT,
                "images": [base64.b64encode(image).decode("ascii")],
                "stream": False,
                "options": {"temperature": 0, "num_predict": OLLAMA_TOKENS},
            },
            _OllamaReply,
        )
        return reply.response.strip()[:CAPTION_CHARS_MAX] or None


def ollama_address(environ: Mapping[str, str]) -> str:
    """Where Ollama listens.

    Raises:
        CaptionerUnavailable: OLLAMA_HOST is no address.
    """
    try:
        return checked_address(environ)
    except ValueError as error:
        raise CaptionerUnavailable(str(error)) from None


def find_vision_model(address: str) -> str | None:
    """An installed model that sees, the first one that Ollama lists; None also if it is not there.

    A model that runs in Ollama's cloud is left out: nobody asked for pictures to leave.
    """
    service = _service("ollama", address, PROBE_SECONDS)
    try:
        for each in service.get("/api/tags", _Listing).models[:MODELS_PROBED_MAX]:
            if each.name and not each.remote_host and _sees(service, each.name):
                return each.name
    except CaptionerUnavailable:
        return None
    return None


def _sees(service: JsonService, model: str) -> bool:
    try:
        return "vision" in service.post("/api/show", {"model": model}, _Shown).capabilities
    except CaptionerUnavailable:
        return False


def _service(name: str, base_url: str, seconds: float, key: str = "") -> JsonService:
    """Asked once a picture: the next one may be described again."""
    address = ServiceAddress(
        name,
        base_url,
        advice={},
        down="start it, or name another captioner",
        foreign="answered something else than it should",
        error=CaptionerUnavailable,
        headers={"connection": "close"} | ({"x-goog-api-key": key} if key else {}),
        key=key,
    )
    return JsonService(address, (), REPLY_BYTES_MAX, seconds)

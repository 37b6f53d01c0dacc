"""Pictures described by a vision model in Ollama: docs/api.md of Ollama, `/api/generate`."""

import base64
from collections.abc import Mapping
from typing import TYPE_CHECKING

from servers.rag.extraction.captions.captioner import (
    CAPTION_CHARS_MAX,
    PROMPT,
    CaptionerUnavailable,
)
from servers.rag.extraction.captions.replies import post_json, text_at, values_at
from servers.rag.ollama_host import ollama_base_url

if TYPE_CHECKING:
    import httpx2

PROBE_SECONDS = 2.0
ANSWER_SECONDS = 60.0
OUTPUT_TOKENS = 1_000
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
            "options": {"temperature": 0, "num_predict": OUTPUT_TOKENS},
        }
        reply = post_json(
            self._client, f"{self._address}/api/generate", request, self.name, ANSWER_SECONDS
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

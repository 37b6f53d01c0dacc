"""Pictures described by a vision model in Ollama: docs/api.md of Ollama, `/api/generate`."""

import base64
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from servers.rag.extraction.captions.captioner import (
    CAPTION_CHARS_MAX,
    PROMPT,
    CaptionerUnavailable,
)
from servers.rag.extraction.captions.replies import post_json, text_at, values_at

if TYPE_CHECKING:
    import httpx2

HOST_VARIABLE = "OLLAMA_HOST"
DEFAULT_PORT = 11434
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
    """The server's base URL: OLLAMA_HOST, else the loopback address and the usual port.

    Raises:
        CaptionerUnavailable: OLLAMA_HOST is no address.
    """
    text = environ.get(HOST_VARIABLE, "").strip().strip("\"'").rstrip("/")
    if not text:
        return f"http://127.0.0.1:{DEFAULT_PORT}"
    whole = text if "://" in text else f"http://{text}"
    try:
        parts = urlsplit(whole)
        host, port = parts.hostname or "127.0.0.1", parts.port
    except ValueError:
        raise CaptionerUnavailable(f"OLLAMA_HOST is no address: {text[:100]}") from None
    if host == "0.0.0.0":  # noqa: S104 - nothing is bound: it is what a server's setting says
        host = "127.0.0.1"
    if port is None and "://" in text:
        port = 443 if parts.scheme == "https" else 80
    shown = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{shown}:{port or DEFAULT_PORT}"


def _sees(model: str, address: str, client: "httpx2.Client") -> bool:
    try:
        shown = post_json(client, f"{address}/api/show", {"model": model}, model, PROBE_SECONDS)
    except CaptionerUnavailable:
        return False
    return "vision" in values_at(shown, "capabilities")

"""Embeddings of Google's Gemini API (ai.google.dev, "Embeddings": `models.batchEmbedContents`).

Texts go to Google: so only who names this embedder gets it. Each text is a request of its own
within the batch; several texts in one content would become one vector.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from pydantic import BaseModel, FiniteFloat

from servers.rag.embedding.remote import (
    RemoteEmbedder,
    Task,
    TaskPrompts,
    checked_model,
    prompts_for,
)
from servers.rag.errors import EmbedderUnavailable
from servers.shared.json_service import WAITS_SECONDS, JsonService, ServiceAddress

KEY_VARIABLE = "GEMINI_API_KEY"
BASE_URL = "https://generativelanguage.googleapis.com"
API_VERSION = "v1beta"

DIMENSION = 768
"""The smallest that Google recommends; the full 3,072 quadruple the index for little."""

BATCH = 100
"""As many requests as a batch may hold."""

_TASK_TYPES: Final[Mapping[Task, str]] = {
    "passage": "RETRIEVAL_DOCUMENT",
    "query": "RETRIEVAL_QUERY",
}
_PROVIDER: Final = "gemini"


class _Embedding(BaseModel):
    values: list[FiniteFloat]


class _Embedded(BaseModel):
    embeddings: list[_Embedding]


class _Gemini:
    """Requests for one model; a task type goes with each where no prompt says the task."""

    def __init__(self, model: str, prompts: TaskPrompts, service: JsonService) -> None:
        self._model = f"models/{model}"
        self._has_task_types = prompts == TaskPrompts()
        self._service = service

    def ask(self, texts: list[str], task: Task) -> list[list[float]]:
        """Vectors of texts, in their order."""
        requests = [self._request(text, task) for text in texts]
        path = f"/{API_VERSION}/{self._model}:batchEmbedContents"
        embedded = self._service.post(path, {"requests": requests}, _Embedded)
        return [embedding.values for embedding in embedded.embeddings]

    def _request(self, text: str, task: Task) -> dict[str, object]:
        request: dict[str, object] = {
            "model": self._model,
            "content": {"parts": [{"text": text}]},
            "outputDimensionality": DIMENSION,
        }
        return {**request, "taskType": _TASK_TYPES[task]} if self._has_task_types else request


def open_gemini(
    model: str,
    environ: Mapping[str, str],
    base_url: str = BASE_URL,
    waits_seconds: Sequence[float] = WAITS_SECONDS,
) -> RemoteEmbedder:
    """The embedder of a Gemini model such as `gemini-embedding-001`; asks nothing yet.

    Raises:
        OptionsError: no model is called so.
        EmbedderUnavailable: there is no key in GEMINI_API_KEY.
    """
    model = checked_model(_PROVIDER, model.removeprefix("models/"))
    name = f"{_PROVIDER}:{model}"
    key = environ.get(KEY_VARIABLE, "").strip()
    if not (key and key.isascii() and key.isprintable() and " " not in key):
        raise EmbedderUnavailable(
            f"embedder {name} needs a key in {KEY_VARIABLE} (https://aistudio.google.com/apikey); "
            "set one, or name another embedder; searching by words goes on"
        )
    wrong_key = f"put a valid key into {KEY_VARIABLE}"
    address = ServiceAddress(
        subject=f"embedder {name}",
        base_url=base_url,
        headers={"x-goog-api-key": key},
        advice={
            400: f"see to the model's name and the key in {KEY_VARIABLE}",
            401: wrong_key,
            403: wrong_key,
            404: "see to the model's name: gemini-embedding-001 is one",
            429: "wait a minute: the account's limit is reached",
        },
        down="see to the network, or name another embedder; searching by words goes on",
        foreign="sent what the Gemini API does not send",
        error=EmbedderUnavailable,
        key=key,
    )
    service = JsonService(address, waits_seconds)
    prompts = prompts_for(model)
    ask = _Gemini(model, prompts, service).ask
    return RemoteEmbedder(name, API_VERSION, DIMENSION, prompts, service, ask, BATCH)

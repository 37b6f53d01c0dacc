"""Embeddings of an Ollama server (docs/api.md of ollama/ollama: embed, show, tags).

Which weights a name means may change with every `ollama pull`: the digest that the server lists is
part of the fingerprint, so that vectors of two versions never stand in one index.
"""

from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

from core.base.ollama import HOST_VARIABLE, KEY_VARIABLE, checked_address, full_name
from servers.rag.embedding.remote import RemoteEmbedder, Task, checked_model, prompts_for
from servers.rag.errors import EmbedderUnavailable, OptionsError
from servers.shared.json_service import WAITS_SECONDS, JsonService, ServiceAddress

BATCH = 16
"""Texts a request: more gain nothing, and the first answer is waited for longer."""

DIMENSION_MAX = 16_384
"""More numbers than any embedding has."""

DIGEST_CHARACTERS = 12
_PROBE = "dimension"
_PROVIDER: Final = "ollama"


class _Embedded(BaseModel):
    embeddings: list[list[FiniteFloat]]


class _Shown(BaseModel):
    model_config = ConfigDict(protected_namespaces=())

    model_info: dict[str, object] = Field(default_factory=dict)


class _Listed(BaseModel):
    name: str = ""
    digest: str = ""


class _Listing(BaseModel):
    models: list[_Listed] | None = None


class _Ollama:
    """What one server knows of one model."""

    def __init__(self, model: str, service: JsonService) -> None:
        self._model = model
        self._service = service

    def ask(self, texts: list[str], task: Task) -> list[list[float]]:
        """Vectors of texts (`POST /api/embed`); a text too long for the model is cut."""
        del task  # the texts carry it
        body = {"model": self._model, "input": texts, "truncate": True}
        return self._service.post("/api/embed", body, _Embedded).embeddings

    def dimension(self) -> int:
        """From the model's description (`POST /api/show`), which doesn't load it; else tried."""
        shown = self._service.post("/api/show", {"model": self._model}, _Shown)
        for key, value in shown.model_info.items():
            if key.endswith(".embedding_length") and isinstance(value, int):
                return self._usable(value)
        rows = self.ask([_PROBE], "passage")
        return self._usable(len(rows[0]) if rows else 0)

    def digest(self) -> str:
        """Of the weights (`GET /api/tags`); empty if the server doesn't say."""
        listing = self._service.get("/api/tags", _Listing)
        name = full_name(self._model)
        digests = [listed.digest for listed in listing.models or () if listed.name == name]
        return digests[0].removeprefix("sha256:")[:DIGEST_CHARACTERS] if digests else ""

    def _usable(self, dimension: int) -> int:
        if not 0 < dimension <= DIMENSION_MAX:
            raise self._service.unavailable(
                "makes no embeddings; choose a model for them, such as nomic-embed-text"
            )
        return dimension


def open_ollama(
    model: str, environ: Mapping[str, str], waits_seconds: Sequence[float] = WAITS_SECONDS
) -> RemoteEmbedder:
    """The embedder of a model on the server that OLLAMA_HOST names; asks it for the model.

    Raises:
        OptionsError: OLLAMA_HOST is no address, or the model's name no name.
        EmbedderUnavailable: nobody answers there, or the model is not installed.
    """
    name = f"{_PROVIDER}:{checked_model(_PROVIDER, model)}"
    otherwise = "name another embedder; searching by words goes on"
    address = ollama_service(f"embedder {name}", model, environ, otherwise, EmbedderUnavailable)
    service = JsonService(address, waits_seconds)
    ollama = _Ollama(model, service)
    try:
        return RemoteEmbedder(
            name,
            weights=ollama.digest(),
            dimension=ollama.dimension(),
            prompts=prompts_for(model),
            service=service,
            ask=ollama.ask,
            batch=BATCH,
        )
    except EmbedderUnavailable:
        service.close()
        raise


def ollama_service(
    subject: str, model: str, environ: Mapping[str, str], otherwise: str, error: type[Exception]
) -> ServiceAddress:
    """The server that OLLAMA_HOST names, for one model; `otherwise` is what else one may do.

    Raises:
        OptionsError: OLLAMA_HOST is no address.
    """
    try:
        base_url = checked_address(environ)
    except ValueError as wrong:
        raise OptionsError(str(wrong)) from None
    key = environ.get(KEY_VARIABLE, "").strip() if base_url.startswith("https://") else ""
    return ServiceAddress(
        subject=f"{subject} at {urlsplit(base_url).netloc}",
        base_url=base_url,
        headers={"authorization": f"Bearer {key}"} if key else {},
        advice={
            401: f"put a valid key into {KEY_VARIABLE}",
            404: f"get the model with: ollama pull {model}",
        },
        down=f"start it with: ollama serve (where it is, {HOST_VARIABLE} says), or {otherwise}",
        foreign=f"sent what Ollama does not send; see to {HOST_VARIABLE}",
        error=error,
        key=key,
    )

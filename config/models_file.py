"""The shape of `models.json`: models by name, which names belong to which backend, and prices."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import Field, field_validator

from config.checking import Count, Seconds, Section, check
from config.http_address import url_problem
from config.settings import Places, read_text
from config.texts import document_in, load_json

MODELS_FILE = "models.json"
"""Its name in the folder `config`, of the installation and of CORTEX_HOME."""

BackendName: TypeAlias = Literal["gemini", "ollama", "openai", "anthropic", "local", "offline"]
"""The backends that an entry may name; one file each in `modules/models/`."""

ThinkingEffort: TypeAlias = Literal["off", "low", "medium", "high"]
"""How long a reasoning model may think; each backend has its own word for it."""

Dollars: TypeAlias = Annotated[float, Field(ge=0, le=100_000)]

REQUEST_TIMEOUT_SECONDS = 300.0
"""Bound on one request, from the first byte sent to the last received, unless an entry says."""

IDLE_SECONDS = 60.0
"""How long a service may send nothing in the middle of a reply, unless the profile says."""

CONCURRENT_REQUESTS = 8
"""Requests to one model at once, unless an entry says; more wait their turn."""


class Price(Section):
    """US dollars for a million tokens.

    `cached_input` is what input costs that the provider had in its cache, by default as much as
    other input; `output` covers thinking too.
    """

    input: Dollars
    output: Dollars
    cached_input: Dollars | None = None


class ModelEntry(Section):
    """One model of `models.json`.

    `type` is the backend, `model` the service's own name for it. `api_key_env` is the variable
    that its key lies in; `base_url` replaces the service's address; `path` is the GGUF file of a
    `local` model. `images` and `context_tokens` say what the backend can't find out by itself;
    `thinking` is for reasoning models, left to the service where it is missing.
    """

    moved: ClassVar[Mapping[str, str]] = {
        "url": "base_url, the address before the paths: http://127.0.0.1:11434 for Ollama",
        "embedding_model": "documents.embedder in the profile, such as ollama:nomic-embed-text",
    }

    type: BackendName
    model: str | None = Field(default=None, min_length=1)
    api_key_env: str | None = Field(default=None, min_length=1)
    base_url: str | None = Field(default=None, min_length=1)
    path: str | None = Field(default=None, min_length=1)
    images: bool | None = None
    context_tokens: Count | None = Field(default=None, ge=512)
    max_output_tokens: Count | None = Field(default=None, ge=16)
    timeout_seconds: Seconds = REQUEST_TIMEOUT_SECONDS
    concurrent_requests: Count = Field(default=CONCURRENT_REQUESTS, ge=1, le=100)
    thinking: ThinkingEffort | None = None
    price: Price | None = None

    @field_validator("base_url")
    @classmethod
    def _is_an_address(cls, url: str | None) -> str | None:
        if url is not None and (wrong := url_problem(url)) is not None:
            raise ValueError(wrong)
        return url


class ModelsFile(Section):
    """The whole of `models.json`.

    `patterns` say which backend a name belongs to that has no entry (`gpt-*` is `openai`), and
    `prices` what such a name costs; the first that fits holds. Patterns are those of `fnmatch`.
    `prices_as_of` is the day on which the prices were looked up, for messages.
    """

    moved: ClassVar[Mapping[str, str]] = {
        "defaults": "llm.text_generation and documents.embedder in the profile"
    }

    models: dict[str, ModelEntry]
    patterns: dict[str, BackendName] = Field(default_factory=dict[str, BackendName])
    prices: dict[str, Price] = Field(default_factory=dict[str, Price])
    prices_as_of: str | None = None


def models_of(places: Places) -> ModelsFile:
    """The models that ship, and the user's own in front of them, whose names go first.

    The same holds of patterns and prices; where the user's table of them is empty, there are none.

    Raises:
        SettingsError: one of the files is missing or wrong.
    """
    shipped_file, own_file = places.root / "config" / MODELS_FILE, places.config_file(MODELS_FILE)
    own = load_models(own_file)
    if own_file == shipped_file or not shipped_file.is_file():
        return own
    shipped, said = load_models(shipped_file), own.model_fields_set
    return ModelsFile(
        models={**own.models, **shipped.models, **own.models},
        patterns={**own.patterns, **shipped.patterns, **own.patterns}
        if own.patterns or "patterns" not in said
        else {},
        prices={**own.prices, **shipped.prices, **own.prices}
        if own.prices or "prices" not in said
        else {},
        prices_as_of=own.prices_as_of or shipped.prices_as_of,
    )


def load_models(path: Path) -> ModelsFile:
    """Read and check `models.json`.

    Raises:
        SettingsError: the file is missing or wrong.
    """
    text = read_text(path)
    document = document_in(path, text, load_json)
    return check(document, ModelsFile, path, text)

"""Every model that could answer here, one row each: configured, installed, or found running."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, assert_never

from config.models_file import ModelEntry, ModelsFile, Price
from core.base.ollama import HOST_VARIABLE, full_name, ollama_address
from core.errors import UserError
from modules.models.choosing.building import INSTALL_LOCAL, price_of
from modules.models.choosing.discovery import (
    LlamaServer,
    OllamaFound,
    can_run_local,
    find_llama_server,
    local_file,
    local_models,
    look_for_ollama,
)
from modules.models.credentials.keyring_store import KeyringStore
from modules.models.credentials.keys import GOOGLE_KEY, USUAL_VARIABLES, key_variable
from modules.models.ollama.facts import InstalledModel, chat_models
from modules.models.serving.budget import FREE

Source: TypeAlias = Literal["models.json", "ollama", "llama.cpp", "file"]
"""Where a model comes from: the configuration, a server that was found, or a folder."""


@dataclass(frozen=True, slots=True)
class ModelRow:
    """One model; `name` is what --model takes, `model` the backend's own name, where it is known.

    `state` says why it is ready or not; of prices, None means that nobody knows.
    """

    name: str
    source: Source
    backend: str
    model: str
    state: str
    is_ready: bool
    price: Price | None
    size_bytes: int | None = None
    parameters: str = ""
    quantisation: str = ""

    @property
    def backend_name(self) -> str:
        """What the backend calls itself, as in `TextModel.name`."""
        return f"{self.backend}:{self.model}" if self.backend != "offline" else self.backend


def model_rows(models: ModelsFile, environ: Mapping[str, str], home: Path) -> tuple[ModelRow, ...]:
    """The entries of models.json, then what Ollama has, a llama.cpp server, and files."""
    here = _Here(models, environ, home, _kept(home), look_for_ollama(environ))
    return (
        *(here.entry(name, entry) for name, entry in models.models.items()),
        *_installed_rows(here.ollama.models if here.ollama is not None else ()),
        *_server_rows(find_llama_server(environ)),
        *_file_rows(local_models(environ, home)),
    )


@dataclass(frozen=True, slots=True)
class _Here:
    """What was found on this machine; `kept` are the variables whose keys are in the keyring."""

    models: ModelsFile
    environ: Mapping[str, str]
    home: Path
    kept: Sequence[str]
    ollama: OllamaFound | None

    def entry(self, name: str, entry: ModelEntry) -> ModelRow:
        """The row of an entry of models.json."""
        model = entry.model or ""
        match entry.type:
            case "gemini" | "anthropic" | "openai":
                state, is_ready = self._service(entry)
            case "ollama":
                state, is_ready = self._ollama(entry)
            case "local":
                state, is_ready = self._local(entry)
            case "offline":
                state, is_ready = "always there; plans arithmetic, texts and tool calls only", True
            case _:
                assert_never(entry.type)
        price = price_of(entry, self.models)
        return ModelRow(name, "models.json", entry.type, model, state, is_ready, price)

    def _service(self, entry: ModelEntry) -> tuple[str, bool]:
        variable = key_variable(entry)
        is_open = entry.type == "openai" and entry.base_url is not None
        if variable is None:
            return ("wants no key", True) if is_open else ("needs an api_key_env", False)
        if self._is_set(variable):
            return f"{variable} is set", True
        if variable in self.kept:
            return f"{variable} is in the keyring", True
        if variable == USUAL_VARIABLES["gemini"] and self._is_set(GOOGLE_KEY):
            return f"{GOOGLE_KEY} is set", True
        return f"{variable} is not set", is_open

    def _ollama(self, entry: ModelEntry) -> tuple[str, bool]:
        environ, found = self.environ, self.ollama
        if entry.base_url is not None:
            environ = {HOST_VARIABLE: entry.base_url}
            found = look_for_ollama(environ)
        place = ollama_address(environ).partition("://")[2]
        if found is None:
            return f"no Ollama answers at {place}", False
        if entry.model is None:
            first = next(iter(chat_models(found.models)), None)
            return (f"means {first.name}", True) if first else ("Ollama has no model yet", False)
        if full_name(entry.model) in {model.name for model in found.models}:
            return f"installed at {place}", True
        return f"not installed; agent.py models pull {entry.model}", False

    def _local(self, entry: ModelEntry) -> tuple[str, bool]:
        named = entry.path or entry.model
        if named is None:
            return "means the installed file", bool(local_models(self.environ, self.home))
        if local_file(named, self.home) is None:
            return f"there is no file {named}", False
        return _runnable()

    def _is_set(self, variable: str) -> bool:
        return bool(self.environ.get(variable, "").strip())


def _kept(home: Path) -> tuple[str, ...]:
    try:
        return KeyringStore(home).names()
    except UserError:  # `auth list` and `doctor` tell what is wrong with the list
        return ()


def _installed_rows(installed: Sequence[InstalledModel]) -> Iterator[ModelRow]:
    for model in installed:
        state = "in memory" if model.is_loaded else "installed"
        if model.is_remote:
            state = "runs in Ollama's cloud: what is asked leaves the machine"
        if not model.chats:
            state = "makes embeddings, and answers nothing"
        yield ModelRow(
            f"ollama:{model.name}",
            "ollama",
            "ollama",
            model.name,
            state,
            model.chats,
            None if model.is_remote else FREE,
            model.size_bytes,
            model.parameters,
            model.quantisation,
        )


def _server_rows(server: LlamaServer | None) -> Iterator[ModelRow]:
    if server is not None:
        state = f"runs at {server.base_url.removesuffix('/v1')}"
        yield ModelRow("local", "llama.cpp", "openai", server.model, state, True, FREE)


def _file_rows(files: Sequence[Path]) -> Iterator[ModelRow]:
    for file in files:
        try:
            size = file.stat().st_size
        except OSError:
            continue
        state, is_ready = _runnable()
        name = f"local:{file.stem}"
        yield ModelRow(name, "file", "local", file.stem, state, is_ready, FREE, size)


def _runnable() -> tuple[str, bool]:
    if can_run_local():
        return "installed", True
    return f"nothing here can run it: {INSTALL_LOCAL}", False

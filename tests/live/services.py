"""The services that tests can be run against, as far as the environment leads to them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from config.models_file import BackendName, ModelEntry, ModelsFile
from core.base.ollama import HOST_VARIABLE
from modules.models.choosing.building import llama_server_entry
from modules.models.choosing.discovery import (
    LLAMA_SERVER_VARIABLE,
    LOCAL_MODEL_VARIABLE,
    can_run_local,
    find_llama_server,
    find_running,
    local_file,
)
from modules.models.choosing.names import built_in_models, default_entry
from modules.models.credentials import USUAL_VARIABLES

NETWORK_VARIABLES: Final = ("HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE")
"""What a run needs besides its key, where the network is not reached directly."""

NAME: Final = "live"
"""What each service is called in its models.json."""


@dataclass(frozen=True)
class MissingService:
    """A service that can't be tested here; `why` names the variable that is missing."""

    why: str


@dataclass(frozen=True)
class LiveService:
    """A service that answers, or should.

    `variables` are those of the environment that lead to it, `key_variable` the one with its key.
    """

    entry: ModelEntry
    variables: tuple[str, ...] = ()
    key_variable: str | None = None
    knows_models_by_name: bool = True

    def models(self, model: str | None = None) -> ModelsFile:
        """A models.json with this service alone, as `NAME`; with another model if one is given."""
        entry = self.entry if model is None else self.entry.model_copy(update={"model": model})
        return ModelsFile(models={NAME: entry})

    def environ(self, environ: Mapping[str, str]) -> dict[str, str]:
        """What of `environ` a run with this service needs."""
        wanted = (*self.variables, *NETWORK_VARIABLES, *map(str.lower, NETWORK_VARIABLES))
        return {name: environ[name] for name in wanted if name in environ}


def gemini(environ: Mapping[str, str]) -> LiveService | MissingService:
    """Google's Gemini API."""
    return _with_key("gemini", environ)


def anthropic(environ: Mapping[str, str]) -> LiveService | MissingService:
    """Anthropic's Claude API."""
    return _with_key("anthropic", environ)


def openai(environ: Mapping[str, str]) -> LiveService | MissingService:
    """OpenAI's own service."""
    return _with_key("openai", environ)


def ollama(environ: Mapping[str, str]) -> LiveService | MissingService:
    """An Ollama server, with the model that it used last."""
    installed = find_running(environ).ollama
    if not installed:
        return MissingService(
            f"no Ollama with a model answers; start one, or say with {HOST_VARIABLE} where it is"
        )
    return LiveService(ModelEntry(type="ollama", model=installed[0]), (HOST_VARIABLE,))


def llama_server(environ: Mapping[str, str]) -> LiveService | MissingService:
    """A server of llama.cpp's kind, which speaks OpenAI's protocol."""
    server = find_llama_server(environ)
    if server is None:
        return MissingService(
            f"no llama.cpp server answers; start one, or say with {LLAMA_SERVER_VARIABLE} where "
            "it is"
        )
    return LiveService(llama_server_entry(server), knows_models_by_name=False)


def local(environ: Mapping[str, str]) -> LiveService | MissingService:
    """A GGUF file that llama-cpp-python runs."""
    named = environ.get(LOCAL_MODEL_VARIABLE, "").strip()
    if not named:
        return MissingService(f"{LOCAL_MODEL_VARIABLE} is not set; it names a GGUF file")
    if (file := local_file(named, None)) is None:
        return MissingService(f"{LOCAL_MODEL_VARIABLE} names no file: {named}")
    if not can_run_local():
        return MissingService("llama-cpp-python is not installed, which runs GGUF files")
    return LiveService(ModelEntry(type="local", path=str(file)), knows_models_by_name=False)


def _with_key(backend: BackendName, environ: Mapping[str, str]) -> LiveService | MissingService:
    variable = USUAL_VARIABLES[backend]
    if not environ.get(variable, "").strip():
        return MissingService(f"{variable} is not set")
    entry = default_entry(backend, built_in_models())
    return LiveService(entry, (variable,), key_variable=variable)


def write_models(service: LiveService, home: Path) -> None:
    """Put the service's models.json where the program looks for it."""
    file = home / "config" / "models.json"
    file.parent.mkdir()
    file.write_text(service.models().model_dump_json(exclude_none=True), encoding="utf-8")


SERVICES: Final[tuple[Callable[[Mapping[str, str]], LiveService | MissingService], ...]] = (
    gemini,
    anthropic,
    openai,
    ollama,
    llama_server,
    local,
)

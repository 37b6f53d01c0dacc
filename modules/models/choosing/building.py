"""From what a name means to the backend that answers: key, file, price and bounds.

What speaks to a service is imported later, at the first request.
"""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Final, assert_never
from urllib.parse import urlsplit

from config.models_file import IDLE_SECONDS, ModelEntry, ModelsFile, Price
from core.base.frozen import frozen
from core.base.http import is_loopback
from core.base.ollama import HOST_VARIABLE
from core.errors import ConfigurationError
from core.ports import TextModel
from modules.models.choosing.discovery import (
    LOCAL_MODEL_VARIABLE,
    MODELS_FOLDER,
    LlamaServer,
    can_run_local,
    find_llama_server,
    find_ollama,
    installed_weights,
    local_file,
    local_models,
)
from modules.models.choosing.names import RepliesFile, Wanted, completed, default_model
from modules.models.credentials import (
    ADDRESS_VARIABLES,
    ApiKey,
    KeyringStore,
    address_from_environment,
    find_key,
    key_variable,
    missing_key,
)
from modules.models.hosted.model import HostedModel
from modules.models.local.client import LocalModel
from modules.models.offline.planner import OfflineModel
from modules.models.ollama.model import OllamaModel
from modules.models.recorded.model import ReplayedModel
from modules.models.scripted import ScriptedModel
from modules.models.serving.budget import FREE, listed_price
from modules.models.serving.watched import ChosenModel

DEFAULT_OLLAMA_MODEL: Final = "qwen3.5"
"""What is asked for where Ollama has no model yet: its error then says how to get it."""

LLAMA_KEY_VARIABLE: Final = "LLAMA_API_KEY"
"""Where llama.cpp's server itself looks for the key that it wants from its clients."""

INSTALL_LOCAL: Final = "pip install 'cortex-r[local]'"
_LOCAL_NAMES_SHOWN: Final = 10


@frozen
class Means:
    """What models are built from; `home` holds weights, `idle_seconds` is the profile's."""

    models: ModelsFile
    environ: Mapping[str, str]
    home: Path | None
    keyring: KeyringStore | None
    idle_seconds: float = IDLE_SECONDS


@frozen
class Built:
    """A backend, ready to be asked, what it was built for, and the key that it was given.

    `told` says what in the environment has a say in where it is asked; empty where nothing has.
    """

    chosen: ChosenModel
    meant: Wanted
    key: ApiKey | None = None
    told: str = ""


def build(wanted: Wanted, name: str, means: Means) -> Built:
    """The backend for what a name means; `name` is how the user called it.

    Raises:
        UserError: a key that is missing, a script or recording that can't be read, no weights, or
            several of which none is named.
    """
    match wanted:
        case RepliesFile("scripted", path):
            return Built(ChosenModel(ScriptedModel.from_file(path), FREE), wanted)
        case RepliesFile(_, path):
            return Built(ChosenModel(ReplayedModel(Path(path).expanduser()), FREE), wanted)
        case ModelEntry():
            pass
    entry = _complete(wanted, means)
    key = find_key(entry, means.environ, means.keyring)
    address = address_from_environment(entry, means.environ)
    placed = entry if address is None else entry.model_copy(update={"base_url": address})
    chosen = ChosenModel(
        _backend(entry, placed, key, name, means),
        _own_price(placed),
        entry.timeout_seconds,
        entry.concurrent_requests,
        partial(price_of, placed, means.models),
        entry.max_output_tokens,
    )
    told = "" if address is None else f"{ADDRESS_VARIABLES[entry.type]} says where"
    return Built(chosen, entry, key, told)


def _complete(entry: ModelEntry, means: Means) -> ModelEntry:
    """Fill in what an entry leaves open: a service's usual model, or what runs on this machine.

    Raises:
        ConfigurationError: no weights, or several of which none is named.
    """
    match entry.type:
        case "gemini" | "anthropic" | "openai":
            return entry.model_copy(update={"model": entry.model or default_model(entry.type)})
        case "ollama":
            return _with_ollama_model(entry, means.environ)
        case "local":
            return _with_weights(entry, means)
        case "offline":
            return entry
        case _:
            assert_never(entry.type)


def llama_server_entry(server: LlamaServer) -> ModelEntry:
    """A llama.cpp server as an entry: it speaks OpenAI's protocol."""
    return ModelEntry(
        type="openai",
        model=server.model,
        base_url=server.base_url,
        api_key_env=LLAMA_KEY_VARIABLE,
        context_tokens=server.context_tokens,
        concurrent_requests=1,
        price=FREE,
    )


def price_of(entry: ModelEntry, models: ModelsFile) -> Price | None:
    """What an entry's model costs; None where nobody knows. May take 0.2 s at first.

    A table in `models.json` goes before what services list; an empty one means that no price is
    known. What runs on this machine is free, and what stands at another address costs what its
    entry says.
    """
    if (own := _own_price(entry)) is not None or entry.base_url is not None:
        return own
    prices, model = completed(models).prices, entry.model or ""
    own = next((price for name, price in prices.items() if fnmatchcase(model, name)), None)
    return listed_price(entry.type, model) if own is None and prices else own


def _own_price(entry: ModelEntry) -> Price | None:
    """What is known of an entry's price without looking it up."""
    is_here = entry.base_url is not None and _is_here(entry.base_url)
    if entry.price is None and (is_here or entry.type in ("ollama", "local", "offline")):
        return FREE
    return entry.price


def _backend(
    entry: ModelEntry, placed: ModelEntry, key: ApiKey | None, name: str, means: Means
) -> TextModel:
    """The backend of an entry; `placed` is the same with the address that counts.

    Raises:
        ConfigurationError: it needs a key and there is none, or its address is none.
    """
    match entry.type:
        case "gemini" | "anthropic" | "openai":
            # A server that speaks OpenAI's protocol elsewhere may want no key.
            is_open = entry.type == "openai" and placed.base_url is not None
            if key is None and not is_open:
                raise missing_key(entry, name)
            return HostedModel(placed, key, means.idle_seconds, key_variable(entry))
        case "ollama":
            return OllamaModel(entry, means.environ, key, means.idle_seconds)
        case "local":
            state = means.home / "cache" / "local_models" if means.home is not None else None
            return LocalModel(entry, state)
        case "offline":
            return OfflineModel()
        case _:
            assert_never(entry.type)


def _with_ollama_model(entry: ModelEntry, environ: Mapping[str, str]) -> ModelEntry:
    if entry.model is not None:
        return entry
    asked = environ if entry.base_url is None else {**environ, HOST_VARIABLE: entry.base_url}
    found = find_ollama(asked)
    return entry.model_copy(update={"model": found[0] if found else DEFAULT_OLLAMA_MODEL})


def _with_weights(entry: ModelEntry, means: Means) -> ModelEntry:
    """The file that is meant; without one, a server that runs here, else what is installed.

    Raises:
        ConfigurationError: there is no such file, none at all, or several.
    """
    if entry.path is None:
        if entry.model is None and (server := find_llama_server(means.environ)) is not None:
            return llama_server_entry(server)
        file = _named_weights(entry.model, means) if entry.model else _only_weights(means)
    else:
        file = _named_weights(entry.path, means)
    if not can_run_local():
        raise ConfigurationError(
            f"{file.name} needs llama-cpp-python, which is not installed: {INSTALL_LOCAL}, or "
            "run the file with Ollama or llama.cpp's own server"
        )
    update: dict[str, object] = {"path": str(file), "model": entry.model or file.stem}
    if "concurrent_requests" not in entry.model_fields_set:
        update["concurrent_requests"] = 1  # it does one after the other anyway
    return entry.model_copy(update=update)


def _named_weights(named: str, means: Means) -> Path:
    if (file := local_file(named, means.home)) is not None:
        return file
    there = ", ".join(file.stem for file in installed_weights(means.home)[:_LOCAL_NAMES_SHOWN])
    raise ConfigurationError(
        f"there is no file {named!r}: local:FILE takes the path of a GGUF file, or a name under "
        f"{_folder(means.home)}, which has {there or 'none'}"
    )


def _only_weights(means: Means) -> Path:
    files = local_models(means.environ, means.home)
    if len(files) == 1:
        return files[0]
    if not files:
        wrong = means.environ.get(LOCAL_MODEL_VARIABLE, "").strip()
        raise ConfigurationError(
            f"{LOCAL_MODEL_VARIABLE} names no file: {wrong!r}"
            if wrong
            else f"there is no local model: put a GGUF file into {_folder(means.home)}, name one "
            f"with local:FILE, or run a llama.cpp server"
        )
    names = ", ".join(file.stem for file in files[:_LOCAL_NAMES_SHOWN])
    raise ConfigurationError(
        f"there are several local models ({names}); say which: local:{files[0].stem}, or set "
        f"{LOCAL_MODEL_VARIABLE}"
    )


def _folder(home: Path | None) -> str:
    return str(home / MODELS_FOLDER) if home is not None else f"CORTEX_HOME/{MODELS_FOLDER}"


def _is_here(url: str) -> bool:
    return is_loopback(urlsplit(url).hostname or "")

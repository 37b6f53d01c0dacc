"""What the name of a model means: an entry of models.json, a backend with a model, or a file.

    gemini                 an entry of models.json
    openai:gpt-6-luna      a backend, and the service's own name of a model
    anthropic              a backend with its usual model
    ollama                 the model that Ollama used last
    local                  a llama.cpp server that runs here, else the installed weights
    local:FILE             weights: a path, or a name under CORTEX_HOME/models
    claude-opus-5-5        a model's own name, by the patterns of models.json
    offline                the planner without a language model
    scripted:FILE          replies from a script
    replay:FILE            replies that were recorded

Nothing is asked or opened here.
"""

from fnmatch import fnmatchcase
from functools import cache
from typing import Final, Literal, TypeAlias, get_args

from config.models_file import BackendName, ModelEntry, ModelsFile, load_models
from config.settings import ROOT
from core.base.frozen import frozen
from core.base.text import near_names
from core.errors import ConfigurationError, UsageError, UserError

AUTO: Final = "auto"
PROFILE_ORIGIN: Final = "llm.text_generation in the profile"
FLAG_ORIGIN: Final = "--model"

BACKENDS: Final[tuple[BackendName, ...]] = get_args(BackendName)

FORMS: Final = (
    "auto, offline, gemini[:MODEL], anthropic[:MODEL], openai[:MODEL], ollama[:MODEL], "
    "local[:FILE], scripted:FILE, replay:FILE, record:FILE[=NAME]"
)
"""What may be said besides names: in messages, and for `--help`."""

NAME_CHARACTERS_SHOWN: Final = 200


@frozen
class RepliesFile:
    """A script of replies, or a recording of them."""

    kind: Literal["scripted", "replay"]
    path: str


Wanted: TypeAlias = ModelEntry | RepliesFile
"""What a name means; an entry may lack its model or file still."""


@cache
def built_in_models() -> ModelsFile:
    """The models.json that ships.

    Raises:
        SettingsError: the installation is damaged.
    """
    return load_models(ROOT / "config" / "models.json")


def completed(models: ModelsFile) -> ModelsFile:
    """`models` with patterns and prices that ship, where the file says nothing of them.

    So a models.json that lists a user's models need not repeat them; an empty table means none.
    """
    ours = {"patterns", "prices"} - models.model_fields_set
    if not ours:
        return models
    shipped = built_in_models()
    update: dict[str, object] = {key: getattr(shipped, key) for key in sorted(ours)}
    if "prices" in ours:
        update["prices_as_of"] = shipped.prices_as_of
    return models.model_copy(update=update)


def resolve(name: str, models: ModelsFile) -> Wanted | None:
    """What a single name means; None if it means nothing."""
    if (entry := models.models.get(name)) is not None:
        return entry
    kind, colon, rest = name.partition(":")
    if colon:
        return _with_argument(kind, rest.strip(), models) or _by_pattern(name, models)
    if (backend := _backend(name)) is not None:
        return default_entry(backend, models)
    return _by_pattern(name, models)


def default_entry(backend: BackendName, models: ModelsFile) -> ModelEntry:
    """The entry of a backend that is meant where only the backend is named.

    It is the one of the user's that bears the backend's name, else the first of that type at the
    service's own address, which are the user's before ours.
    """
    named, ours = models.models.get(backend), built_in_models().models.get(backend)
    if named is not None and named.type == backend and named != ours:
        return named
    for entry in models.models.values():
        if entry.type == backend and entry.base_url is None:
            return entry
    for entry in built_in_models().models.values():
        if entry.type == backend:
            return entry
    return ModelEntry(type=backend)


def default_model(backend: BackendName) -> str | None:
    """Our usual model of a backend, for entries that name none."""
    entries = built_in_models().models.values()
    return next((entry.model for entry in entries if entry.type == backend), None)


def unknown_name(name: str, origin: str, models: ModelsFile) -> UserError:
    """What is said of a name that means nothing: the nearest ones, all there are, and the forms."""
    known = dict.fromkeys([*models.models, AUTO, *BACKENDS])
    near = near_names(name[:NAME_CHARACTERS_SHOWN], known)
    meant = f"; did you mean {' or '.join(near)}?" if near else ";"
    listed = ", ".join(sorted(models.models)) or "none"
    return user_error(
        origin,
        f"{origin}: there is no model {name[:NAME_CHARACTERS_SHOWN]!r}{meant} "
        f"models.json has {listed}; besides these you can say {FORMS}, and several with commas "
        "between, each in case the one before fails",
    )


def user_error(origin: str, message: str) -> UserError:
    """An error of what was typed or of the configuration, by where the name stands."""
    return ConfigurationError(message) if origin == PROFILE_ORIGIN else UsageError(message)


def _with_argument(kind: str, rest: str, models: ModelsFile) -> Wanted | None:
    if not rest or kind == "offline":
        return None
    if kind == "scripted" or kind == "replay":
        return RepliesFile(kind, rest)
    backend = _backend(kind)
    return _entry_for(backend, rest, models) if backend is not None else None


def _by_pattern(name: str, models: ModelsFile) -> ModelEntry | None:
    for pattern, backend in completed(models).patterns.items():
        if fnmatchcase(name, pattern):
            return _entry_for(backend, name, models)
    return None


def _entry_for(backend: BackendName, model: str, models: ModelsFile) -> ModelEntry:
    """An entry for a model that has none: key, address and bounds are those of the backend's.

    What belongs to the backend's usual model, such as its price, is left behind.
    """
    if backend == "local":
        return ModelEntry(type="local", path=model)
    usual = default_entry(backend, models)
    kept = {"api_key_env", "base_url", "timeout_seconds", "concurrent_requests"}
    return ModelEntry(
        type=backend, model=model, **usual.model_dump(include=kept & usual.model_fields_set)
    )


def _backend(name: str) -> BackendName | None:
    return next((backend for backend in BACKENDS if backend == name), None)

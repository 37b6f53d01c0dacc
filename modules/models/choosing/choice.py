"""Which model answers: what `--model` or the profile names, else the best that can be found.

A choice is a chain of names (`names.py` beside) with commas between: each model stands in
for the one before it. `record:FILE` before it all has what is said written down: `record:FILE`
alone records the automatic choice, `record:FILE=NAMES` the chain of these names; FILE ends at the
first `=`. Elsewhere than in a recording, a comma is no part of a file's name, unless the whole
choice is the name of a file that exists.

`auto` is, in this order: the first service whose key is there (Gemini, Anthropic, OpenAI: in the
environment or in the keyring); an Ollama that runs and has a model; a llama.cpp server; the one
installed file of weights, if llama-cpp-python is there to run it; else the offline planner.
"""

from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import Final

from config.models_file import IDLE_SECONDS, ModelEntry, ModelsFile
from core.base.frozen import frozen
from core.base.redaction import Redactor
from core.errors import ConfigurationError, UserError
from modules.models.choosing.building import Built, Means, build, llama_server_entry
from modules.models.choosing.discovery import (
    LLAMA_SERVER_VARIABLE,
    can_run_local,
    find_running,
    llama_server_url,
    local_models,
)
from modules.models.choosing.names import (
    AUTO,
    FLAG_ORIGIN,
    PROFILE_ORIGIN,
    RepliesFile,
    Wanted,
    built_in_models,
    default_entry,
    resolve,
    unknown_name,
    user_error,
)
from modules.models.credentials import (
    GOOGLE_KEY,
    USUAL_VARIABLES,
    KeyringStore,
    find_key,
    key_from_environment,
    key_variable,
)
from modules.models.recorded.model import RecordingModel
from modules.models.serving.watched import ChosenModel

RECORD: Final = "record:"

CHAIN_MAX: Final = 20
"""Longest chain; who names more has made a mistake."""


@frozen
class Choice:
    """The chain that was chosen, one line that says which and why, and what else is to be told.

    `secrets` are the keys of the chain, for those who keep secrets out of what is shown.
    """

    models: tuple[ChosenModel, ...]
    reason: str
    notes: tuple[str, ...] = ()
    secrets: tuple[str, ...] = field(default=(), repr=False)


def choose_models(
    flag: str | None,
    profile_choice: str,
    models: ModelsFile,
    environ: Mapping[str, str],
    home: Path | None = None,
    keyring: KeyringStore | None = None,
    *,
    flag_origin: str = FLAG_ORIGIN,
    idle_seconds: float = IDLE_SECONDS,
) -> Choice:
    """The models of `--model`, else of the profile; `flag_origin` is where else they were named.

    A model of a chain whose key or file is missing is left out, and a note says so, as long as
    another can be used. `home` is CORTEX_HOME; `keyring` is by default that of the system, if there
    is a home, with time to type its password. A reply in which nothing comes for `idle_seconds` is
    given up.

    Raises:
        UsageError: `--model` names nothing that is known, or a file that can't be read.
        ConfigurationError: the profile does, or a key is missing or can't be one; `KeyringSilent`
            where the keyring alone could tell.
    """
    origin = flag_origin if flag is not None else PROFILE_ORIGIN
    text = (profile_choice if flag is None else flag).strip()
    if keyring is None and home is not None:
        keyring = KeyringStore(home)
    means = Means(models, environ, home, keyring, idle_seconds)
    if not text.startswith(RECORD):
        return _chain(text, origin, means)
    file, equals, names = text.removeprefix(RECORD).partition("=")
    if not file.strip():
        raise user_error(origin, f"{origin}: record: takes a file: record:FILE or record:FILE=NAME")
    if names.strip().startswith((RECORD, "replay:")):
        raise user_error(origin, f"{origin}: what is recorded has to be a model: {names[:200]!r}")
    choice = _chain(names.strip() if equals else AUTO, origin, means)
    return _recorded(choice, Path(file.strip()).expanduser(), environ)


def _recorded(choice: Choice, file: Path, environ: Mapping[str, str]) -> Choice:
    redactor = Redactor(environ, choice.secrets)
    models = tuple(
        replace(one, model=RecordingModel(one.model, file, redactor)) for one in choice.models
    )
    return replace(choice, models=models, reason=f"{choice.reason}; recorded to {file}")


def _chain(text: str, origin: str, means: Means) -> Choice:
    """The models of a chain of names, each once.

    Raises:
        UserError: a name that means nothing, or no model that can be used: the first's error.
    """
    names = _names(text, means.models)
    if len(names) > CHAIN_MAX:
        raise user_error(origin, f"{origin}: a chain may have {CHAIN_MAX} models")
    meanings = [_wanted(name, origin, means.models) for name in names]
    why = f"chosen by {origin}"
    built: list[Built] = []
    notes: list[str] = []
    errors: list[UserError] = []
    for name, wanted in zip(names, meanings, strict=True):
        try:
            if wanted is None:
                one, found_by = _automatic(means, notes)
                why = found_by if names == [AUTO] else why
            else:
                one = build(wanted, name, means)
        except UserError as error:
            errors.append(error)
            notes.append(f"{name} is left out: {error}")
        else:
            if all(one.meant != other.meant for other in built):
                built.append(one)
    if not built:
        raise errors[0]
    models = tuple(one.chosen for one in built)
    secrets = tuple(one.key.value for one in built if one.key is not None)
    chain = ", else ".join(model.model.name for model in models)
    where = "".join(f"; {told}" for told in dict.fromkeys(one.told for one in built if one.told))
    return Choice(models, f"{chain}: {why}{where}", tuple(notes), secrets)


def _names(text: str, models: ModelsFile) -> list[str]:
    """The single names of a chain, each once; an entry or a file may have a comma in its name."""
    whole = resolve(text, models) if "," in text else None
    match whole:
        case RepliesFile(path=path) | ModelEntry(type="local", path=str(path)):
            is_one = _is_file(path)
        case _:
            is_one = text in models.models
    if is_one:
        return [text]
    return list(dict.fromkeys(name.strip() for name in text.split(",")))


def _wanted(name: str, origin: str, models: ModelsFile) -> Wanted | None:
    """What a name means; None for `auto`.

    Raises:
        UserError: nothing.
    """
    if name == AUTO:
        return None
    if name.startswith(RECORD):
        raise user_error(
            origin,
            f"{origin}: {RECORD} stands before the whole chain: record:FILE=NAME,NAME",
        )
    if (meant := resolve(name, models)) is None:
        raise unknown_name(name, origin, models)
    return meant


def _automatic(means: Means, notes: list[str]) -> tuple[Built, str]:
    """The first of what can answer, in the order of the module's docstring, and why.

    Raises:
        ConfigurationError: a key in the environment can't be one.
    """
    for entry in _entries_with_keys(means.models):
        if (why := _why_by_key(entry, means, notes)) is not None:
            return build(entry, entry.type, means), why
    entry, why = _without_key(means, notes)
    return build(entry, entry.type, means), why


def _entries_with_keys(models: ModelsFile) -> list[ModelEntry]:
    """Entries whose key may choose them, by backend, in the order of the file; then ours."""
    found: list[ModelEntry] = []
    for backend, usual in USUAL_VARIABLES.items():
        listed = [entry for entry in models.models.values() if entry.type == backend]
        found += [entry for entry in listed if key_variable(entry) not in (None, GOOGLE_KEY)]
        if all(key_variable(entry) != usual for entry in listed):
            found.append(default_entry(backend, built_in_models()))
    return found


def _why_by_key(entry: ModelEntry, means: Means, notes: list[str]) -> str | None:
    """Why an entry is chosen, if its own key is there."""
    variable = key_variable(entry) or ""
    if key_from_environment(variable, means.environ) is not None:
        return f"{variable} is set"
    try:
        key = find_key(entry, means.environ, means.keyring)
    except ConfigurationError as error:  # a keyring that is locked is no reason to answer nothing
        if str(error) not in notes:
            notes.append(str(error))
        return None
    if key is None or key.origin == GOOGLE_KEY:
        return None
    return f"its key is in the keyring ({variable})"


def _without_key(means: Means, notes: list[str]) -> tuple[ModelEntry, str]:
    """What runs on this machine, and why it is chosen; the offline planner, if nothing does."""
    if llama_server_url(means.environ) is None:
        notes.append(f"{LLAMA_SERVER_VARIABLE} is no address; it should be like http://host:8080")
    running = find_running(means.environ)
    if running.ollama:
        return _ollama_entry(means.models, running.ollama), "no key, and Ollama is running"
    if (server := running.llama_server) is not None:
        place = server.base_url.removesuffix("/v1")
        return llama_server_entry(server), f"no key, and a llama.cpp server runs at {place}"
    files = local_models(means.environ, means.home)
    if len(files) == 1 and can_run_local():
        return ModelEntry(type="local", path=str(files[0])), f"no key, and {files[0]} is installed"
    offline = ModelEntry(type="offline")
    if means.environ.get(GOOGLE_KEY, "").strip():
        return offline, f"{GOOGLE_KEY} alone does not choose Gemini, --model gemini does"
    return offline, f"no key, no Ollama, no llama.cpp server, {_weights(files)}"


def _weights(files: tuple[Path, ...]) -> str:
    """Why weights on disk are not used."""
    if not files:
        return "no local model"
    first, *more = files
    if more:
        return f"and {len(files)} local models, of which --model local:{first.stem} names one"
    return f"no llama-cpp-python to run {first.name}"


def _ollama_entry(models: ModelsFile, installed: tuple[str, ...]) -> ModelEntry:
    """Ollama's entry with the model that it names, if that is installed, else the first."""
    usual = default_entry("ollama", models)
    if usual.base_url is not None:  # not the one that was found
        return ModelEntry(type="ollama", model=installed[0])
    if usual.model is not None and {usual.model, f"{usual.model}:latest"} & {*installed}:
        return usual
    return usual.model_copy(update={"model": installed[0]})


def _is_file(path: str) -> bool:
    try:
        return Path(path).expanduser().is_file()
    except (OSError, ValueError, RuntimeError):
        return False

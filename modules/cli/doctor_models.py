"""What `doctor` finds out about models: which would answer, and which others could."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from config.models_file import ModelsFile
from config.schema import AgentProfile
from core.base.ollama import HOST_VARIABLE, ollama_address
from core.base.text import listed
from core.errors import UserError
from modules.cli.auth import is_set, known_variables
from modules.cli.doctor_findings import Check
from modules.models.choosing.building import INSTALL_LOCAL
from modules.models.choosing.choice import choose_models
from modules.models.choosing.discovery import (
    LLAMA_SERVER_VARIABLE,
    LOCAL_MODEL_VARIABLE,
    MODELS_FOLDER,
    Running,
    can_run_local,
    find_running,
    llama_server_url,
    local_models,
)
from modules.models.credentials import (
    GOOGLE_KEY,
    KeyringSilent,
    KeyringStore,
    OpenBackend,
    system_backend,
)

KEYRING_SECONDS: Final = 2.0
"""How long the keyring is waited for: nobody is asked to unlock it for a report."""

SILENT_TIP: Final = "a request waits longer for it, so that its password can be typed"

MODELS_SHOWN: Final = 5

OFFLINE_TIP: Final = (
    "it plans arithmetic, texts and tool calls only; a key (agent.py auth set gemini), Ollama or "
    "a llama.cpp server makes a language model answer"
)


def model_checks(
    profile: AgentProfile,
    models: ModelsFile,
    environ: Mapping[str, str],
    home: Path,
    open_backend: OpenBackend = system_backend,
    keyring_seconds: float = KEYRING_SECONDS,
) -> Iterator[Check]:
    """The model that would answer and why, and what else could; keys are never shown.

    `open_backend` opens the keyring, by default that of the system; it has `keyring_seconds` to
    answer. A silent one is told: a run waits longer for it, and may find a key.
    """
    wanted = profile.llm.text_generation
    keyring = KeyringStore(home, open_backend, keyring_seconds)
    try:
        choice = choose_models(None, wanted, models, environ, home, keyring)
    except KeyringSilent as error:
        yield Check("model", "answers", "missing", f"{wanted}: {error}", SILENT_TIP)
    except UserError as error:
        yield Check("model", "answers", "broken", str(error))
    else:
        is_offline = [one.model.name for one in choice.models] == ["offline"]
        yield Check("model", "answers", "ok", choice.reason, OFFLINE_TIP if is_offline else "")
        for note in choice.notes:
            yield Check("model", "note", "note", note)
    yield _keys(models, environ, keyring)
    yield _keyring(keyring)
    yield from _running(find_running(environ), environ)
    yield _weights(environ, home)


def _keys(models: ModelsFile, environ: Mapping[str, str], keyring: KeyringStore) -> Check:
    """Which keys are there, from the environment and from the list of those in the keyring."""
    try:
        kept = keyring.names()
    except UserError as error:
        return Check("model", "keys", "broken", str(error))

    def where(variable: str) -> str:
        if is_set(variable, environ):
            return "is set"
        return "is in the keyring" if variable in kept else "is not set"

    variables = dict.fromkeys([*known_variables(models), GOOGLE_KEY, *kept])
    return Check(
        "model", "keys", "ok", ", ".join(f"{variable} {where(variable)}" for variable in variables)
    )


def _keyring(keyring: KeyringStore) -> Check:
    """What kind of keyring there is; without one, keys can still be set in the environment."""
    try:
        found = keyring.backend_name()
    except UserError as error:
        return Check("model", "keyring", "missing", str(error))
    if found is None:
        tip = "keys go into the environment"
        return Check("model", "keyring", "note", "this system has none that can be used", tip)
    return Check("model", "keyring", "ok", found)


def _running(running: Running, environ: Mapping[str, str]) -> Iterator[Check]:
    if running.ollama:
        yield Check("model", "Ollama", "ok", f"runs, with {_some(running.ollama)}")
    else:
        told = f"no model that can chat at {ollama_address(environ)}"
        yield _absent("Ollama", told, HOST_VARIABLE, environ)
    if (server := running.llama_server) is not None:
        yield Check("model", "llama.cpp", "ok", f"{server.model}, at {server.base_url}")
        return
    place = llama_server_url(environ)
    told = f"no server at {place}" if place else f"{LLAMA_SERVER_VARIABLE} is no address"
    yield _absent("llama.cpp", told, LLAMA_SERVER_VARIABLE, environ)


def _absent(name: str, told: str, variable: str, environ: Mapping[str, str]) -> Check:
    """Something that somebody asked for by a variable is missing; else it is only not there."""
    if is_set(variable, environ):
        return Check("model", name, "missing", f"{told} ({variable})")
    return Check("model", name, "note", told)


def _weights(environ: Mapping[str, str], home: Path) -> Check:
    """The files of weights, and whether they can be run."""
    files = local_models(environ, home)
    if not files:
        if is_set(LOCAL_MODEL_VARIABLE, environ):
            told = f"{LOCAL_MODEL_VARIABLE} names no file"
            return Check("model", "local", "missing", told)
        return Check("model", "local", "note", f"no GGUF file in {home / MODELS_FOLDER}")
    told = _some(tuple(str(file) for file in files))
    if not can_run_local():
        return Check("model", "local", "missing", f"{told}: nothing here can run it", INSTALL_LOCAL)
    return Check("model", "local", "ok", told)


def _some(names: tuple[str, ...]) -> str:
    return listed(names[:MODELS_SHOWN], len(names))

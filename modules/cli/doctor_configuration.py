"""What `doctor` finds out about what is configured: files, servers, documents, the web."""

import ipaddress
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import urlsplit

from config.models_file import ModelsFile
from config.schema import AgentProfile, WebSection
from config.server_list import KEY_VARIABLES, ServerList, uses_gemini
from config.servers import ServerSpec
from config.settings import HOME_VARIABLE, Places, SettingsError
from core.base.http import is_loopback
from core.base.ollama import HOST_VARIABLE, ollama_address
from core.base.text import listed, size_text
from core.dispatch.start_failures import StartFailures
from core.errors import UserError
from core.process.left_session import can_find, left_behind
from modules.cli.auth import is_set, known_variables
from modules.cli.doctor_findings import Check
from modules.cli.mcp_list import NOTHING_CONFIGURED, kind_of, shown_origin
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

Read = TypeVar("Read")

_CORRECT_IT: Final = "nothing is answered before this is corrected"

_NO_GEMINI_KEY: Final = "GEMINI_API_KEY is not set in the environment"

ENTRIES_COUNTED: Final = 1000
"""How many entries of a folder are counted; nobody waits for more."""

_PROVENANCE: Final = {
    "auto": "auto: you are asked where you can be, and calls are refused elsewhere",
    "ask": "ask: you are asked where you can be, and calls are refused elsewhere",
    "strict": "strict: calls are refused",
    "off": "off: a hostile page may have a model send what it read to any address",
}
"""What happens when a plan passes on an address that nobody named."""

_APPROVALS: Final = {
    "changing": "changing: a call that may change something needs your yes, or a rule of yours",
    "always": "always: every call waits for your yes",
    "never": "never: a plan may call any tool, also one that changes things, without a question",
}
"""Which calls the user must allow."""


def readable(
    name: str, read: Callable[[], Read], file: Path | None = None
) -> tuple[Read | None, list[Check]]:
    """What a part of the configuration holds, None if it can't be used, and what to say of it."""
    try:
        found = read()
    except SettingsError as error:
        return None, [Check("configuration", name, "broken", str(error), _CORRECT_IT)]
    return found, [Check("configuration", name, "ok", str(file))] if file is not None else []


def server_checks(servers: ServerList, failures: StartFailures) -> Iterator[Check]:
    """Each server, none of them started, and what there is to note."""
    if not servers.specs and not servers.disabled:
        yield Check("servers", "none", "note", NOTHING_CONFIGURED)
    for spec in servers.specs:
        yield _server(spec, failures)
    for spec in servers.disabled:
        yield Check("servers", spec.id, "note", f"disabled in {shown_origin(spec)}")
    for note in servers.notes:
        yield Check("servers", "note", "note", note)
    for pid, server in left_behind():
        told = f"process {pid} of server '{server}' runs on, and what started it has ended"
        yield Check("servers", "left behind", "note", told, f"end it: kill {pid}")
    if not can_find():
        told = "a process that leaves the session of its server is not found on this system"
        yield Check("servers", "children", "note", told, "look for it when a server has ended")


def file_checks(
    places: Places, profile: AgentProfile | None, environ: Mapping[str, str]
) -> Iterator[Check]:
    """Where things are kept, and whether they can be; nothing is written to find out."""
    yield _home(places, environ)
    if profile is not None:
        yield _sessions(places, profile)
    yield _folder("logs", places.log_file.parent, "logs are not written")
    yield _folder("cache", places.cache, "every run asks its servers for their tools")


def _home(places: Places, environ: Mapping[str, str]) -> Check:
    whence = "by default"
    if environ.get(HOME_VARIABLE):
        whence = f"from {HOME_VARIABLE}"
    elif places.home == places.root:
        whence = "the checkout"
    problem = _write_problem(places.home)
    if problem is None:
        return Check("files", "home", "ok", f"{places.home} ({whence})")
    told = f"{places.home} ({whence}): {problem}"
    return Check("files", "home", "missing", told, f"set {HOME_VARIABLE} to a folder of your own")


def _sessions(places: Places, profile: AgentProfile) -> Check:
    if not profile.memory.memory_service:
        return Check("files", "sessions", "note", "not kept: memory_service is off in the profile")
    folder = profile.memory_folder(places.home)
    return _folder("sessions", folder, "sessions are not kept")


def _folder(name: str, path: Path, loss: str) -> Check:
    problem = _write_problem(path)
    if problem is None:
        return Check("files", name, "ok", str(path))
    return Check("files", name, "missing", f"{path}: {problem}, so {loss}")


def _write_problem(folder: Path) -> str | None:
    """Why nothing can be written to a folder, or where it would be made."""
    try:
        there = next(path for path in (folder, *folder.parents) if path.exists())
        if not there.is_dir():
            return f"{there} is no folder"
        if not os.access(there, os.W_OK | os.X_OK):
            return "it can't be written" if there == folder else f"{there} can't be written"
    except OSError as error:
        return f"can't be looked at: {error.strerror or error}"
    return None


def _server(spec: ServerSpec, failures: StartFailures) -> Check:
    if spec.problem is not None:
        return Check("servers", spec.id, "missing", spec.problem)
    if (failure := failures.resting(spec)) is not None:
        return Check("servers", spec.id, "missing", failure.told(failures.clock()))
    return Check("servers", spec.id, "ok", f"{kind_of(spec)}, in {shown_origin(spec)}")


def documents_checks(
    profile: AgentProfile, places: Places, environ: Mapping[str, str]
) -> Iterator[Check]:
    """The folders, the index, and keys that are asked for; nothing is read or written."""
    section = profile.documents
    for name in section.folders:
        yield _documents_folder(places.home / Path(name).expanduser())
    yield _index(profile.index_folder(places.home))
    if uses_gemini(section) and not environ.get("GEMINI_API_KEY"):
        told = f"the documents section names it, and {_NO_GEMINI_KEY}"
        advice = "set it, or choose another embedder and captions"
        yield Check("documents", "Gemini", "missing", told, advice)


def _documents_folder(path: Path) -> Check:
    try:
        with os.scandir(path) as entries:
            count = sum(1 for _, _ in zip(entries, range(ENTRIES_COUNTED + 1), strict=False))
    except FileNotFoundError:
        advice = "make it, or add files with agent.py docs add"
        return Check("documents", "folder", "note", f"{path}: is not there yet", advice)
    except OSError as error:
        told = f"{path}: {error.strerror or error}"
        return Check("documents", "folder", "missing", told, "correct documents.folders")
    more = "more than " if count > ENTRIES_COUNTED else ""
    shown = min(count, ENTRIES_COUNTED)
    return Check("documents", "folder", "ok", f"{path} ({more}{shown} entries)")


def _index(folder: Path) -> Check:
    there = next((path for path in (folder, *folder.parents) if path.exists()), folder)
    if not os.access(there, os.W_OK | os.X_OK):
        told = f"{folder}: {there} can't be written, so documents can't be searched"
        return Check("documents", "index", "missing", told, "correct documents.index_folder")
    try:
        size = sum(entry.stat().st_size for entry in os.scandir(folder) if entry.is_file())
    except OSError:
        return Check("documents", "index", "ok", f"{folder} (made with the first document)")
    return Check("documents", "index", "ok", f"{folder} ({size_text(size)})")


def web_checks(profile: AgentProfile, environ: Mapping[str, str]) -> Iterator[Check]:
    """The engine and its key, hosts that are open, and the rule for addresses; nothing is asked."""
    yield _engine(profile.web, environ)
    yield _pages(profile.web)
    if profile.web.captions.startswith("gemini") and not environ.get("GEMINI_API_KEY"):
        told = f"web.captions names Gemini, and {_NO_GEMINI_KEY}"
        yield Check("web", "pictures", "missing", told, "set it, or choose other captions")
    security = profile.security
    yield _rule("provenance", security.provenance, _PROVENANCE, "off", "auto")
    yield _rule("approvals", security.approvals, _APPROVALS, "never", "changing")


def _engine(section: WebSection, environ: Mapping[str, str]) -> Check:
    told = section.search
    if section.search_url is not None:
        told = f"{told} at {section.search_url}"
        place = urlsplit(section.search_url)
        host = place.hostname or ""
        opened = {host, f"[{host}]", place.netloc} & set(section.allow_private)
        if _is_of_this_network(host) and not opened:
            advice = f"if it is yours, add {host} to web.allow_private"
            told = f"{told}, which is not on the public internet and so is not asked"
            return Check("web", "engine", "missing", told, advice)
    name = KEY_VARIABLES.get(section.search)
    if name is None:
        return Check("web", "engine", "ok", f"{told} (needs no key)")
    if environ.get(name):
        return Check("web", "engine", "ok", f"{told}: {name} is set")
    advice = "set it, or choose another engine in web.search"
    return Check("web", "engine", "missing", f"{told}: {name} is not set", advice)


def _pages(section: WebSection) -> Check:
    if not section.allow_private:
        return Check("web", "pages", "ok", "of public addresses only")
    told = f"of public addresses, and of hosts that you named: {', '.join(section.allow_private)}"
    return Check("web", "pages", "note", told)


def _rule(name: str, setting: str, ways: Mapping[str, str], open_way: str, usual: str) -> Check:
    """A setting of the security section in words; a note where it lets everything pass."""
    if setting == open_way:
        advice = f"take out security.{name}, or set it to {usual}"
        return Check("web", name, "note", ways[setting], advice)
    return Check("web", name, "ok", ways[setting])


def _is_of_this_network(host: str) -> bool:
    """Whether a host is a number of a private network, or this machine; names aren't looked up."""
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return is_loopback(host)


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

"""What `doctor` finds out about the configuration: profile, model, servers, places on disk."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from config.models_file import ModelsFile
from config.schema import AgentProfile
from config.server_list import ServerList
from config.servers import ServerSpec
from config.settings import HOME_VARIABLE, Places, SettingsError
from core.dispatch.start_failures import StartFailures
from core.process.left_session import can_find, left_behind
from modules.cli.doctor_findings import Check
from modules.cli.mcp_list import NOTHING_CONFIGURED, kind_of, shown_origin
from modules.cli.surroundings import Surroundings

_CORRECT_IT: Final = "nothing is answered before this is corrected"


def read_profile(around: Surroundings) -> tuple[AgentProfile | None, Check]:
    """The profile, None if it can't be used, and what there is to say of it."""
    try:
        profile = around.profile
    except SettingsError as error:
        return None, Check("configuration", "profile", "broken", str(error), _CORRECT_IT)
    return profile, Check("configuration", "profile", "ok", str(around.profile_file))


def read_models(around: Surroundings) -> tuple[ModelsFile | None, Check]:
    """The models, None if the file can't be used, and what there is to say of it."""
    try:
        models = around.models
    except SettingsError as error:
        return None, Check("configuration", "models", "broken", str(error), _CORRECT_IT)
    path = around.places.config_file("models.json")
    return models, Check("configuration", "models", "ok", str(path))


def read_servers(around: Surroundings) -> tuple[ServerList | None, list[Check]]:
    """The configured servers, None if a file with servers can't be used, and why it can't."""
    try:
        return around.servers, []
    except SettingsError as error:
        return None, [Check("configuration", "servers", "broken", str(error), _CORRECT_IT)]


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
    folder = places.home / profile.memory.storage.base_dir
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

"""How to start one MCP server, in a form that needs no heavy import.

The composition root spawns servers before it imports anything else (the SDK costs a second), so
this module reads a profile's raw entries with the standard library alone; `config.schema`
checks the same entries with full error messages afterwards.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias, cast

ConnectionMode: TypeAlias = Literal["persistent", "per_call"]

START_TIMEOUT_SECONDS = 20.0
"""Default bound on spawn plus MCP handshake; importing an SDK on a busy machine takes seconds."""

CALL_TIMEOUT_SECONDS = 60.0
"""Default bound on one tool call."""


@dataclass(frozen=True, slots=True)
class ServerSpec:
    """One stdio MCP server of the profile.

    `command` is the whole argv; `env` what the server gets beyond the default environment.
    `capabilities` are the tool names that the profile promises, `basic_tools` those that stay
    in front of the planner whatever perception hints at.
    """

    id: str
    command: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    description: str = ""
    capabilities: tuple[str, ...] = ()
    basic_tools: tuple[str, ...] = ()
    connection: ConnectionMode = "persistent"
    start_timeout_seconds: float = START_TIMEOUT_SECONDS
    call_timeout_seconds: float = CALL_TIMEOUT_SECONDS


def server_spec(entry: Mapping[str, object], root: Path, profile_folder: Path) -> ServerSpec:
    """The spec of one `mcp_servers` entry.

    A relative `script` is looked up in `cwd` where one is given, else in `root` (the checkout),
    else beside the profile. `command` and `args` replace `script` for servers that are not
    Python files; given with one, `command` is the interpreter that runs it. A `~` whose home is
    not known stays, so that starting the server names the path that isn't there.

    Raises:
        KeyError, TypeError, ValueError: the entry is not of the documented form; callers that
            want a message for a person validate with `config.schema` first.
    """
    raw_cwd = entry.get("cwd")
    cwd = root / _expanded(str(raw_cwd)) if raw_cwd is not None else root
    command = str(entry.get("command") or sys.executable)
    args = _strings(entry.get("args"))
    script = entry.get("script")
    if script:
        args = (str(_find_script(str(script), cwd, profile_folder)), *args)
    elif not entry.get("command"):
        raise ValueError("a server needs 'script' or 'command'")
    env = cast("Mapping[object, object]", entry.get("env") or {})
    connection = str(entry.get("connection", "persistent"))
    if connection not in ("persistent", "per_call"):
        raise ValueError("connection is 'persistent' or 'per_call'")
    return ServerSpec(
        id=str(entry["id"]),
        command=(command, *args),
        cwd=cwd,
        env={str(key): str(value) for key, value in env.items()},
        description=str(entry.get("description") or "").strip(),
        capabilities=_strings(entry.get("capabilities")),
        basic_tools=_strings(entry.get("basic_tools")),
        connection=connection,
        start_timeout_seconds=_seconds(entry, "start_timeout_seconds", START_TIMEOUT_SECONDS),
        call_timeout_seconds=_seconds(entry, "call_timeout_seconds", CALL_TIMEOUT_SECONDS),
    )


def _find_script(script: str, cwd: Path, profile_folder: Path) -> Path:
    path = _expanded(script)
    # Absolute, because the server starts in `cwd`, not where a relative profile path began.
    candidates = [cwd / path, profile_folder.absolute() / path]
    return next((found for found in candidates if _is_file(found)), candidates[0])


def _expanded(path: str) -> Path:
    try:
        return Path(path).expanduser()
    except RuntimeError:  # no such user, or no home at all
        return Path(path)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a folder that may not be entered, a name that is too long
        return False


def _strings(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise TypeError("expected a list of strings")
    return tuple(str(item) for item in cast("list[object]", value))


def _seconds(entry: Mapping[str, object], key: str, default: float) -> float:
    value = entry.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{key} is a number of seconds")
    return float(value)

"""How to start one MCP server, in a form that needs no heavy import.

The composition root spawns servers before it imports anything else (the SDK costs a second), so
this module reads a profile's raw entries with the standard library alone; `config.schema`
checks the same entries with full error messages afterwards.
"""

import keyword
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias, cast

from config.expansion import Expander
from config.http_address import header_problem, url_problem

ConnectionMode: TypeAlias = Literal["persistent", "per_call"]
StartMode: TypeAlias = Literal["lazy", "eager"]

START_TIMEOUT_SECONDS = 20.0
"""Default bound on spawn plus MCP handshake; importing an SDK on a busy machine takes seconds."""

FIRST_FETCH_SECONDS = 180.0
"""The same for the first start of what is downloaded for it, where nobody has set a bound."""

CALL_TIMEOUT_SECONDS = 60.0
"""Default bound on one tool call."""

CONCURRENT_CALLS = 8
"""Default bound on the calls that one server works on at once; more wait their turn."""

RESULT_BYTES_MAX = 16 * 1024 * 1024
"""Default size at which one tool result is cut, in bytes."""

MAX_SECONDS = 24 * 60 * 60.0
"""No wait is longer than a day; beyond some centuries the operating system refuses the number."""

MAX_CONCURRENT_CALLS = 1000
MIN_RESULT_BYTES = 1024
LARGEST_RESULT_BYTES = 1024 * 1024 * 1024
"""The least and the most that `result_bytes` may be: a note on the cut, and what memory holds."""

PROFILE_ORIGIN = "under mcp_servers in the profile"

_PROBLEMS_SHOWN = 5

_FETCHING = (
    *(
        "npx",
        "uvx",
        "bunx",
        "pnpx",
        "docker run",
        "podman run",
        "pipx run",
        "uv run",
        "uv tool run",
    ),
    *("npm exec", "npm x", "pnpm dlx", "yarn dlx", "bun x", "deno run"),
)
"""Commands that download what they run, if it isn't there."""


@dataclass(frozen=True, slots=True)
class ServerSpec:
    """One MCP server: a program that is spoken to over stdio, or a URL (Streamable HTTP).

    `command` is the whole argv, empty where `url` is set; `env` what the program gets beyond the
    default environment; `headers` go with every HTTP request. `capabilities` are the tool names
    that the profile promises, `basic_tools` those that stay in front of the planner whatever
    perception hints at. `tool_timeout_seconds` overrides `call_timeout_seconds` by tool name.

    `bundled` marks a server of this very program: it ends when its stdin closes, and its tools
    change with the checkout. `origin` says where the entry stands, for messages ("under
    mcp_servers in the profile"). `problem` is set where the entry can't be used, a variable that
    is not set, say: starting the server then fails with this text.

    `secrets` are values that variables brought in and no log or terminal should show; they,
    `env` and `headers` are left out of the `repr`.
    """

    id: str
    command: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    description: str = ""
    capabilities: tuple[str, ...] = ()
    basic_tools: tuple[str, ...] = ()
    connection: ConnectionMode = "persistent"
    start_timeout_seconds: float = START_TIMEOUT_SECONDS
    call_timeout_seconds: float = CALL_TIMEOUT_SECONDS
    url: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    start: StartMode = "lazy"
    tool_timeout_seconds: Mapping[str, float] = field(default_factory=dict[str, float])
    concurrent_calls: int = CONCURRENT_CALLS
    result_bytes: int = RESULT_BYTES_MAX
    bundled: bool = False
    origin: str = PROFILE_ORIGIN
    problem: str | None = None
    secrets: frozenset[str] = field(default=frozenset(), repr=False)

    @property
    def fetching(self) -> str | None:
        """The program that may download the server before it runs it, `npx`, say; else None."""
        if not self.command:
            return None
        program = Path(self.command[0]).name
        words = " ".join([program, *self.command[1:3]])
        return program if any(f"{words} ".startswith(f"{one} ") for one in _FETCHING) else None

    def timeout_of(self, tool: str) -> float:
        """How long a call of this tool may take, in seconds."""
        return self.tool_timeout_seconds.get(tool, self.call_timeout_seconds)


def plan_name(server_id: str) -> str:
    """The id as plans write it, in `tools.<id>.<tool>`: ids that share it can't be told apart."""
    name = server_id.replace("-", "_")
    return f"{name}_" if keyword.iskeyword(name) else name


def server_spec(
    entry: Mapping[str, object],
    root: Path,
    profile_folder: Path,
    *,
    environ: Mapping[str, str] = os.environ,
    origin: str = PROFILE_ORIGIN,
) -> ServerSpec:
    """The spec of one `mcp_servers` entry.

    A relative `script` is looked up in `cwd` where one is given, else in `root` (the checkout),
    else beside the profile. `command` and `args` replace `script` for servers that are not
    Python files; given with one, `command` is the interpreter that runs it. A `~` whose home is
    not known stays, so that starting the server names the path that isn't there.

    Variables (`config.expansion`) are taken from `environ`. One that is not set, and an address
    or header that can't be used, become the spec's `problem`, which names `origin` and key.

    Raises:
        KeyError, TypeError, ValueError: the entry is not of the documented form; callers that
            want a message for a person validate with `config.schema` first.
    """
    server_id = str(entry["id"])
    expander = Expander(environ, root)
    raw_cwd = entry.get("cwd")
    cwd = root / _expanded(expander.text("cwd", str(raw_cwd))) if raw_cwd is not None else root
    url = expander.text("url", str(entry["url"])) if entry.get("url") else None
    command, bundled = _command(entry, expander, root, cwd, profile_folder)
    env = expander.private_mapping("env", _texts_by_name(entry, "env"))
    raw_headers = expander.private_mapping("headers", _texts_by_name(entry, "headers"))
    headers = {name: value.strip() for name, value in raw_headers.items()}
    return ServerSpec(
        id=server_id,
        command=command,
        cwd=cwd,
        env=env,
        description=str(entry.get("description") or "").strip(),
        capabilities=_strings(entry.get("capabilities")),
        basic_tools=_strings(entry.get("basic_tools")),
        connection=_connection(entry),
        start_timeout_seconds=_seconds(entry, "start_timeout_seconds", START_TIMEOUT_SECONDS),
        call_timeout_seconds=_seconds(entry, "call_timeout_seconds", CALL_TIMEOUT_SECONDS),
        url=url,
        headers=headers,
        start=_start(entry),
        tool_timeout_seconds=_seconds_by_tool(entry),
        concurrent_calls=_count(entry, "concurrent_calls", CONCURRENT_CALLS),
        result_bytes=_count(entry, "result_bytes", RESULT_BYTES_MAX),
        bundled=bundled,
        origin=origin,
        problem=_problem(server_id, origin, expander.problems, url, headers),
        secrets=frozenset(expander.secrets),
    )


def _command(
    entry: Mapping[str, object], expander: Expander, root: Path, cwd: Path, profile_folder: Path
) -> tuple[tuple[str, ...], bool]:
    """The argv of the server, empty for a URL, and whether it is one of our own."""
    script, program = entry.get("script"), entry.get("command")
    if entry.get("url"):
        if script or program:
            raise ValueError("a server is either a program or a 'url'")
        return (), False
    if not script and not program:
        raise ValueError("a server needs 'script', 'command' or 'url'")
    args = expander.texts("args", _strings(entry.get("args")))
    command = expander.text("command", str(program or sys.executable))
    if not script:
        return (command, *args), False
    path = _find_script(expander.text("script", str(script)), cwd, profile_folder)
    is_ours = command == sys.executable and _lies_in(path, root / "servers")
    return (command, str(path), *args), is_ours


def _problem(
    server_id: str, origin: str, found: list[str], url: str | None, headers: Mapping[str, str]
) -> str | None:
    """Why the entry can't be used: variables first, for they may be what makes a URL wrong."""
    problems = list(found)
    if url is not None and not problems:
        if (wrong := url_problem(url)) is not None:
            problems.append(f"key 'url' is {wrong}")
        if (wrong := header_problem(headers)) is not None:
            problems.append(wrong)
    return describe_problems(server_id, origin, problems) if problems else None


def describe_problems(server_id: str, origin: str, problems: list[str]) -> str:
    """The `problem` of a spec: which server, where its entry stands, what is wrong with it."""
    shown = problems[:_PROBLEMS_SHOWN]
    if hidden := len(problems) - len(shown):
        shown.append(f"… and {hidden} more")
    return f"server '{server_id}' {origin} can't be used: {'; '.join(shown)}"


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


def _lies_in(path: Path, folder: Path) -> bool:
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError):  # a loop of links, a name that can't be one
        return False


def _connection(entry: Mapping[str, object]) -> ConnectionMode:
    mode = str(entry.get("connection", "persistent"))
    if mode not in ("persistent", "per_call"):
        raise ValueError("connection is 'persistent' or 'per_call'")
    return mode


def _start(entry: Mapping[str, object]) -> StartMode:
    mode = str(entry.get("start", "lazy"))
    if mode not in ("lazy", "eager"):
        raise ValueError("start is 'lazy' or 'eager'")
    return mode


def _texts_by_name(entry: Mapping[str, object], key: str) -> dict[str, str]:
    mapping = cast("Mapping[object, object]", entry.get(key) or {})
    return {str(name): str(value) for name, value in mapping.items()}


def _seconds(entry: Mapping[str, object], key: str, default: float) -> float:
    value = entry.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{key} is a number of seconds")
    return float(value)


def _seconds_by_tool(entry: Mapping[str, object]) -> dict[str, float]:
    by_tool = cast("Mapping[str, object]", entry.get("tool_timeout_seconds") or {})
    return {str(tool): _seconds(by_tool, tool, CALL_TIMEOUT_SECONDS) for tool in by_tool}


def _count(entry: Mapping[str, object], key: str, default: int) -> int:
    value = entry.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{key} is a whole number")
    return value


# Names of servers, which may be anything in an `mcp.json`, and the ids that stand for them.

MAX_ID_CHARACTERS = 64
"""To this length a name is cut that is made into an id."""

ID_FORM = "a name starts with a letter and holds letters, digits, '-' and '_'"

_ID = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


def is_server_id(name: str) -> bool:
    """Whether the name is an id as it stands; `config.schema.ServerEntry` asks for the same."""
    return _ID.fullmatch(name) is not None


def server_id_of(name: str) -> str:
    """The id that stands for a name: itself if it is one, else what is left without the rest.

    `My Server!` becomes `My-Server`, `@acme/search` `acme-search`, `1password`
    `server-1password`.
    """
    if is_server_id(name):
        return name
    import unicodedata  # late: names are ids as a rule

    letters = unicodedata.normalize("NFKD", name[: 4 * MAX_ID_CHARACTERS])
    plain = letters.encode("ascii", "ignore").decode("ascii")
    made = re.sub(r"[^A-Za-z0-9_]+", "-", plain)[:MAX_ID_CHARACTERS].strip("-_")
    if not made:
        return "server"
    return made if made[0].isalpha() else f"server-{made}"

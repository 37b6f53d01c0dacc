"""One MCP server: its keys in the profile, and how it is started, reached and bounded."""

import hashlib
import json
import keyword
import os
import re
import sys
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import pairwise
from pathlib import Path
from typing import Literal, TypeAlias
from urllib.parse import urlsplit, urlunsplit

from pydantic import Field, StrictBool, field_validator, model_validator

from config.checking import Count, Seconds, Section
from config.http_address import header_problem, url_problem
from config.variables import Expander
from core.base.frozen import frozen
from core.base.text import lazy_pattern

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

MAX_CONCURRENT_CALLS = 1000
MIN_RESULT_BYTES = 1024
LARGEST_RESULT_BYTES = 1024 * 1024 * 1024
"""The least and the most that `result_bytes` may be: a note on the cut, and what memory holds."""

PROFILE_ORIGIN = "under mcp_servers in the profile"

_PROBLEMS_SHOWN = 5

MAX_ID_CHARACTERS = 64
"""To this length a name is cut that is made into an id."""

ID_FORM = "a name starts with a letter and holds letters, digits, '-' and '_'"

_ID = lazy_pattern(r"[A-Za-z][A-Za-z0-9_-]*")

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

_PROGRAM_SUFFIXES = frozenset(
    {"", ".py", ".pyz", ".js", ".mjs", ".cjs", ".ts", ".mts", ".sh", ".rb", ".php", ".pl", ".jar"}
)
"""How the names of files end that an interpreter may run, or the system itself."""


@frozen
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

    `cwd` is part of what a server is: what is kept of it is kept for that folder. `runs_in` is
    where it works instead, if that is the folder that the user happens to be in.
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
    runs_in: Path | None = None

    @property
    def key(self) -> str:
        """What the server is: its id, and a hash of what it runs and where, or of its URL.

        A URL counts without user, query and fragment, which may hold secrets; neither values of
        environment variables nor headers count.
        """
        runs = [_bare(self.url)] if self.url is not None else [list(self.command), str(self.cwd)]
        return f"{self.id} {hashlib.sha256(json.dumps(runs).encode()).hexdigest()[:32]}"

    @property
    def folder(self) -> Path:
        """The working folder of its process."""
        return self.runs_in or self.cwd

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


def is_server_id(name: str) -> bool:
    """Whether the name is an id as it stands; `ServerEntry` asks for the same."""
    return _ID.fullmatch(name) is not None


def server_id_of(name: str) -> str:
    """The id that stands for a name: itself if it is one, else what is left without the rest.

    `My Server!` becomes `My-Server`, `@acme/search` `acme-search`, `1password`
    `server-1password`.
    """
    if is_server_id(name):
        return name
    letters = unicodedata.normalize("NFKD", name[: 4 * MAX_ID_CHARACTERS])
    plain = letters.encode("ascii", "ignore").decode("ascii")
    made = re.sub(r"[^A-Za-z0-9_]+", "-", plain)[:MAX_ID_CHARACTERS].strip("-_")
    if not made:
        return "server"
    return made if made[0].isalpha() else f"server-{made}"


def describe_problems(server_id: str, origin: str, problems: list[str]) -> str:
    """The `problem` of a spec: which server, where its entry stands, what is wrong with it."""
    shown = problems[:_PROBLEMS_SHOWN]
    if hidden := len(problems) - len(shown):
        shown.append(f"… and {hidden} more")
    return f"server '{server_id}' {origin} can't be used: {'; '.join(shown)}"


class ServerEntry(Section):
    """One MCP server: a program, or a URL that is spoken to over Streamable HTTP.

    Texts may hold variables, see `config.variables`.
    """

    id: str = Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]*$")
    """The server's name in plans and commands."""
    script: str | None = Field(default=None, min_length=1)
    """A Python file that is the server."""
    command: str | None = Field(default=None, min_length=1)
    """A program that is the server."""
    args: tuple[str, ...] = ()
    """Arguments of the script or the program."""
    cwd: str | None = None
    """Its working folder; if left out, the one that you start the agent in (for a server of ours,
    and one whose files lie there, the checkout)."""
    env: dict[str, str] = Field(default_factory=dict[str, str])
    """Variables that it gets beside PATH, HOME and the like."""
    url: str | None = Field(default=None, min_length=1)
    """Its address, for one over Streamable HTTP."""
    headers: dict[str, str] = Field(default_factory=dict[str, str])
    """Sent with every request to the address."""
    description: str = ""
    """What it is for; perception reads this."""
    capabilities: tuple[str, ...] = ()
    """Tools or abilities, for perception."""
    basic_tools: tuple[str, ...] = ()
    """Tools that are shown first."""
    connection: ConnectionMode = "persistent"
    """`persistent`: one session; `per_call`: a new one for each call."""
    start: StartMode = "lazy"
    """`lazy`: when it is needed; `eager`: with the program."""
    disabled: StrictBool = False
    """The entry stays, and is not used."""
    start_timeout_seconds: Seconds = START_TIMEOUT_SECONDS
    """How long its start may take."""
    call_timeout_seconds: Seconds = CALL_TIMEOUT_SECONDS
    """How long a call may take."""
    tool_timeout_seconds: dict[str, Seconds] = Field(default_factory=dict[str, Seconds])
    """The same for single tools, by name."""
    concurrent_calls: Count = Field(default=CONCURRENT_CALLS, ge=1, le=MAX_CONCURRENT_CALLS)
    """Calls that run at the same time; others wait."""
    result_bytes: Count = Field(
        default=RESULT_BYTES_MAX, ge=MIN_RESULT_BYTES, le=LARGEST_RESULT_BYTES
    )
    """A longer result is cut, with a note."""

    @field_validator("url")
    @classmethod
    def _is_an_address(cls, url: str | None) -> str | None:
        """One that holds a variable is looked at when its value is known."""
        if url is not None and "${" not in url and (wrong := url_problem(url)) is not None:
            raise ValueError(wrong)
        return url

    @model_validator(mode="after")
    def _is_a_program_or_an_address(self) -> "ServerEntry":
        if self.url is None:
            if self.script is None and self.command is None:
                raise ValueError(
                    "a server needs 'script' (a Python file), 'command', or 'url' (an http or "
                    "https address)"
                )
            if self.headers:
                raise ValueError("'headers' go with a 'url'; a program gets 'env'")
        elif self.script is not None or self.command is not None:
            raise ValueError("a server is a program or a 'url', not both; keep one of them")
        elif self.args or self.env:
            raise ValueError("'args' and 'env' go with a program; a 'url' gets 'headers'")
        return self

    def spec(
        self,
        root: Path,
        profile_folder: Path,
        *,
        environ: Mapping[str, str] = os.environ,
        origin: str = PROFILE_ORIGIN,
        follows_user: bool = True,
    ) -> ServerSpec:
        """How to start or reach it.

        A relative `script` is looked up in `cwd` where one is given, else in `root` (the
        checkout), else beside the profile. `command` and `args` replace `script` for servers that
        are not Python files; given with one, `command` is the interpreter that runs it. A `~`
        whose home is not known stays, so that starting the server names the path that isn't there.
        Without `cwd`, a server that is not ours works in `root`, or where the user is
        (`follows_user`, see `_users_folder`).

        Variables are taken from `environ`. One that is not set, and an address or header that
        can't be used, become the spec's `problem`, which names `origin` and key.
        """
        expander = Expander(environ, root)
        cwd = root if self.cwd is None else root / _expanded(expander.text("cwd", self.cwd))
        url = None if self.url is None else expander.text("url", self.url)
        command, is_bundled = self._command(expander, root, cwd, profile_folder)
        has_place = self.cwd is not None or is_bundled or not command or not follows_user
        env = expander.private_mapping("env", self.env)
        raw_headers = expander.private_mapping("headers", self.headers)
        headers = {name: value.strip() for name, value in raw_headers.items()}
        problems = expander.problems or _problems_of_address(url, headers)
        return ServerSpec(
            id=self.id,
            command=command,
            cwd=cwd,
            env=env,
            description=self.description.strip(),
            capabilities=self.capabilities,
            basic_tools=self.basic_tools,
            connection=self.connection,
            start_timeout_seconds=self.start_timeout_seconds,
            call_timeout_seconds=self.call_timeout_seconds,
            url=url,
            headers=headers,
            start=self.start,
            tool_timeout_seconds=self.tool_timeout_seconds,
            concurrent_calls=self.concurrent_calls,
            result_bytes=self.result_bytes,
            bundled=is_bundled,
            origin=origin,
            problem=describe_problems(self.id, origin, problems) if problems else None,
            secrets=frozenset(expander.secrets),
            runs_in=None if has_place else _users_folder(command, root),
        )

    def _command(
        self, expander: Expander, root: Path, cwd: Path, profile_folder: Path
    ) -> tuple[tuple[str, ...], bool]:
        """The argv of the server, empty for a URL, and whether it is one of our own."""
        if self.url is not None:
            return (), False
        args = expander.texts("args", self.args)
        command = expander.text("command", self.command or sys.executable)
        if self.script is None:
            return (command, *args), False
        path = _find_script(expander.text("script", self.script), cwd, profile_folder)
        is_ours = command == sys.executable and _lies_in(path, root / "servers")
        return (command, str(path), *args), is_ours


def _bare(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def seen_from(spec: ServerSpec, folder: Path) -> ServerSpec:
    """The server for a user who is in this folder, which need not be that of our process."""
    if spec.runs_in is None:
        return spec
    return replace(spec, runs_in=None if _names_program(spec.command, folder) else folder)


def _users_folder(command: Sequence[str], root: Path) -> Path | None:
    """Where the user is; None where a program for which no folder is given runs in `root`.

    So it does where its command names a file in `root` by a relative path. And no program in the
    user's folder is started by one: a cloned repository may hold one of every name.
    """
    words = [word for word in command if not Path(word).is_absolute()]
    try:
        here = Path.cwd()
    except OSError:  # it was deleted
        return None
    if any(files_named(words, root)):
        return None
    return None if _names_program(words, here) else here


def _names_program(command: Sequence[str], folder: Path) -> bool:
    """Whether a relative word of the command means a program in the folder."""
    words = [word for word in command if not Path(word).is_absolute()]
    return any(map(may_be_run, files_named(words, folder)))


def may_be_run(path: Path) -> bool:
    """Whether an interpreter, or the system itself, may run a file of such a name."""
    return path.suffix.lower() in _PROGRAM_SUFFIXES


def files_named(command: Sequence[str], folder: Path) -> Iterator[Path]:
    """The files that a command started in a folder names, as paths or as `-m module`."""
    modules = [after for word, after in pairwise(command) if word == "-m"]
    stems = [folder.joinpath(*name.split(".")) for name in modules]
    yield from filter(_is_file, (folder / word for word in command))
    yield from filter(_is_file, (stem.with_name(f"{stem.name}.py") for stem in stems))
    yield from filter(_is_file, (stem / "__main__.py" for stem in stems))


def _problems_of_address(url: str | None, headers: Mapping[str, str]) -> list[str]:
    """Why nothing can be sent there, looked at when variables have their values."""
    if url is None:
        return []
    wrong = url_problem(url)
    found = [f"key 'url' is {wrong}" if wrong is not None else None, header_problem(headers)]
    return [problem for problem in found if problem is not None]


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
    except (OSError, ValueError):  # a folder that may not be entered, a name that can't be one
        return False


def _lies_in(path: Path, folder: Path) -> bool:
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError):  # a loop of links, a name that can't be one
        return False

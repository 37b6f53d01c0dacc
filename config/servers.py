"""One MCP server: how it is started or reached, its bounds, and what it may be called."""

import keyword
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

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

MAX_ID_CHARACTERS = 64
"""To this length a name is cut that is made into an id."""

ID_FORM = "a name starts with a letter and holds letters, digits, '-' and '_'"

_ID = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")

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

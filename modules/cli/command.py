"""The commands of `agent.py` (`mcp`, `call`, `run-plan`, …) as values, one class each."""

from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from modules.cli.auth_command import AuthCommand
from modules.cli.docs_command import ManageDocuments
from modules.cli.models_command import ModelsCommand


@dataclass(frozen=True, slots=True)
class Options:
    """What every command takes; the names are those of the options."""

    profile: Path | None = None
    mcp_config: tuple[Path, ...] = ()
    allow_tool_changes: bool = False
    json: bool = False
    verbose: bool = False
    quiet: bool = False


@dataclass(frozen=True, slots=True)
class ListServers:
    """`mcp list`: every configured server; nothing is started."""

    options: Options


@dataclass(frozen=True, slots=True)
class ListTools:
    """`mcp tools [SERVER]`: tools as the planner sees them."""

    options: Options
    server: str | None


@dataclass(frozen=True, slots=True)
class ShowStatus:
    """`mcp status`: start every server and tell how that went."""

    options: Options


@dataclass(frozen=True, slots=True)
class AddServer:
    """`mcp add NAME`: a program (`command`) or a URL with headers, never both.

    `start_seconds` is how long its start may take, None for the default.
    """

    options: Options
    name: str
    command: tuple[str, ...]
    url: str | None
    headers: tuple[tuple[str, str], ...]
    env: tuple[tuple[str, str], ...]
    description: str
    start_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class RemoveServer:
    """`mcp remove NAME`."""

    options: Options
    name: str


@dataclass(frozen=True, slots=True)
class SwitchServer:
    """`mcp enable NAME` and `mcp disable NAME`; `on` says which."""

    options: Options
    name: str
    on: bool


@dataclass(frozen=True, slots=True)
class CheckServer:
    """`mcp test NAME`: start one server, list its tools, ping it."""

    options: Options
    name: str


@dataclass(frozen=True, slots=True)
class ShowLog:
    """`mcp logs NAME`: the last `lines` lines, and with `follow` what comes after."""

    options: Options
    name: str
    lines: int
    follow: bool


@dataclass(frozen=True, slots=True)
class CallTool:
    """`call TOOL`: arguments as one JSON text (`input`, "-" for stdin) or as `key=value` pairs."""

    options: Options
    tool: str
    pairs: tuple[str, ...]
    input: str | None
    output: Path | None
    timeout_seconds: float | None


@dataclass(frozen=True, slots=True)
class RunPlanFile:
    """`run-plan FILE`: a plan by hand ("-" for stdin); `servers` None offers all that are on.

    `approve` are tools that it may call without asking.
    """

    options: Options
    file: str
    servers: tuple[str, ...] | None
    approve: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ShowPrompt:
    """`prompt REQUEST`: what a model would be sent; none is asked."""

    options: Options
    request: str
    model: str | None


@dataclass(frozen=True, slots=True)
class Diagnose:
    """`doctor`: what works here and what doesn't."""

    options: Options


Command: TypeAlias = (
    ListServers
    | ListTools
    | ShowStatus
    | AddServer
    | RemoveServer
    | SwitchServer
    | CheckServer
    | ShowLog
    | CallTool
    | RunPlanFile
    | ShowPrompt
    | Diagnose
    | ManageDocuments
    | AuthCommand
    | ModelsCommand
)

"""How a server is, for who looks after it by hand."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

ServerState: TypeAlias = Literal["up", "down", "failed", "set aside"]
"""Running and spoken to; not started, or ended; tried in vain; or so often that it is left alone
until the user brings it back."""


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """One server; what is only known of a running one is None or empty for another.

    `title`, `version` and `protocol_version` are from its handshake, `tools` the number that it
    listed; `left_out` names those that can't be used, and why. `problem` is why it failed last.
    """

    id: str
    state: ServerState
    title: str = ""
    version: str = ""
    protocol_version: str = ""
    tools: int | None = None
    left_out: tuple[str, ...] = ()
    start_seconds: float | None = None
    log_path: Path | None = None
    pid: int | None = None
    problem: str | None = None

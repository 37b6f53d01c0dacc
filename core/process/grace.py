"""How long a server may take over its end."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StopGrace:
    """How long a server may take over each stage of its end, in seconds.

    Closed stdin, then SIGTERM to its group, then SIGKILL; `lost_seconds` replaces the first
    when its session has broken down already.
    """

    stdin_seconds: float = 2.0
    term_seconds: float = 1.0
    kill_seconds: float = 2.0
    lost_seconds: float = 0.3

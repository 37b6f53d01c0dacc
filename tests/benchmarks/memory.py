"""Memory of a client that holds twenty servers' worth of tools: 20 sessions with 25 tools each.

The servers are ones on the standard library, and not counted. What is imported before any session
is told apart.
"""

import sys
from pathlib import Path

from tests.benchmarks import stdlib_server
from tests.benchmarks.drivers.turns import Target
from tests.benchmarks.start_up import OURS, SDK, Started, start
from tests.benchmarks.table import Row

SERVERS, TOOLS = 20, 25
MEGABYTE = 1_000_000


def measure(home: Path) -> list[Row]:
    """Resident and proportional memory of both clients with all sessions open, and of neither."""
    listing = [sys.executable, str(Path(stdlib_server.__file__)), str(TOOLS - 1)]
    ours, theirs = (start(client, [Target(listing)] * SERVERS, home)[0] for client in (OURS, SDK))
    assert ours.tools == theirs.tools == SERVERS * TOOLS
    bare, bare_sdk = (start(client, [], home)[0] for client in (OURS, SDK))
    return [
        _row("MultiMCP", ours),
        _row("ClientSession", theirs),
        _row("  MultiMCP without a server", bare),
        _row("  the SDK imported, no session", bare_sdk),
        Row("MultiMCP / ClientSession, resident", f"{ours.rss / theirs.rss:.2f}"),
    ]


def _row(what: str, client: Started) -> Row:
    share = "" if client.pss is None else f", proportional share {client.pss / MEGABYTE:.1f} MB"
    return Row(what, f"{client.rss / MEGABYTE:.1f} MB resident{share}")

"""Dense messages: the CPU time in which one holds up the event loop, and what it costs in all.

Each is sent by `dense_server` over stdio and goes the whole way to a `ToolResult`. Of the rounds
the one with the shortest gap counts: the work is always the same, and the rest is the machine's.
"""

import asyncio
import sys
import time
from dataclasses import replace
from pathlib import Path

from core.errors import ServerError
from core.session import MultiMCP
from tests.benchmarks import dense_server
from tests.benchmarks.dense_server import FLOOD, KINDS, LOGGED
from tests.benchmarks.drivers.clients import spec_of
from tests.benchmarks.drivers.turns import Target
from tests.benchmarks.table import Row, at_most
from tests.modules.sandbox.heartbeat import Heartbeat

ROUNDS = 2

GAP_MS_AIM = 50.0

HONEST_MS_AIM = 208.0
"""13 ms a MB, for what honest text costs, up to the 16 MB at which a result is cut."""

HONEST = frozenset({"60 MB of escaped characters", "16 MB of text"})

MEASURED = [
    *KINDS,
    LOGGED + "4,500,000 keys",
    LOGGED + "95,000 keys",
    FLOOD + "66,000 objects",
]


def measure(_: Path) -> list[Row]:
    """A row for each kind, every message to a new session: a refused one may end it."""
    return [asyncio.run(_row(kind)) for kind in MEASURED]


async def _row(kind: str) -> Row:
    rounds = [await _sent(kind) for _ in range(1 if kind.startswith(FLOOD) else ROUNDS)]
    gap_seconds, cpu_seconds, outcome = min(rounds)
    held_up = gap_seconds * 1000
    aim = at_most(held_up, HONEST_MS_AIM if kind in HONEST else GAP_MS_AIM, " ms")
    value = f"{held_up:.1f} ms, CPU in all {cpu_seconds * 1000:.0f} ms"
    return Row(kind, value, f"{aim}; {outcome}")


async def _sent(kind: str) -> tuple[float, float, str]:
    """The longest gap while one is called for and read, the CPU of it all, and how it went."""
    target = Target([sys.executable, str(Path(dense_server.__file__))])
    async with MultiMCP([replace(spec_of(target), result_bytes=16 * 1024 * 1024)]) as multi:
        await multi.initialize()
        began = time.process_time()
        async with Heartbeat() as heart:
            outcome = await _outcome(multi, kind)
        return heart.longest_gap_seconds, time.process_time() - began, outcome


async def _outcome(multi: MultiMCP, kind: str) -> str:
    try:
        result = await multi.call_tool("send", {"kind": kind})
    except ServerError as error:
        return f"refused: {error}"
    if result.is_error:
        return f"refused: {result.text}"
    return "cut" if result.omitted_bytes else "read"

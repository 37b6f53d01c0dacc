"""A tool call through MultiMCP against the SDK's ClientSession, on the same server."""

import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from config.servers import ServerSpec
from core.session import MultiMCP
from core.values import JsonObject
from tests.benchmarks.table import Row, spread
from tests.command_line import ROOT

BATCHES, CALLS = 10, 80
SERVER = ROOT / "servers" / "math_server.py"
ARGUMENTS: JsonObject = {"input": {"a": 2, "b": 3}}


async def _batch(call: Callable[[], Awaitable[object]]) -> list[float]:
    seconds: list[float] = []
    for _ in range(CALLS):
        started = time.perf_counter()
        await call()
        seconds.append(time.perf_counter() - started)
    return seconds


async def measure(home: Path) -> list[Row]:
    """Batches in turn, both sessions open; medians of all calls and of the batches' ratios."""
    spec = ServerSpec("math", (sys.executable, str(SERVER)), cwd=ROOT)
    parameters = StdioServerParameters(command=sys.executable, args=[str(SERVER)])
    ours: list[float] = []
    theirs: list[float] = []
    ratios: list[float] = []
    async with (
        MultiMCP([spec], log_folder=home) as multi,
        stdio_client(parameters) as (read, write),
        ClientSession(read, write) as session,
    ):
        await session.initialize()
        await multi.initialize()
        for number in range(BATCHES + 1):
            a = await _batch(lambda: multi.call_tool("math.add", dict(ARGUMENTS)))
            b = await _batch(lambda: session.call_tool("add", dict(ARGUMENTS)))
            if number > 0:  # the first batch warms up
                ours += a
                theirs += b
                ratios.append(statistics.median(a) / statistics.median(b))
    return [
        Row("ClientSession.call_tool", spread(theirs)),
        Row("MultiMCP.call_tool", spread(ours)),
        Row("MultiMCP / ClientSession", f"{statistics.median(ratios):.2f}", "aim: at most 1.0"),
    ]

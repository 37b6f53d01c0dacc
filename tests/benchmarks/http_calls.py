"""A tool call over Streamable HTTP: the dispatcher against the SDK's, on one loopback server.

The server is the SDK's own, with uvicorn, in its own process; both clients hold a session with it.
"""

import asyncio
import json
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from tests.benchmarks.contest import Contest
from tests.benchmarks.drivers.turns import Target
from tests.benchmarks.peers import ADDITION, OURS, YARDSTICK, call_row
from tests.benchmarks.table import Row, at_most, quartiles
from tests.command_line import ROOT, environment

ROUNDS = 40
RATIO_AIM = 0.9
END_SECONDS = 20


def measure(home: Path, rounds: int = ROUNDS) -> list[Row]:
    """Both clients in turn; medians of all calls, and of the rounds' ratios."""
    with _math_server(home) as url:
        contest = Contest((OURS, YARDSTICK), Target(url=url), ADDITION)
        outcomes = asyncio.run(contest.run(rounds))
    ours, yardstick = outcomes[OURS.name], outcomes[YARDSTICK.name]
    rows = [call_row(outcome, yardstick) for outcome in (ours, yardstick)]
    if ratios := ours.ratios(yardstick):
        ratio = quartiles(ratios)[1]
        rows.append(Row("ours / ClientSession", f"{ratio:.2f}", at_most(ratio, RATIO_AIM)))
    return rows


@contextmanager
def _math_server(home: Path) -> Generator[str]:
    """The URL of a running server."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.benchmarks.drivers.http_server"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=home,
        env=environment(home, PYTHONPATH=str(ROOT)),
    ) as process:
        stdin, stdout = cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)
        try:
            port = json.loads(stdout.readline())["port"]
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            stdin.close()
            try:
                process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()

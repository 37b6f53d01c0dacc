"""A tool call over Streamable HTTP: the dispatcher against the SDK's, on one loopback server.

The server is the SDK's own, with uvicorn, in its own process; both clients hold a session with it.
"""

from pathlib import Path

from tests.benchmarks.contest import Contest
from tests.benchmarks.drivers.turns import Target
from tests.benchmarks.peers import ADDITION, OURS, YARDSTICK, call_row
from tests.benchmarks.processes import DRIVERS, JsonProcess
from tests.benchmarks.table import Row, at_most, quartiles

ROUNDS = 40
RATIO_AIM = 0.9
END_SECONDS = 20


def measure(home: Path, rounds: int = ROUNDS) -> list[Row]:
    """Both clients in turn; medians of all calls, and of the rounds' ratios."""
    with JsonProcess(f"{DRIVERS}.http_server", home=home) as server:
        url = f"http://127.0.0.1:{server.first['port']}/mcp"
        contest = Contest((OURS, YARDSTICK), Target(url=url), ADDITION)
        outcomes = contest.run(rounds)
    ours, yardstick = outcomes[OURS.name], outcomes[YARDSTICK.name]
    rows = [call_row(outcome, yardstick) for outcome in (ours, yardstick)]
    if ratios := ours.ratios(yardstick):
        ratio = quartiles(ratios)[1]
        rows.append(Row("ours / ClientSession", f"{ratio:.2f}", at_most(ratio, RATIO_AIM)))
    return rows

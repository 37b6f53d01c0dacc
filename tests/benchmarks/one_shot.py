"""The INDIA request as a whole process, in turn with a bare script on the same server."""

import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.table import Row, at_most, spread
from tests.command_line import INDIA, ROOT, environment

ROUNDS = 11
WALL_RATIO_AIM = 1.3
SERVER = ROOT / "servers" / "math_server.py"
MARKS = ("interpreter", "spawned", "imported", "connected", "answered", "closed", "exited")


@dataclass(frozen=True)
class Timing:
    """Wall and CPU seconds of a process and its children."""

    wall: float
    cpu: float


def timed(command: list[str], home: Path) -> Timing:
    """Run a command to its end; the answer must be right."""
    before, started = os.times(), time.perf_counter()
    done = subprocess.run(
        command, env=environment(home), capture_output=True, text=True, check=True, timeout=120
    )
    wall, after = time.perf_counter() - started, os.times()
    assert "7.599822246093079e+33" in done.stdout, done.stderr
    cpu = after.children_user + after.children_system
    return Timing(wall, cpu - before.children_user - before.children_system)


def measure(home: Path) -> list[Row]:
    """Agent and bare script in turn, after one warming round each."""
    bare = [sys.executable, str(ROOT / "tests" / "benchmarks" / "bare_client.py"), str(SERVER)]
    ours = [sys.executable, str(ROOT / "agent.py"), INDIA]
    for command in (bare, ours):
        timed(command, home)
    bares: list[Timing] = []
    agents: list[Timing] = []
    for _ in range(ROUNDS):
        bares.append(timed(bare, home))
        agents.append(timed(ours, home))
    wall = statistics.median(a.wall / b.wall for a, b in zip(agents, bares, strict=True))
    cpu = statistics.median(a.cpu / b.cpu for a, b in zip(agents, bares, strict=True))
    return [
        Row("bare script, wall", spread([t.wall for t in bares])),
        Row("agent, wall", spread([t.wall for t in agents])),
        Row("agent / bare, wall", f"{wall:.2f}", at_most(wall, WALL_RATIO_AIM)),
        Row("bare script, CPU", spread([t.cpu for t in bares])),
        Row("agent, CPU", spread([t.cpu for t in agents])),
        Row("agent / bare, CPU", f"{cpu:.2f}"),
        *split(home),
    ]


def split(home: Path) -> list[Row]:
    """Where the agent's wall time goes: medians of the gaps between marks it logs."""
    runs = [_marks(home) for _ in range(ROUNDS)]
    rows: list[Row] = []
    for earlier, later in zip(("start", *MARKS), MARKS, strict=False):
        gaps = [run[later] - run[earlier] for run in runs]
        rows.append(Row(f"  … {later}", spread(gaps)))
    return rows


def _marks(home: Path) -> dict[str, float]:
    """Seconds since the start at which each mark was passed."""
    command = [sys.executable, "-m", "tests.benchmarks.marked_run", INDIA]
    started = time.time()
    done = subprocess.run(
        command,
        env=environment(home),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    ended = time.time()
    marks = {"start": started, "exited": ended}
    for line in done.stderr.splitlines():
        name, _, moment = line.partition(" at ")
        if name in MARKS:
            marks[name] = float(moment)
    return {name: marks[name] - started for name in ("start", *MARKS)}

"""The sandbox's speed: warm plans against smolagents, the first plan, the loop, the launcher.

Warm plans are timed in a contest (`tests.benchmarks.contest`), each executor in a process of its
own and all in turns: ours with the second wall, as users have it. smolagents' `LocalPythonExecutor`
is the yardstick: it interprets the plan in the process that asks, so that there is no border to
cross, and makes a new executor for each plan, as ours starts each afresh. RestrictedPython and
plain `exec` run in the asking process too, and are told for comparison.
"""

import asyncio
import statistics
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from modules.sandbox.limits import SandboxLimits
from modules.sandbox.walls.launcher import examine_walls, worker_command
from modules.sandbox.worker import Worker
from tests.benchmarks import sandbox_loop
from tests.benchmarks.contest import Contender, Contest, Outcome
from tests.benchmarks.drivers.first_plan import WALLED
from tests.benchmarks.drivers.turns import Order, Target
from tests.benchmarks.environments import Environment, installed_versions
from tests.benchmarks.plan_texts import ONE_CALL, ONE_LINE, USUAL_WORK
from tests.benchmarks.processes import DRIVERS, run_driver
from tests.benchmarks.table import Row, at_most, listed, middle_half, quartiles

ROUNDS, PLANS, WARM_UP_PLANS = 20, 20, 3
"""400 plans an executor."""

WARM_MS_AIM = 4.0

RATIO_AIM = 2.0
"""Of usual work; the border of processes and a fresh CPython are the price."""

FIRST_PLAN_ROUNDS = 11
FIRST_PLAN_MS_AIM = 60.0

WORKER_ROUNDS = 15

PACKAGES = ("smolagents", "RestrictedPython")
"""Whose versions are told."""

OURS = Contender("Cortex-R", f"{DRIVERS}.sandbox_plans")
YARDSTICK = Contender(
    "smolagents LocalPythonExecutor", f"{DRIVERS}.peers.smolagents", environment="smolagents"
)
EXECUTORS = (
    OURS,
    YARDSTICK,
    Contender("RestrictedPython", f"{DRIVERS}.peers.restricted", environment="restrictedpython"),
    Contender("floor: exec", f"{DRIVERS}.exec_plans"),
)

WARM_PLANS = {"warm plan of one line": ONE_LINE, "warm plan of usual work": USUAL_WORK}
"""Title and source. The first is all border and no work, which is the worst that can be for us."""


def measure(home: Path, rounds: int = ROUNDS) -> list[Row]:
    """All of it; takes about two minutes."""
    return [
        *_walls(),
        *warm_plans(rounds),
        *first_plans(home),
        *worker_starts(),
        *asyncio.run(sandbox_loop.measure()),
    ]


def warm_plans(rounds: int = ROUNDS) -> list[Row]:
    """The contests, and with what versions they were held."""
    rows = [
        row for title, source in WARM_PLANS.items() for row in _with_aims(title, source, rounds)
    ]
    rows += _plan_rows("warm plan with one call", _contest(ONE_CALL, rounds))
    note = "without a border of processes: what a plan breaks out of is the agent itself"
    return [*rows, Row("  all but ours", "in the process that asks", note), *_versions()]


def _with_aims(title: str, source: str, rounds: int) -> list[Row]:
    outcomes = _contest(source, rounds)
    return [
        *_plan_rows(title, outcomes),
        *_aims(title, outcomes[OURS.name], outcomes[YARDSTICK.name]),
    ]


def _contest(source: str, rounds: int) -> dict[str, Outcome]:
    order = Order("plan", {"source": source}, "FINAL_ANSWER: ", PLANS, WARM_UP_PLANS)
    return Contest(EXECUTORS, Target(), order).run(rounds)


def _plan_rows(title: str, outcomes: Mapping[str, Outcome]) -> list[Row]:
    yardstick = outcomes[YARDSTICK.name]
    return [_plan_row(title, outcome, yardstick) for outcome in outcomes.values()]


def _plan_row(title: str, outcome: Outcome, yardstick: Outcome) -> Row:
    what = f"{title}: {outcome.contender.name}"
    if outcome.failure is not None:
        return Row(what, "not measured", outcome.failure)
    plans = f"{len(outcome.seconds)} plans"
    ratio = "1.00 by definition" if outcome is yardstick else outcome.ratio_text(yardstick)
    return Row(what, middle_half(outcome.seconds), f"ratio {ratio}; {plans}")


def _aims(title: str, ours: Outcome, yardstick: Outcome) -> list[Row]:
    if not ours.batches:
        return []
    milliseconds = statistics.median(ours.seconds) * 1000
    rows = [
        Row(f"{title}: ours", f"{milliseconds:.2f} ms", at_most(milliseconds, WARM_MS_AIM, " ms"))
    ]
    if ratios := ours.ratios(yardstick):
        ratio = quartiles(ratios)[1]
        rows.append(Row(f"{title}: ours / smolagents", f"{ratio:.2f}", at_most(ratio, RATIO_AIM)))
    return rows


def first_plans(home: Path) -> list[Row]:
    """Fresh processes in turn, with the second wall and without."""
    kinds = {WALLED: "first plan of a process", "bare": "  without the second wall"}
    seconds: dict[str, list[float]] = {kind: [] for kind in kinds}
    for _ in range(FIRST_PLAN_ROUNDS):
        for kind in kinds:
            told = run_driver(home, f"{DRIVERS}.first_plan", kind)[0]
            seconds[kind].append(cast("float", told["seconds"]))
    median = statistics.median(seconds[WALLED]) * 1000
    aims = {WALLED: at_most(median, FIRST_PLAN_MS_AIM, " ms beyond imports")}
    return [
        Row(title, middle_half(seconds[kind]), aims.get(kind, "")) for kind, title in kinds.items()
    ]


def worker_starts() -> list[Row]:
    """A worker from nothing until it is ready for a plan, in turn behind the wall and not."""
    seconds: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(WORKER_ROUNDS):
        for walled, times in seconds.items():
            times.append(asyncio.run(_worker_start(walled)))
    cost = [a - b for a, b in zip(seconds[True], seconds[False], strict=True)]
    return [
        Row("start of a worker, with the second wall", middle_half(seconds[True])),
        Row("start of a worker, without", middle_half(seconds[False])),
        Row("  cost of the wall", middle_half(cost)),
    ]


async def _worker_start(walled: bool) -> float:
    limits = SandboxLimits()
    command = worker_command(limits, second_wall=walled)
    started = time.perf_counter()
    worker = await Worker.started(command, limits.cpu_seconds)
    seconds = time.perf_counter() - started
    await worker.end()
    if bool(worker.walls) != walled:
        raise RuntimeError("the second wall does not stand here")
    return seconds


def _walls() -> list[Row]:
    walls = examine_walls(SandboxLimits())
    missing = [f"{wall.name}: {wall.detail}" for wall in walls if not wall.stands]
    standing = ", ".join(wall.name for wall in walls if wall.stands) or "none"
    return [Row("second wall", standing, f"missing {'; '.join(missing)}" if missing else "")]


def _versions() -> list[Row]:
    return [
        Row(f"  {place.name} ran with", listed(installed_versions(place, *PACKAGES)))
        for place in _places(EXECUTORS)
    ]


def _places(executors: Sequence[Contender]) -> list[Environment]:
    places = [executor.prepare() for executor in executors if executor.environment]
    return [place for place in places if isinstance(place, Environment)]

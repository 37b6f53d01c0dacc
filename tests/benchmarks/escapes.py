"""The escape table of `tests/modules/sandbox/escapes` against executors of plans: what gets out.

Each executor runs each attempt in a process of its own; our second wall is tried alone, as the
unit tests do it: a CPython with everything useful imported is taken over, and stands behind it.
A plan has escaped if it obtained any of the four proofs: a secret file's text, a variable of the
host's environment, a connection, a process. Plans about our tools are for ours only. What has no
`async` gets the same plans as ordinary functions; plans that are about coroutines themselves mean
nothing then, and are not run. The peers are set up as their documentation tells; what they say of
themselves stands below the table.
"""

import ast
import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import get_args

from config.schema import WALL_NAMES
from core.errors import SandboxUnavailable
from tests.benchmarks.drivers.attempts import Trial
from tests.benchmarks.environments import NotInstalled, installed_versions
from tests.benchmarks.executors import EXECUTORS, Attacked, Executor
from tests.benchmarks.plan_texts import ONE_LINE, USUAL_WORK
from tests.benchmarks.processes import ProcessFailed
from tests.benchmarks.table import Row, listed
from tests.modules.sandbox.escapes.attempts import ATTEMPTS, Attempt, Proof
from tests.modules.sandbox.escapes.planted import Planted
from tests.modules.sandbox.escapes.runners import ForkServer, worker_policy

PLAN_SECONDS = 6.0
MEMORY_BYTES = 2 * 1024**3
"""What the child that runs a plan may take, whatever the executor."""

SECOND_WALL = "Cortex-R, second wall around exec"

ENDING_CHARACTERS_SHOWN = 120

NAMES_SHOWN = 6
"""How many escapes of an executor are named, if there are no more."""

COROUTINE_MARKS = ("cr_", "ag_", "__await__", "__aiter__", "__anext__", "__aenter__", "__aexit__")
"""How names begin that only coroutines and their like have."""

PACKAGES = ("smolagents", "RestrictedPython")


@dataclass
class Tally:
    """What became of the attempts on one executor; `usual_plan` is why a harmless plan fails."""

    escaped: list[tuple[Attempt, set[Proof]]] = field(
        default_factory=list[tuple[Attempt, set[Proof]]]
    )
    endings: Counter[str] = field(default_factory=Counter[str])
    usual_plan: str = ""
    not_run: int = 0
    harmed: int = 0

    @property
    def ran(self) -> int:
        """How many were run."""
        return self.endings.total()

    @property
    def by_proof(self) -> Counter[Proof]:
        """How many escapes obtained each proof; one may obtain several."""
        return Counter(proof for _, proofs in self.escaped for proof in proofs)


def measure(
    home: Path,
    attempts: Sequence[Attempt] = ATTEMPTS,
    executors: Sequence[Executor] = EXECUTORS,
) -> list[Row]:
    """One row an executor, then how the table is made up and what the executors say."""
    rows = [row for executor in executors for row in _rows(executor, attempts, home)]
    rows += _second_wall(attempts)
    families = len({attempt.family for attempt in attempts})
    made_up = f"{len(attempts)} attempts in {families} families"
    return [
        Row("the table", made_up, ", ".join(_by_proof(attempts))),
        *rows,
        *_own_words(executors),
    ]


def _rows(executor: Executor, attempts: Sequence[Attempt], home: Path) -> list[Row]:
    place = executor.prepare()
    if isinstance(place, NotInstalled):
        return [Row(executor.name, "not measured", f"not installed: {place.reason}")]
    try:
        tally = attack(executor, attempts, home)
    except ProcessFailed as failed:
        return [Row(executor.name, "not measured", str(failed))]
    return [_row(executor.name, tally), *_details(tally)]


def attack(executor: Executor, attempts: Iterable[Attempt], home: Path) -> Tally:
    """Run every attempt that means something to the executor; its environment must be there.

    Raises:
        ProcessFailed: it does not start.
    """
    place = executor.prepare()
    assert not isinstance(place, NotInstalled)
    tally = Tally()
    with Planted() as planted, tempfile.TemporaryDirectory(dir=home) as folder:
        variables = {planted.variable: os.environ[planted.variable]}
        with Attacked(executor, place, Path(folder), variables) as attacked:
            tally.usual_plan = _harmless(attacked)
            for attempt in attempts:
                if attempt.needs_tools and not executor.knows_tools:
                    continue
                if not executor.knows_async and is_about_coroutines(attempt.source):
                    tally.not_run += 1
                    continue
                _try(attempt, attacked, planted, tally)
    return tally


def _harmless(attacked: Attacked) -> str:
    """How a plan of the usual kind ended: it may be that an executor contains all by refusing all.

    Raises:
        ProcessFailed: it can't even return a text, so that nothing it contains means anything.
    """
    least, usual = (
        attacked.run(Trial(source, PLAN_SECONDS, MEMORY_BYTES)) for source in (ONE_LINE, USUAL_WORK)
    )
    if "FINAL_ANSWER" not in least.output:
        raise ProcessFailed(f"a harmless plan gave {least.output[:ENDING_CHARACTERS_SHOWN]!r}")
    told = " ".join(usual.output.split())[:ENDING_CHARACTERS_SHOWN]
    return "" if "FINAL_ANSWER" in usual.output else told


def _try(attempt: Attempt, attacked: Attacked, planted: Planted, tally: Tally) -> None:
    trial = Trial(planted.fill(attempt), PLAN_SECONDS, MEMORY_BYTES)
    ending = attacked.run(trial)
    tally.endings[ending.how] += 1
    _judge(attempt, planted, planted.proofs(ending.output), tally)


def _judge(attempt: Attempt, planted: Planted, proofs: set[Proof], tally: Tally) -> None:
    """Note what an attempt obtained, and plant again what it spoilt."""
    if proofs:
        tally.escaped.append((attempt, proofs))
    if not planted.is_unharmed():
        tally.harmed += 1
        planted.restore()


def is_about_coroutines(source: str) -> bool:
    """Whether a plan uses what only coroutines have, so that without `async` it is another plan."""
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    names = [node.attr for node in nodes if isinstance(node, ast.Attribute)]
    names += [node.name for node in nodes if isinstance(node, ast.FunctionDef)]
    names += [
        node.value
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    return any(name.startswith(COROUTINE_MARKS) for name in names)


def _second_wall(attempts: Sequence[Attempt]) -> list[Row]:
    """Plain `exec` in a CPython behind the second wall, its environment empty like a worker's."""
    try:
        policy = worker_policy()
        with Planted() as planted, ForkServer(policy) as server:
            tally = taken_over(attempts, server, planted)
    except (SandboxUnavailable, RuntimeError) as reason:
        return [Row(SECOND_WALL, "not measured", str(reason))]
    return [_row(SECOND_WALL, tally), *_details(tally)]


def taken_over(attempts: Iterable[Attempt], server: ForkServer, planted: Planted) -> Tally:
    """Run every attempt that needs none of our tools behind the whole of the second wall."""
    tally = Tally()
    for attempt in attempts:
        if not attempt.needs_tools:
            (outcome,) = server.run([attempt], planted, WALL_NAMES)
            tally.endings["returned"] += 1
            _judge(attempt, planted, set(outcome.obtained), tally)
    return tally


def _row(name: str, tally: Tally) -> Row:
    contained = tally.ran - len(tally.escaped)
    proofs = ", ".join(f"{proof} {tally.by_proof[proof]}" for proof in get_args(Proof))
    left_out = f"; {tally.not_run} about coroutines not run" if tally.not_run else ""
    return Row(name, f"{contained} of {tally.ran} contained", f"proofs: {proofs}{left_out}")


def _details(tally: Tally) -> list[Row]:
    """What else is to be known: ends from outside, harm, and the escapes by name if few."""
    rows: list[Row] = []
    if tally.usual_plan:
        rows.append(Row("  fails at a plan of the usual kind", tally.usual_plan))
    unusual = {how: tally.endings[how] for how in ("too late", "out of memory", "died")}
    if any(unusual.values()):
        told = ", ".join(f"{count} {how}" for how, count in unusual.items() if count)
        rows.append(Row("  ended from outside", told))
    if tally.harmed:
        rows.append(Row("  harmed what was planted", str(tally.harmed)))
    if 0 < len(tally.escaped) <= NAMES_SHOWN:
        names = "; ".join(f"{a.family}: {a.name}" for a, _ in tally.escaped)
        rows.append(Row("  escapes", names))
    return rows


def _by_proof(attempts: Iterable[Attempt]) -> list[str]:
    wanted = Counter(attempt.proof for attempt in attempts)
    return [f"{proof} {wanted[proof]}" for proof in get_args(Proof)]


def _own_words(executors: Iterable[Executor]) -> list[Row]:
    """What the peers say of themselves, and which versions were attacked."""
    rows = [Row(f"  {e.name}, of itself", e.of_itself) for e in executors if e.of_itself]
    places = {e.environment: e.prepare() for e in executors if e.environment}
    return rows + [
        Row(f"  {name} ran with", listed(installed_versions(place, *PACKAGES)))
        for name, place in places.items()
        if not isinstance(place, NotInstalled)
    ]

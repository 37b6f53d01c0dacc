"""The exhaustion table of `tests/modules/sandbox` against executors of plans: what each contains.

A plan is contained if it ended by itself in time, with a value or an error, and the process that
ran it grew by no more than a bound. What the harness had to end is not: its time limit, and its
limit on address space, which stands in for the host's memory. Plans about tools are left out, and
so that all of it takes three minutes at most, every sixth of the others is run.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from tests.benchmarks.drivers.attempts import Ending, Trial
from tests.benchmarks.environments import NotInstalled
from tests.benchmarks.executors import (
    BOTH_WALLS,
    PLAIN_EXEC,
    SMOLAGENTS_OUR_IMPORTS,
    Attacked,
    Executor,
)
from tests.benchmarks.processes import ProcessFailed
from tests.benchmarks.table import Row
from tests.modules.sandbox.exhaustion import FAMILIES
from tests.modules.sandbox.exhaustion_of_host import HOST_FAMILIES

EVERY = 6
PLAN_SECONDS = 10.0
MEMORY_BYTES = 2 * 1024**3
GROWN_BYTES_MAX = 512 * 1024**2
"""Twice what our limits leave a plan, by default, in its worker."""

AT_ONCE = 2
"""Executors under attack at the same time; each runs one plan at a time."""

DOORS = (
    *("tools.", "mcp.", "search_tools", "__call_tool__", "memory["),
    *("async def", "asyncio.gather"),
)
"""What a plan holds that is about what only ours are given, or about coroutines, which smolagents
doesn't know."""

EXECUTORS = (BOTH_WALLS, SMOLAGENTS_OUR_IMPORTS, PLAIN_EXEC)


def plans(every: int = EVERY) -> list[str]:
    """The plans that mean something to every executor, every so many of them."""
    tables = (*FAMILIES.values(), *HOST_FAMILIES.values())
    bodies = [snippet for snippets in tables for snippet in snippets]
    general = [one.plan for one in bodies if not any(door in one.text for door in DOORS)]
    return general[::every]


def measure(home: Path, every: int = EVERY) -> list[Row]:
    """One row an executor."""
    chosen, all_of_them = plans(every), len(plans(1))
    with ThreadPoolExecutor(AT_ONCE) as threads:
        rows = list(threads.map(partial(_row, chosen, home), EXECUTORS))
    subset = f"{len(chosen)} of {all_of_them} plans"
    bounds = f"{PLAN_SECONDS:g} s and {MEMORY_BYTES // 1024**2:,} MiB each"
    return [Row("the table", subset, f"every {every}th; {bounds}"), *rows]


def _row(chosen: Sequence[str], home: Path, executor: Executor) -> Row:
    try:
        endings = exhaust(executor, chosen, home)
    except ProcessFailed as failed:
        return Row(executor.name, "not measured", str(failed))
    contained = [ending for ending in endings if is_contained(ending)]
    value = f"{len(contained)} of {len(endings)} contained"
    if not contained:
        return Row(executor.name, value)
    seconds = median(ending.seconds for ending in contained)
    grown = max(ending.grown_bytes for ending in contained) / 1024**2
    own = f"those in {seconds:.2f} s (median) and {grown:.0f} MiB at most"
    return Row(executor.name, value, f"{own}; {_others(endings)}")


def exhaust(executor: Executor, chosen: Sequence[str], home: Path) -> list[Ending]:
    """How each plan ended.

    Raises:
        ProcessFailed: the executor isn't there, or does not start.
    """
    place = executor.prepare()
    if isinstance(place, NotInstalled):
        raise ProcessFailed(f"not installed: {place.reason}")
    with (
        TemporaryDirectory(dir=home) as folder,
        Attacked(executor, place, Path(folder), {}) as attacked,
    ):
        return [attacked.run(Trial(plan, PLAN_SECONDS, MEMORY_BYTES)) for plan in chosen]


def is_contained(ending: Ending) -> bool:
    """Whether it ended by itself, and without too much memory."""
    return ending.how in ("returned", "raised") and ending.grown_bytes <= GROWN_BYTES_MAX


def _others(endings: Sequence[Ending]) -> str:
    ends = [
        ending.how if ending.grown_bytes <= GROWN_BYTES_MAX else "too big" for ending in endings
    ]
    kinds = ("too late", "out of memory", "too big", "died")
    told = [f"{ends.count(kind)} {kind}" for kind in kinds if kind in ends]
    return ", ".join(told) or "all by itself"

"""Endurance of the sandbox: what ten thousand plans leave behind, and what holds up the event loop.

The first run is one process and one sandbox, with plans of every kind in turn: some call tools,
some fail, some are stopped by a limit or cancelled. The second is every plan of the exhaustion
table, the third the fuzz test with new examples every time; both watch how late the loop's turns
come.
"""

import asyncio
import gc
import random
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from hypothesis import HealthCheck, given, seed, settings

from modules.sandbox import Sandbox
from modules.sandbox.limits import MIB
from tests.benchmarks.table import Row, at_most
from tests.modules.sandbox.exhaustion import FAMILIES, LIMITS, PATIENT_LIMITS
from tests.modules.sandbox.exhaustion_of_host import HOST_FAMILIES
from tests.modules.sandbox.fuzz import LIMITS as FUZZ_LIMITS
from tests.modules.sandbox.fuzz import Case, cases, survive
from tests.modules.sandbox.fuzz_plans import any_text, grammar_made, mutated
from tests.modules.sandbox.heartbeat import Heartbeat
from tests.modules.sandbox.host_state import Holdings, children, holdings, resident_bytes
from tests.modules.sandbox.sandbox_tools import CATALOG, Tools
from tests.modules.sandbox.soak import LIMITS as SOAK_LIMITS
from tests.modules.sandbox.soak import soak

PLANS = 10_000
WARM_UP_PLANS = 500
FUZZED_PLANS = 1000
"""Of each of the three kinds: any text, made by a grammar, real ones with mistakes."""

GROWTH_MIB_AIM = 16.0
"""Resident memory may move by so much with the allocator's mood; a leak of a record is more."""

LOOP_GAP_MS_AIM = 50.0


@dataclass(frozen=True)
class _State:
    """What this process holds, and its memory and that of its worker, in bytes."""

    held: Holdings
    resident: int
    worker_resident: int


def measure(
    _: Path, plans: int = PLANS, fuzzed: int = FUZZED_PLANS, seed_number: int | None = None
) -> list[Row]:
    """All three runs, some minutes; `seed_number` repeats the fuzz run of an earlier table."""
    chosen = random.SystemRandom().randrange(2**32) if seed_number is None else seed_number
    rows = [*asyncio.run(_soaked(plans)), asyncio.run(_exhausted())]
    return [*rows, *_fuzzed(fuzzed, chosen)]


async def _soaked(plans: int) -> list[Row]:
    before_all = holdings()
    states: list[_State] = []
    marks = {WARM_UP_PLANS, WARM_UP_PLANS + plans}
    async with Sandbox(SOAK_LIMITS) as sandbox:

        def look(done: int) -> None:
            if done in marks:
                gc.collect()
                states.append(_state(before_all))

        ends = await soak(sandbox, WARM_UP_PLANS + plans, look)
    warm, end = states
    left = len(holdings().children - before_all.children)
    return [
        Row(f"{plans:,} plans in one process", _told(ends)),
        _same("  descriptors", warm.held.descriptors, end.held.descriptors),
        _same("  threads", warm.held.threads, end.held.threads),
        _same("  processes", len(warm.held.children), len(end.held.children)),
        _same("  processes after closing", 0, left),
        _grown("  resident memory", warm.resident, end.resident),
        _grown("  the worker's resident memory", warm.worker_resident, end.worker_resident),
    ]


def _state(before_all: Holdings) -> _State:
    workers = children() - before_all.children
    return _State(holdings(), resident_bytes(), max(map(resident_bytes, workers), default=0))


def _same(what: str, warm: int, end: int) -> Row:
    verdict = "met" if warm == end else "MISSED"
    return Row(what, f"{warm} warm, {end} at the end", f"aim: the same: {verdict}")


def _grown(what: str, warm: int, end: int) -> Row:
    grown = (end - warm) / MIB
    told = f"{warm / MIB:.1f} MiB warm, {end / MIB:.1f} MiB at the end"
    return Row(what, told, at_most(grown, GROWTH_MIB_AIM, " MiB more"))


def _told(ends: Counter[str]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in ends.most_common())


def _fuzzed(count: int, seed_number: int) -> list[Row]:
    """So many examples of each kind, in an event loop of their own; none may raise."""
    before = children()
    heartbeat = Heartbeat()
    ends: Counter[str] = Counter()
    with asyncio.Runner() as runner:
        sandbox = Sandbox(FUZZ_LIMITS)
        runner.run(sandbox.__aenter__())

        async def watched(case: Case) -> None:
            gc.disable()  # the fuzzer's own garbage, millions of objects, isn't what is measured
            async with heartbeat:
                result = await survive(case, sandbox)
            gc.enable()
            ends["cancelled" if result is None else type(result).__name__] += 1

        for plans in (any_text(), grammar_made(), mutated()):

            @seed(seed_number)
            @settings(
                max_examples=count,
                database=None,
                derandomize=False,
                deadline=None,
                suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
            )
            @given(case=cases(plans))
            def examine(case: Case) -> None:
                runner.run(watched(case))

            examine()
        runner.run(sandbox.__aexit__(None, None, None))
    left = len(children() - before)
    return [
        Row(f"{ends.total():,} fuzzed plans, seed {seed_number}", _told(ends)),
        _gap("  longest hold-up of the event loop", heartbeat),
        _same("  processes after closing", 0, left),
    ]


async def _exhausted() -> Row:
    families = (FAMILIES | HOST_FAMILIES).values()
    snippets = [snippet for family in families for snippet in family]
    heartbeat = Heartbeat()
    async with Sandbox(LIMITS) as strict, Sandbox(PATIENT_LIMITS) as patient:
        for snippet in snippets:
            async with heartbeat:
                sandbox = strict if snippet.is_stopped else patient
                await sandbox.run(snippet.plan, CATALOG, Tools())
    return _gap(f"{len(snippets)} plans of the exhaustion table, longest hold-up", heartbeat)


def _gap(what: str, heartbeat: Heartbeat) -> Row:
    milliseconds = heartbeat.longest_gap_seconds * 1000
    return Row(what, f"{milliseconds:.1f} ms", at_most(milliseconds, LOOP_GAP_MS_AIM, " ms"))

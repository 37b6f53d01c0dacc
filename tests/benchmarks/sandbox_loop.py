"""What plans do to the event loop of the host: calls at once, the longest gap, and cancelling."""

import asyncio
import time
from collections.abc import Awaitable

from core.tools.catalog import ToolCatalog
from core.tools.content import TextBlock, ToolResult
from core.tools.spec import ToolSpec
from core.turn import Plan
from core.values import JsonObject
from modules.action import run_plan
from modules.sandbox import Sandbox, SandboxLimits
from tests.benchmarks.plan_texts import (
    PARALLEL_CALLS,
    SPINNING,
    SPINNING_AFTER_A_CALL,
    dense_plans,
)
from tests.benchmarks.table import Row, at_most, middle_half, quartiles
from tests.modules.sandbox.heartbeat import Heartbeat

PARALLEL_ROUNDS = 15
CALL_SECONDS = 0.2
PARALLEL_MS_AIM = 230.0

SPIN_CPU_SECONDS = 2.0
GAP_MS_AIM = 50.0
DENSE_ROUNDS = 3

CANCEL_ROUNDS = 15
SPINNING_SECONDS = 0.05
"""How long a plan has been spinning when it is cancelled."""

CANCEL_MS_AIM = 100.0

WAIT = ToolSpec(
    "bench",
    "wait",
    "Waits.",
    {
        "type": "object",
        "properties": {"number": {"type": "integer"}},
        "required": ["number"],
    },
)
TOOLS = ToolCatalog([WAIT])


async def measure() -> list[Row]:
    """Everything that needs a running loop, one after the other on a warm sandbox."""
    return [*await _parallel_calls(), *await _gaps(), *await _cancelling()]


async def _parallel_calls() -> list[Row]:
    """Five calls of 200 ms each in one plan."""

    async def call(tool: ToolSpec, arguments: JsonObject) -> ToolResult:
        await asyncio.sleep(CALL_SECONDS)
        return ToolResult((TextBlock("1"),), {"result": 1})

    seconds: list[float] = []
    async with Sandbox() as sandbox:
        for _ in range(PARALLEL_ROUNDS + 1):
            started = time.perf_counter()
            ran = await sandbox.run(PARALLEL_CALLS, TOOLS, call)
            seconds.append(time.perf_counter() - started)
            assert ran.value == [1] * 5, ran.failure
    del seconds[0]  # it started the worker
    aim = at_most(quartiles(seconds)[1] * 1000, PARALLEL_MS_AIM, " ms")
    return [Row("5 calls of 200 ms at once", middle_half(seconds), aim)]


async def _gaps() -> list[Row]:
    async with Sandbox(SandboxLimits(cpu_seconds=SPIN_CPU_SECONDS)) as sandbox:
        await sandbox.run("def solve():\n    return 1", TOOLS, _answer)  # warm
        idle = await _longest_gap(asyncio.sleep(SPIN_CPU_SECONDS))
        spinning = await _longest_gap(sandbox.run(SPINNING, TOOLS, _answer))
        plans = dense_plans(SandboxLimits().source_bytes)
        dense = [(await _checking_gap(plan, sandbox), name) for name, plan in plans.items()]
    worst, name = max(dense)
    size = f"{SandboxLimits().source_bytes // 1024} KiB"
    return [
        Row(f"longest gap of the loop, idle for {SPIN_CPU_SECONDS:g} s", f"{idle * 1000:.1f} ms"),
        _gap_row(f"longest gap, a plan spins for {SPIN_CPU_SECONDS:g} s", spinning),
        _gap_row(f"longest gap, {size} full of {name} checked, worst of {len(dense)}", worst),
    ]


def _gap_row(what: str, seconds: float) -> Row:
    milliseconds = seconds * 1000
    return Row(what, f"{milliseconds:.1f} ms", at_most(milliseconds, GAP_MS_AIM, " ms"))


async def _longest_gap(work: Awaitable[object]) -> float:
    """The longest while `work` is done."""
    async with Heartbeat() as heart:
        await work
    return heart.longest_gap_seconds


async def _checking_gap(plan: str, sandbox: Sandbox) -> float:
    """The longest gap while a plan is checked: always the same work, so the least of some."""
    gaps = [await _longest_gap(_checked_and_run(plan, sandbox)) for _ in range(DENSE_ROUNDS)]
    return min(gaps)


async def _checked_and_run(source: str, sandbox: Sandbox) -> None:
    """A plan's whole way: repairs, static check, and the run of what passes."""
    await run_plan(Plan(source), TOOLS, _answer, sandbox)


async def _cancelling() -> list[Row]:
    """From `cancel()` of a spinning plan until its task has ended, and the next plan's run."""
    seconds: list[float] = []
    afterwards: list[float] = []
    async with Sandbox() as sandbox:
        for _ in range(CANCEL_ROUNDS):
            seconds.append(await _cancelled(sandbox))
            started = time.perf_counter()
            ran = await sandbox.run("def solve():\n    return 1", TOOLS, _answer)
            afterwards.append(time.perf_counter() - started)
            assert ran.value == 1, ran.failure
    aim = at_most(max(seconds) * 1000, CANCEL_MS_AIM, " ms at worst")
    return [
        Row("cancelling a spinning plan", middle_half(seconds), aim),
        Row("  the next plan, on a new worker", middle_half(afterwards)),
    ]


async def _cancelled(sandbox: Sandbox) -> float:
    runs = asyncio.Event()

    async def call(tool: ToolSpec, arguments: JsonObject) -> ToolResult:
        runs.set()
        return await _answer(tool, arguments)

    task = asyncio.create_task(sandbox.run(SPINNING_AFTER_A_CALL, TOOLS, call))
    await runs.wait()
    await asyncio.sleep(SPINNING_SECONDS)
    started = time.perf_counter()
    task.cancel()
    await asyncio.wait({task})
    assert task.cancelled(), "the plan ended by itself"
    return time.perf_counter() - started


async def _answer(tool: ToolSpec, arguments: JsonObject) -> ToolResult:
    return ToolResult((TextBlock("1"),), {"result": 1})

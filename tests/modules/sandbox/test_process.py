"""The sandbox as a guest of its process: cancelling, crashes, the event loop, what is left."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from core.tools.content import ToolResult
from core.tools.spec import ToolSpec
from core.values import JsonObject
from modules.sandbox import Sandbox, SandboxLimits
from modules.sandbox.calls import PlanCalls
from modules.sandbox.limits import Finished, Waiting
from modules.sandbox.pool import MAX_PARALLEL_PLANS
from modules.sandbox.session import PlanSession
from modules.sandbox.worker import Worker, WorkerLost
from tests.modules.sandbox.host_state import children
from tests.modules.sandbox.sandbox_tools import CATALOG, TEST_TIMEOUT_SECONDS, Tools, answer, solve

SPIN = solve("await tools.echo('started')", "while True:", "    pass")
CANCEL_BOUND_SECONDS = 2.0
"""Far above what a cancel takes (milliseconds), far below the plan's own limits."""


async def test_cancelling_ends_a_spinning_plan_at_once_and_the_next_plan_runs() -> None:
    tools = Tools()
    async with asyncio.timeout(TEST_TIMEOUT_SECONDS), Sandbox(SandboxLimits(cpu_seconds=60)) as box:
        task = asyncio.create_task(box.run(SPIN, CATALOG, tools))
        await tools.started.wait()
        before = time.perf_counter()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert time.perf_counter() - before < CANCEL_BOUND_SECONDS
        assert (await box.run(solve("return 1"), CATALOG, Tools())).value == 1


async def test_cancelling_ends_the_open_calls_before_it_returns() -> None:
    tools = Tools(meeting=2)
    async with asyncio.timeout(TEST_TIMEOUT_SECONDS), Sandbox() as box:
        task = asyncio.create_task(box.run(solve("await tools.meet('me')"), CATALOG, tools))
        await tools.started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert tools.cancelled == ["math.meet"]


async def test_the_event_loop_goes_on_while_a_plan_spins() -> None:
    limits = SandboxLimits(cpu_seconds=0.5)
    async with asyncio.timeout(TEST_TIMEOUT_SECONDS), Sandbox(limits) as box:
        task = asyncio.create_task(box.run(solve("while True:", "    pass"), CATALOG, Tools()))
        turns = 0
        while not task.done():
            turns += 1
            await asyncio.wait({task}, timeout=0.01)
        assert (await task).failure is not None
    assert turns > 5  # a blocked loop would have had one or two


async def test_a_worker_that_dies_is_a_crash_and_the_next_plan_runs() -> None:
    async def murder(tool: ToolSpec, arguments: JsonObject) -> ToolResult:
        (worker,) = children() - before
        os.kill(worker, signal.SIGKILL)
        return answer(1)

    before = children()
    async with asyncio.timeout(TEST_TIMEOUT_SECONDS), Sandbox() as box:
        result = await box.run(solve("return await tools.add(1, 2)"), CATALOG, murder)
        assert result.failure is not None
        assert result.failure.kind == "crash"
        assert [call.tool for call in result.calls] == ["math.add"]
        assert (await box.run(solve("return 1"), CATALOG, Tools())).value == 1


async def test_no_process_and_no_thread_is_left() -> None:
    before = children()
    async with (
        asyncio.timeout(TEST_TIMEOUT_SECONDS),
        Sandbox(SandboxLimits(cpu_seconds=0.2)) as box,
    ):
        plans = [solve("return 1"), SPIN, solve("return await tools.add(1, 2)"), "broken("]
        await asyncio.gather(*(box.run(plan, CATALOG, Tools()) for plan in plans))
        assert children() > before
    assert children() == before


@pytest.mark.parametrize("plan", ["return await tools.meet(1)", "while True: pass"])
async def test_plans_may_be_cancelled_just_before_the_sandbox_is_left(plan: str) -> None:
    before, tools = children(), Tools(meeting=9)
    async with asyncio.timeout(TEST_TIMEOUT_SECONDS):
        async with Sandbox() as box:
            plans = [solve("await tools.echo(1)", plan)] * 3
            tasks = [asyncio.create_task(box.run(plan, CATALOG, tools)) for plan in plans]
            await tools.started.wait()
            for task in tasks:
                task.cancel()
        await asyncio.wait(tasks)
    assert all(task.cancelled() for task in tasks)
    assert children() == before


async def test_nothing_starts_before_it_is_needed() -> None:
    before = children()
    async with Sandbox():
        assert children() == before


def pretending(does: str, tmp_path: Path) -> list[str]:
    """The command of a worker that is none."""
    program = tmp_path / "worker"
    program.write_text(f"#!/bin/sh\nexec {does}\n")
    program.chmod(0o700)
    return [str(program)]


@pytest.mark.parametrize("does", ["cat /dev/zero", "yes", "false", "true", "echo too short"])
async def test_what_is_no_worker_is_told_when_it_starts(does: str, tmp_path: Path) -> None:
    before = children()
    async with asyncio.timeout(TEST_TIMEOUT_SECONDS):
        with pytest.raises(WorkerLost):
            await Worker.started(pretending(does, tmp_path), 0.05)
    assert children() == before


LIAR = """\
import struct, sys, time
def say(said):
    sys.stdout.buffer.write(struct.pack("<I", len(said)) + said)
    sys.stdout.buffer.flush()
say(b"W")
while head := sys.stdin.buffer.read(4):
    sys.stdin.buffer.read(*struct.unpack("<I", head))
    LIE
"""

LIES = {
    "silence": "time.sleep(1000)",
    "no end": "say(b'P' * 10**6); sys.stdout.buffer.write(b'x' * 100 + struct.pack('<I', 10)); "
    "sys.stdout.buffer.flush(); time.sleep(1000)",
    "too large": "sys.stdout.buffer.write(struct.pack('<I', 2**31) + b'G'); "
    "sys.stdout.buffer.flush(); time.sleep(1000)",
    "printing for ever": "[say(b'Px' * 1000) for n in range(10**9)]",
    "no text": "say(b'G\\xff\\xff')",
    "no JSON": "say(b'G{')",
    "no object": "say(b'G[]')",
    "nothing": "say(b'')",
    "another letter": "say(b'Z{}')",
    "a reason": "say(b'Tx' * 10**6)",
    "deep": "say(b'G' + b'[' * 10**6)",
    "digits": "say(b'G{\"value\":' + b'9' * 10**5 + b'}')",
    "no end of any kind": "say(b'G{\"end\":1}')",
    "calls of another form": 'say(b\'G{"calls":[1],"timer":null}\')',
    "calls not made": 'say(b\'G{"calls":[[7,"tool","add",[1,2],{},1]],"timer":null}\')',
    "the same call twice": 'say(b\'G{"calls":[[1,"tool","add",[1,2],{},1]],"timer":null}\')',
    "a kind of call": 'say(b\'G{"calls":[[1,"exec","add",[1,2],{},1]],"timer":null}\')',
    "a timer that is none": 'say(b\'G{"calls":[],"timer":"soon"}\')',
    "a timer without end": 'say(b\'G{"calls":[],"timer":1e999}\')',
    "a timer of many digits": "say(b'G{\"calls\":[],\"timer\":' + b'9' * 999 + b'}')",
    "a timer that is no number": 'say(b\'G{"calls":[],"timer":NaN}\')',
    "a busy timer": 'say(b\'G{"calls":[],"timer":-1}\')',
    "an error of another form": 'say(b\'G{"error":{"type":1}}\')',
    "an error in no line": 'say(b\'G{"error":{"type":"E","text":"","line":1e9,"origin":[]}}\')',
    "a memory of another form": 'say(b\'G{"value":1,"memory":5}\')',
}
"""What a worker says to every frame that it gets, if a plan has taken it over."""


@pytest.mark.parametrize("lie", LIES)
async def test_a_worker_that_was_taken_over_ends_its_own_plan_at_most(
    lie: str, tmp_path: Path
) -> None:
    program = tmp_path / "liar.py"
    program.write_text(LIAR.replace("LIE", LIES[lie]))
    before, tools = children(), Tools()
    async with asyncio.timeout(TEST_TIMEOUT_SECONDS):
        command = [sys.executable, "-I", "-S", str(program)]
        worker = await Worker.started(command, 0.05)
        try:
            limits = SandboxLimits(printed_bytes=2000, wall_seconds=1)
            session = PlanSession(CATALOG, limits, memory={"a": 1})
            ended = await _driven(session, worker, tools)
        finally:
            await worker.end()
    assert ended is None or ended.failure is not None
    if ended is not None and ended.failure is not None:
        assert ended.failure.kind in {"crash", "limit", "error"}
        assert len(ended.failure.message) < 2000
    assert len(session.printed.encode()) <= 2000
    assert len(tools.sent) <= SandboxLimits().tool_calls
    assert children() == before


async def _driven(session: PlanSession, worker: Worker, tools: Tools) -> Finished | None:
    """The end of a plan as the sandbox drives it; None where it must be ended by the clock."""
    calls = PlanCalls(tools)
    try:
        async with asyncio.timeout(1):
            state = await session.start(worker, solve("return memory"))
            while isinstance(state, Waiting):
                calls.send(state.calls)
                outcomes = state.settled or await calls.any_of(state.pending, state.timer_seconds)
                state = await session.settle(outcomes)
            return state
    except TimeoutError:
        return None
    finally:
        await calls.end()


async def test_a_worker_that_died_while_idle_costs_no_plan() -> None:
    before = children()
    async with asyncio.timeout(TEST_TIMEOUT_SECONDS), Sandbox() as box:
        assert (await box.run(solve("return 0"), CATALOG, Tools())).value == 0
        for _ in range(3):
            (worker,) = children() - before
            os.kill(worker, signal.SIGKILL)
            assert (await box.run(solve("return 1"), CATALOG, Tools())).value == 1


@pytest.mark.parametrize("second_wall", [True, False], ids=["both walls", "one wall"])
async def test_a_plan_that_traps_costs_no_worker(*, second_wall: bool) -> None:
    before = children()
    async with asyncio.timeout(TEST_TIMEOUT_SECONDS), Sandbox(second_wall=second_wall) as box:
        assert (await box.run(solve("return 0"), CATALOG, Tools())).value == 0
        workers = children() - before
        for plan in ("import os; os._exit(1)", "x = '\\x' * 3; import os; os.abort()"):
            assert (await box.run(solve(plan), CATALOG, Tools())).failure is not None
            assert (await box.run(solve("return 1"), CATALOG, Tools())).value == 1
        assert children() - before == workers


async def test_a_plan_that_is_cancelled_while_it_waits_costs_no_worker() -> None:
    before, tools = children(), Tools(meeting=2)
    async with asyncio.timeout(TEST_TIMEOUT_SECONDS), Sandbox() as box:
        assert (await box.run(solve("return 0"), CATALOG, Tools())).value == 0
        workers = children() - before
        for _ in range(3):
            tools.started.clear()
            task = asyncio.create_task(box.run(solve("await meet('me')"), CATALOG, tools))
            await tools.started.wait()
            task.cancel()
            await asyncio.wait({task})
            assert (await box.run(solve("return 1"), CATALOG, Tools())).value == 1
        assert children() - before == workers


async def test_a_call_that_is_slow_to_end_keeps_no_worker_from_another_plan() -> None:
    started, may_end = asyncio.Semaphore(0), asyncio.Event()

    async def stubborn(tool: ToolSpec, arguments: JsonObject) -> ToolResult:
        started.release()
        try:
            await asyncio.Event().wait()
        finally:
            await may_end.wait()
        return answer(1)

    plan = solve("return await tools.add(1, 2)")
    async with asyncio.timeout(TEST_TIMEOUT_SECONDS), Sandbox() as box:
        tasks = [
            asyncio.create_task(box.run(plan, CATALOG, stubborn)) for _ in range(MAX_PARALLEL_PLANS)
        ]
        for _ in tasks:
            await started.acquire()
        for task in tasks:
            task.cancel()
        async with asyncio.timeout(CANCEL_BOUND_SECONDS):
            assert (await box.run(solve("return 1"), CATALOG, Tools())).value == 1
        assert not any(task.done() for task in tasks)
        may_end.set()
        await asyncio.wait(tasks)


async def test_a_timeout_that_the_dispatcher_leaks_is_not_taken_for_the_deadline() -> None:
    async def leak(tool: ToolSpec, arguments: JsonObject) -> ToolResult:
        raise TimeoutError("a bug")

    async with asyncio.timeout(TEST_TIMEOUT_SECONDS), Sandbox() as box:
        with pytest.raises(TimeoutError, match="a bug"):
            await box.run(solve("await tools.add(1, 2)"), CATALOG, leak)


def test_the_interpreter_is_not_imported_before_the_first_plan() -> None:
    modules = "modules.action, modules.sandbox, modules.planning.preparation"
    check = f"import sys, {modules}; sys.exit('wasmtime' in sys.modules)"
    root = Path(__file__).parents[3]
    subprocess.run([sys.executable, "-c", check], cwd=root, check=True, timeout=30)

"""The sandbox as a guest of its process: cancelling, crashes, the event loop, what is left."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from core.errors import SandboxUnavailable
from core.tools.content import ToolResult
from core.tools.spec import ToolSpec
from core.turn import PlanFailure
from core.values import JsonObject
from modules.sandbox import Sandbox, SandboxLimits
from modules.sandbox.limits import Finished, Waiting
from modules.sandbox.pool import MAX_PARALLEL_PLANS
from modules.sandbox.walls.launcher import find_worker
from tests.modules.sandbox.host_state import children
from tests.modules.sandbox.sandbox_tools import CATALOG, TEST_TIMEOUT_SECONDS, Tools, answer, solve

SPIN = solve("await tools.echo('started')", "while True:", "    pass")
CANCEL_BOUND_SECONDS = 2.0
"""Far above what a cancel takes (milliseconds), far below the plan's own limits."""


def sandbox_threads() -> list[str]:
    return [t.name for t in threading.enumerate() if t.name.startswith("cortex-sandbox")]


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
        assert sandbox_threads()
    assert children() == before
    assert sandbox_threads() == []


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
    assert sandbox_threads() == []


async def test_nothing_starts_before_it_is_needed() -> None:
    before = children()
    async with Sandbox():
        assert children() == before
        assert sandbox_threads() == []


async def test_a_pool_that_cannot_start_is_an_outage_and_may_be_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with asyncio.timeout(TEST_TIMEOUT_SECONDS), Sandbox() as box:
        with monkeypatch.context() as broken:
            broken.setenv("MONTY_BIN", "/nonexistent/monty")
            with pytest.raises(SandboxUnavailable, match=r"not start.*install Cortex-R again"):
                await box.run(solve("return 1"), CATALOG, Tools())
        async with Sandbox() as other:  # leaving it after a failed start is no error
            with monkeypatch.context() as broken:
                broken.setenv("MONTY_BIN", "/nonexistent/monty")
                with pytest.raises(SandboxUnavailable):
                    await other.run(solve("return 1"), CATALOG, Tools())
        assert (await box.run(solve("return 1"), CATALOG, Tools())).value == 1


@pytest.mark.parametrize("does", ["cat /dev/zero", "yes", "sleep 1000", "true"])
async def test_a_worker_that_talks_nonsense_or_is_silent_is_a_failure_within_the_limits(
    does: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = tmp_path / "worker"
    worker.write_text(f"#!/bin/sh\nexec {does}\n")
    worker.chmod(0o700)
    monkeypatch.setenv("MONTY_BIN", str(worker))
    limits = SandboxLimits(cpu_seconds=0.05)
    async with asyncio.timeout(TEST_TIMEOUT_SECONDS), Sandbox(limits, second_wall=False) as box:
        result = await box.run(solve("return 1"), CATALOG, Tools())
    assert result.failure is not None
    assert result.failure.kind == ("limit" if does.startswith("sleep") else "crash")


LIAR = r"""#!/bin/sh
exec '{python}' -IS -c '
import os, re, subprocess, sys
worker = subprocess.Popen([sys.argv[1], *sys.argv[2:]], stdout=subprocess.PIPE)
while said := os.read(worker.stdout.fileno(), 1 << 20):
    os.write(1, re.sub(rb"(?<=\*.\n\x01)\x00(?=\x12)", b"\x07", said))
' '{worker}' "$@"
"""
"""Says of a plan that waits for its first call (of number 0) that it waits for its eighth."""


async def test_a_worker_that_waits_for_calls_that_it_did_not_make_is_a_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    liar = tmp_path / "worker"
    liar.write_text(LIAR.format(python=sys.executable, worker=find_worker()))
    liar.chmod(0o700)
    monkeypatch.setenv("MONTY_BIN", str(liar))
    async with asyncio.timeout(TEST_TIMEOUT_SECONDS), Sandbox(second_wall=False) as box:
        honest = await box.run(solve("return 1"), CATALOG, Tools())
        assert honest.value == 1
        result = await box.run(solve("return await tools.add(1, 2)"), CATALOG, Tools())
    assert result.failure is not None
    assert result.failure.kind == "crash"
    assert "did not make" in result.failure.message


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


NO_DESCRIPTORS = """
import resource
from modules.sandbox.workers import Workers
_, most = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (3, most))
try:
    Workers(1, second_wall=False).__enter__()
except RuntimeError as failed:
    assert "the pool of workers failed" in str(failed)
    raise SystemExit(42) from failed
"""


def test_a_panic_of_the_pool_is_an_exception() -> None:
    """In a process of its own, in which the pool never works again."""
    root = Path(__file__).parents[3]
    command = [sys.executable, "-c", NO_DESCRIPTORS]
    ran = subprocess.run(command, cwd=root, capture_output=True, timeout=TEST_TIMEOUT_SECONDS)
    assert ran.returncode == 42, ran.stderr


async def test_a_timeout_that_the_dispatcher_leaks_is_not_taken_for_the_deadline() -> None:
    async def leak(tool: ToolSpec, arguments: JsonObject) -> ToolResult:
        raise TimeoutError("a bug")

    async with asyncio.timeout(TEST_TIMEOUT_SECONDS), Sandbox() as box:
        with pytest.raises(TimeoutError, match="a bug"):
            await box.run(solve("await tools.add(1, 2)"), CATALOG, leak)


def test_a_session_that_is_killed_before_it_has_a_worker_does_not_run() -> None:
    from modules.sandbox.session import PlanSession
    from modules.sandbox.workers import Workers

    with Workers(1, second_wall=False) as workers:
        session = PlanSession(workers.pool, CATALOG, SandboxLimits(cpu_seconds=60))
        session.worker.kill()
        state = session.start("while True: pass")
        assert isinstance(state, Finished)
        assert state.failure is not None
        assert state.failure.kind == "crash"
        session.worker.release(keep=False)
        session.worker.release(keep=False)


def test_a_session_without_a_free_worker_is_a_crash() -> None:
    from modules.sandbox.session import PlanSession
    from modules.sandbox.workers import Workers

    with Workers(1, second_wall=False, checkout_seconds=0.05) as workers:
        busy, late = (PlanSession(workers.pool, CATALOG, SandboxLimits()) for _ in range(2))
        assert isinstance(busy.start(solve("await tools.add(1, 2)")), Waiting)
        state = late.start(solve("return 1"))
        assert isinstance(state, Finished)
        assert state.failure == PlanFailure("crash", "no sandbox worker became free in time")
        with pytest.raises(RuntimeError, match="not waiting"):
            late.settle({})
        busy.worker.release(keep=True)


def test_the_interpreter_is_not_imported_before_the_first_plan() -> None:
    modules = "modules.action, modules.sandbox, modules.planning.preparation"
    check = f"import sys, {modules}; sys.exit('pydantic_monty' in sys.modules)"
    root = Path(__file__).parents[3]
    subprocess.run([sys.executable, "-c", check], cwd=root, check=True, timeout=30)

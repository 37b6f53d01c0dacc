"""Runs a plan in a sandbox whose only doors are tool calls.

The plan runs on a worker process of pydantic-monty (a Python interpreter without files, network,
processes or environment), driven from a thread. Whenever it waits for tools, control returns to
the event loop, where the calls run as tasks, at once. So the loop is never blocked, a plan that
waits costs no thread, and a plan that spins is ended by killing its worker.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Self

from core.catalog import ToolCatalog
from core.deadlines import Deadlines
from core.ports import CallTool
from core.turn import PlanFailure
from modules.sandbox.calls import END_TIMEOUT_SECONDS, PlanCalls
from modules.sandbox.limits import (
    Finished,
    PlanState,
    SandboxLimits,
    SandboxResult,
    Waiting,
)

if TYPE_CHECKING:  # imported in a thread at first use: it costs 90 ms
    from pydantic_monty import Monty

    from modules.sandbox.session import PlanSession

MAX_PARALLEL_PLANS = 4
"""Plans of one sandbox that run at once; others wait their turn within their wall time."""

EXECUTOR_THREADS = 2 * MAX_PARALLEL_PLANS
"""Twice the plans, so that giving a worker back never queues behind those that wait for one."""


class Sandbox:
    """A pool of interpreter workers, started when first needed.

    Use as an async context manager; when it is left, its threads and processes are gone.
    `run` may be called many times, also at once.
    """

    def __init__(self, limits: SandboxLimits | None = None) -> None:
        self._limits = limits or SandboxLimits()
        self._turns = asyncio.Semaphore(MAX_PARALLEL_PLANS)
        self._deadlines = Deadlines()
        self._executor: ThreadPoolExecutor | None = None
        self._pool: Future[Monty] | None = None

    async def __aenter__(self) -> Self:
        """Nothing is started yet; see `warm`."""
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End the workers and threads; plans must have ended or been cancelled before."""
        executor, self._executor = self._executor, None
        starting, self._pool = self._pool, None
        if executor is None or starting is None:
            return
        closing = asyncio.wrap_future(executor.submit(_close_pool, starting))
        executor.shutdown(wait=False)  # so that all ends even if this wait is cancelled
        await asyncio.wait({closing}, timeout=END_TIMEOUT_SECONDS)
        executor.shutdown(wait=True)

    def standing_still(self) -> AbstractContextManager[None]:
        """Let no wall time pass for any plan while inside: a tool of it waits for the user."""
        return self._deadlines.standing_still()

    async def run(self, plan: str, tools: ToolCatalog, call: CallTool) -> SandboxResult:
        """Run a plan's `solve()` with `tools` on offer; `call` sends each tool call.

        Failures of the plan, of a tool that the plan didn't handle, and of a worker are values in
        the result. Cancelling ends the plan and its open calls before it returns.

        Raises:
            Exception: whatever `call` raises that is neither `CallRefused` nor `WorldError`.
        """
        if (failure := self.unreadable(plan)) is not None:
            return SandboxResult(None, "", (), failure)
        calls = PlanCalls(call)
        run: _PlanRun | None = None
        finished = Finished(failure=PlanFailure("crash", "the plan was interrupted"))
        deadline: asyncio.Timeout | None = None
        try:
            async with self._deadlines.within(self._limits.wall_seconds) as deadline, self._turns:
                run = await self._prepare(tools, calls)
                finished = await run.to_end(plan)
        except TimeoutError:
            if deadline is None or not deadline.expired():  # a bug in `call`, not our deadline
                raise
            finished = Finished(failure=self._too_late())
        except _PoolFailed as failed:
            finished = Finished(failure=PlanFailure("crash", str(failed)))
        finally:
            await _end(calls, run, keep_worker=_is_harmless(finished))
        printed, found = (run.printed, run.found) if run is not None else ("", ())
        return SandboxResult(finished.value, printed, calls.finished(), finished.failure, found)

    def unreadable(self, plan: str) -> PlanFailure | None:
        """Why a text can't even be handed to the interpreter, if so."""
        try:
            size_bytes = len(plan.encode())
        except UnicodeEncodeError:
            return PlanFailure("syntax", "the plan holds characters that are not valid Unicode")
        if size_bytes > self._limits.source_bytes:
            return PlanFailure(
                "limit", f"the plan is longer than {self._limits.source_bytes:,} bytes"
            )
        return None

    def _too_late(self) -> PlanFailure:
        seconds = f"{self._limits.wall_seconds:g} s"
        return PlanFailure("limit", f"the plan took longer than {seconds}, tool calls included")

    def _started(self) -> tuple[ThreadPoolExecutor, "Future[Monty]"]:
        """The executor and the pool, started if they aren't; a failed start is tried again."""
        if self._executor is None:
            self._executor = ThreadPoolExecutor(EXECUTOR_THREADS, "cortex-sandbox")
        if self._pool is None or (self._pool.done() and self._pool.exception() is not None):
            self._pool = self._executor.submit(_open_pool)
        return self._executor, self._pool

    async def _prepare(self, tools: ToolCatalog, calls: PlanCalls) -> "_PlanRun":
        executor, starting = self._started()
        try:
            pool = await asyncio.shield(asyncio.wrap_future(starting))
        except (ImportError, OSError, RuntimeError) as error:
            raise _PoolFailed(
                f"the sandbox could not start: {error}; reinstall pydantic-monty"
            ) from error
        from modules.sandbox.session import PlanSession

        return _PlanRun(PlanSession(pool, tools, self._limits), executor, calls)


class _PoolFailed(Exception):
    """The worker pool could not be started."""


class _PlanRun:
    """One plan: its session in threads of the executor, its calls on the event loop."""

    def __init__(
        self, session: "PlanSession", executor: ThreadPoolExecutor, calls: PlanCalls
    ) -> None:
        self._session = session
        self._executor = executor
        self._calls = calls

    @property
    def printed(self) -> str:
        return self._session.printed

    @property
    def found(self) -> tuple[str, ...]:
        return self._session.found

    async def to_end(self, plan: str) -> Finished:
        """Drive the plan until it ends; cancelling kills its worker."""
        state: PlanState = await self._in_thread(partial(self._session.start, plan))
        while isinstance(state, Waiting):
            self._calls.send(state.calls)
            outcomes = await self._calls.any_of(state.pending)
            state = await self._in_thread(partial(self._session.settle, outcomes))
        return state

    async def close(self, *, keep_worker: bool) -> None:
        """Free the worker; quick, because nothing runs on it any more."""
        close = partial(self._session.close, keep_worker=keep_worker)
        await asyncio.shield(asyncio.get_running_loop().run_in_executor(self._executor, close))

    async def _in_thread(self, step: Callable[[], PlanState]) -> PlanState:
        thread = asyncio.get_running_loop().run_in_executor(self._executor, step)
        try:
            return await asyncio.shield(thread)
        except asyncio.CancelledError:
            self._session.kill()
            await asyncio.wait({thread}, timeout=END_TIMEOUT_SECONDS)
            raise


async def _end(calls: PlanCalls, run: _PlanRun | None, *, keep_worker: bool) -> None:
    """End the calls of a plan, then free its worker even if the first is cancelled."""
    try:
        await calls.end()
    finally:
        if run is not None:
            await run.close(keep_worker=keep_worker)


def _is_harmless(finished: Finished) -> bool:
    """Whether the worker may serve another plan; not after a limit or a crash."""
    failure = finished.failure
    return failure is None or failure.kind not in ("limit", "crash")


def _open_pool() -> "Monty":
    """Import the interpreter and start its pool; runs in a thread."""
    from modules.sandbox.session import open_pool

    return open_pool(MAX_PARALLEL_PLANS)


def _close_pool(starting: "Future[Monty]") -> None:
    """End the workers of a pool, once it has started; runs in a thread."""
    if starting.exception() is None:
        starting.result().__exit__(None, None, None)

"""Runs a plan in a sandbox whose only way out is a tool call.

The plan runs on a worker process of pydantic-monty (a Python interpreter without files, network,
processes or environment), driven from a thread. Whenever it waits for tools, control returns to
the event loop, where the calls run as tasks, at once. So the loop is never blocked, a plan that
waits costs no thread, and a plan that spins is ended by killing its worker.
On Linux the workers are behind a second wall besides, see `modules.sandbox.walls.launcher`.
"""

import asyncio
import copy
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from functools import partial
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Self

from config.schema import SandboxSection, WallName
from core.base.frozen import frozen
from core.base.timing import Deadlines
from core.errors import SandboxUnavailable
from core.ports import CallTool
from core.tools.catalog import ToolCatalog
from core.turn import PlanFailure
from core.values import Json
from modules.sandbox.calls import END_TIMEOUT_SECONDS, PlanCalls
from modules.sandbox.limits import (
    Finished,
    PlanState,
    SandboxLimits,
    SandboxResult,
    Waiting,
)
from modules.sandbox.walls.launcher import require_walls

if TYPE_CHECKING:  # imported in a thread at first use: it costs 90 ms
    from modules.sandbox.session import PlanSession
    from modules.sandbox.workers import Workers

MAX_PARALLEL_PLANS = 8
"""Plans of one sandbox that run at once; others wait their turn within their wall time."""

EXECUTOR_THREADS = 2 * MAX_PARALLEL_PLANS
"""Twice the plans, so that giving a worker back never queues behind those that wait for one."""


def _check(limits: SandboxLimits) -> None:
    for name, value in asdict(limits).items():
        if value < 0 or (value == 0 and name != "tool_calls"):
            raise ValueError(f"sandbox limit {name} must be above 0, not {value}")


@dataclass(eq=False)
class _Running:
    """What has been started, for all shares of a sandbox."""

    executor: ThreadPoolExecutor | None = None
    workers: "Future[Workers] | None" = None


def limits_of(section: SandboxSection) -> SandboxLimits:
    """The bounds of one plan, as the profile has them; `require` is none."""
    return SandboxLimits(**section.model_dump(exclude={"require"}))


class Sandbox:
    """A pool of interpreter workers, started when first needed.

    Use as an async context manager; when it is left, its threads and processes are gone.
    `run` may be called many times, also at once.
    """

    def __init__(
        self,
        limits: SandboxLimits | None = None,
        *,
        require: Collection[WallName] = (),
        second_wall: bool = True,
    ) -> None:
        """Start nothing.

        Workers are behind the second wall as far as it stands here, unless `second_wall` is
        false; with `require`, nothing is run where one of these parts doesn't.

        Raises:
            ValueError: no plan could meet a limit: it is not positive (`tool_calls` may be 0).
        """
        self._limits = limits or SandboxLimits()
        _check(self._limits)
        self._require = require
        self._second_wall = second_wall
        self._slots = asyncio.Semaphore(MAX_PARALLEL_PLANS)
        self._deadlines = Deadlines()
        self._running = _Running()

    async def __aenter__(self) -> Self:
        """See whether the walls that are required stand; workers are started when first needed.

        Raises:
            UserError: one doesn't.
        """
        if self._require:
            await asyncio.to_thread(require_walls, self._require, self._limits)
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End the workers and threads; plans must have ended or been cancelled before."""
        running = self._running
        executor, running.executor = running.executor, None
        starting, running.workers = running.workers, None
        if executor is None or starting is None:
            return
        closing = asyncio.wrap_future(executor.submit(_close, starting))
        try:
            # Meanwhile plans that were just cancelled give their workers back.
            closed, _ = await asyncio.wait({closing}, timeout=END_TIMEOUT_SECONDS)
        finally:
            executor.shutdown(wait=False)  # so that all ends even if this wait is cancelled
        if closed:
            executor.shutdown(wait=True)

    async def use(self, limits: SandboxLimits, require: Collection[WallName] = ()) -> None:
        """Hold plans to other bounds from now on; no plan may be running.

        Raises:
            UserError: a wall that is required doesn't stand; the bounds stay as they are.
        """
        if (limits, tuple(require)) == (self._limits, tuple(self._require)):
            return
        if require:
            await asyncio.to_thread(require_walls, require, limits)
        await self.__aexit__(None, None, None)  # new workers start when they are needed
        self._limits, self._require = limits, require

    def standing_still(self) -> AbstractContextManager[None]:
        """Let no wall time pass for any plan while inside: a tool of it waits for the user."""
        return self._deadlines.standing_still()

    def share(self) -> "Sandbox":
        """The same workers, for plans whose time goes by while those of others stand still.

        It is not entered: it ends with the whole.
        """
        shared = copy.copy(self)
        shared._deadlines = Deadlines()
        return shared

    async def run(
        self,
        plan: str,
        tools: ToolCatalog,
        call: CallTool,
        texts: Mapping[str, str] = MappingProxyType({}),
        memory: Mapping[str, Json] = MappingProxyType({}),
    ) -> SandboxResult:
        """Run a plan's `solve()` with `tools` on offer; `call` sends each tool call.

        `texts` are variables that the plan finds set, by name; `memory` it finds as a dict.

        Failures of the plan, of a tool that the plan didn't handle, and of a worker are values in
        the result. Cancelling ends the plan and its open calls before it returns.

        Raises:
            SandboxUnavailable: no worker can be started; no other plan would help.
            Exception: whatever `call` raises that is neither `CallRefused` nor `WorldError`.
        """
        if (failure := self.unreadable(plan)) is not None:
            return SandboxResult(None, "", (), failure)
        calls = PlanCalls(call, self._limits)
        run: _PlanRun | None = None
        finished = Finished(failure=PlanFailure("crash", "the plan was interrupted"))
        deadline: asyncio.Timeout | None = None
        try:
            async with self._deadlines.within(self._limits.wall_seconds) as deadline, self._slots:
                run = await self._prepare(tools, calls, texts, memory)
                finished = await run.to_end(plan)
        except TimeoutError:
            if deadline is None or not deadline.expired():  # a bug in `call`, not our deadline
                raise
            seconds = f"{self._limits.wall_seconds:g} s"
            message = f"the plan took longer than {seconds}, tool calls included"
            finished = Finished(failure=PlanFailure("limit", message))
        finally:
            await _end(calls, run)
        sent = calls.finished()
        if run is None:
            return SandboxResult(finished.value, "", sent, finished.failure)
        printed, found, left = run.session.printed, run.session.found, run.session.memory
        return SandboxResult(
            finished.value, printed, sent, finished.failure, found, left, finished.begins_own
        )

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

    def _started(self) -> tuple[ThreadPoolExecutor, "Future[Workers]"]:
        """The executor and the workers, started if they aren't; a failed start is tried again."""
        running = self._running
        if running.executor is None:
            running.executor = ThreadPoolExecutor(EXECUTOR_THREADS, "cortex-sandbox")
        if running.workers is None or (running.workers.done() and running.workers.exception()):
            running.workers = running.executor.submit(
                _open, self._limits, self._require, second_wall=self._second_wall
            )
        return running.executor, running.workers

    async def _prepare(
        self,
        tools: ToolCatalog,
        calls: PlanCalls,
        texts: Mapping[str, str],
        memory: Mapping[str, Json],
    ) -> "_PlanRun":
        executor, starting = self._started()
        try:
            if not starting.done():  # else this would cost each plan two turns of the loop
                await asyncio.shield(asyncio.wrap_future(starting))
            workers = starting.result()
        except (ImportError, OSError, RuntimeError) as error:
            raise SandboxUnavailable(
                f"the sandbox could not start: {error}; install Cortex-R again, "
                "or see what the command doctor tells"
            ) from error
        from modules.sandbox.session import PlanSession

        session = PlanSession(workers.pool, tools, self._limits, texts, memory)
        return _PlanRun(session, executor, calls)


@frozen
class _PlanRun:
    """One plan: its session in threads of the executor, its calls on the event loop."""

    session: "PlanSession"
    executor: ThreadPoolExecutor
    calls: PlanCalls

    async def to_end(self, plan: str) -> Finished:
        """Drive the plan until it ends; cancelling kills its worker."""
        state: PlanState = await self._in_thread(partial(self.session.start, plan))
        while isinstance(state, Waiting):
            self.calls.send(state.calls)
            outcomes = await self.calls.any_of(state.pending)
            state = await self._in_thread(partial(self.session.settle, outcomes))
        return state

    async def close(self) -> None:
        """End the worker of a plan that was given up; quick, because nothing runs on it any more.

        A plan that came to its end has given its worker back.
        """
        worker = self.session.worker
        if worker.is_taken:
            release = partial(worker.release, keep=False)
            loop = asyncio.get_running_loop()
            await asyncio.shield(loop.run_in_executor(self.executor, release))

    async def _in_thread(self, step: Callable[[], PlanState]) -> PlanState:
        thread = asyncio.get_running_loop().run_in_executor(self.executor, step)
        try:
            return await asyncio.shield(thread)
        except asyncio.CancelledError:
            self.session.worker.kill()
            await asyncio.wait({thread}, timeout=END_TIMEOUT_SECONDS)
            raise


async def _end(calls: PlanCalls, run: _PlanRun | None) -> None:
    """End the worker of a plan, then its calls, even if the first is cancelled.

    In this order, because a call may take its time to end, and others wait for the worker.
    """
    try:
        if run is not None:
            await run.close()
    finally:
        await calls.end()


def _open(limits: SandboxLimits, require: Collection[WallName], *, second_wall: bool) -> "Workers":
    """Import the interpreter and start its workers; runs in a thread that outlives them."""
    from modules.sandbox.workers import Workers

    workers = Workers(MAX_PARALLEL_PLANS, limits, require=require, second_wall=second_wall)
    return workers.__enter__()


def _close(starting: "Future[Workers]") -> None:
    """End the workers, once they have started; runs in a thread."""
    if starting.exception() is None:
        starting.result().__exit__(None, None, None)

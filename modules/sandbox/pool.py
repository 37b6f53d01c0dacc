"""Runs a plan in a sandbox whose only way out is a tool call.

The plan runs in CPython, compiled to WebAssembly, in an instance of its own, in a worker process
that has given up all else (`modules.sandbox.worker_program`). Whenever it can't go on it halts, and
its calls run as tasks of the event loop, at once. A plan that waits costs nothing, and one that
spins is ended by its worker's clock, or by killing the worker.
"""

import asyncio
import copy
from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import asdict
from types import MappingProxyType, TracebackType
from typing import Self

from config.schema import SandboxSection, WallName
from core.base.timing import Deadlines
from core.errors import SandboxUnavailable
from core.ports import CallTool
from core.tools.catalog import ToolCatalog
from core.turn import PlanFailure
from core.values import Json
from modules.sandbox.calls import PlanCalls
from modules.sandbox.component import Tell, say_nothing
from modules.sandbox.limits import Finished, SandboxLimits, SandboxResult, Waiting
from modules.sandbox.session import PlanSession
from modules.sandbox.walls.launcher import (
    PLANS_PER_WORKER,
    discard_machine_code,
    require_walls,
    worker_command,
)
from modules.sandbox.worker import NotLoaded, Worker, WorkerLost

MAX_PARALLEL_PLANS = 8
"""Plans of one sandbox that run at once; others wait their turn within their wall time."""

START_ATTEMPTS = 2
"""How often a worker may fail to start before no plan can run."""


def _check(limits: SandboxLimits) -> None:
    for name, value in asdict(limits).items():
        if value < 0 or (value == 0 and name != "tool_calls"):
            raise ValueError(f"sandbox limit {name} must be above 0, not {value}")


def limits_of(section: SandboxSection) -> SandboxLimits:
    """The bounds of one plan, as the profile has them; `require` is none."""
    return SandboxLimits(**section.model_dump(exclude={"require"}))


class Workers:
    """The worker processes of a sandbox: started when needed, kept warm, replaced in time."""

    def __init__(
        self, limits: SandboxLimits, require: Collection[WallName], *, second_wall: bool, tell: Tell
    ) -> None:
        """Start none."""
        self.slots = asyncio.Semaphore(MAX_PARALLEL_PLANS)
        self._limits = limits
        self._require = require
        self._second_wall = second_wall
        self._tell = tell
        self._command: list[str] = []
        self._idle: list[Worker] = []
        self._all: set[Worker] = set()
        self._warming: asyncio.Task[None] | None = None

    async def take(self) -> Worker:
        """A worker that serves nobody.

        Raises:
            SandboxUnavailable: none can be started.
        """
        if self._warming is not None and not self._idle:
            await asyncio.wait({self._warming})
        while self._idle:
            worker = self._idle.pop()
            if worker.is_alive:
                worker.plans += 1
                return worker
            self._all.discard(worker)
        worker = await self._started()
        worker.plans += 1
        return worker

    async def give_back(self, worker: Worker, *, is_sound: bool) -> None:
        """Keep a worker for the next plan, or end it."""
        if is_sound and worker.is_alive and worker.plans < PLANS_PER_WORKER:
            self._idle.append(worker)
            return
        self._all.discard(worker)
        await asyncio.shield(worker.end())

    def warm(self) -> None:
        """Begin to start one before it is needed; where that fails, the first plan will say so."""
        if not self._all and self._warming is None:
            self._warming = asyncio.create_task(self._warmed())

    async def end(self) -> None:
        """End all of them."""
        if self._warming is not None:
            self._warming.cancel()
            await asyncio.wait({self._warming})
            self._warming = None
        workers, self._all = self._all, set()
        self._idle.clear()
        await asyncio.gather(*(worker.end() for worker in workers))

    async def _warmed(self) -> None:
        with suppress(SandboxUnavailable):
            self._idle.append(await self._started())

    async def _started(self) -> Worker:
        for attempt in range(1, START_ATTEMPTS + 1):
            if not self._command:
                self._command = await asyncio.to_thread(
                    worker_command,
                    self._limits,
                    self._require,
                    second_wall=self._second_wall,
                    tell=self._tell,
                )
            try:
                worker = await Worker.started(self._command, self._limits.cpu_seconds)
            except (WorkerLost, OSError) as error:
                if attempt == START_ATTEMPTS:
                    raise SandboxUnavailable(
                        f"the sandbox could not start: {error}; install Cortex-R again, "
                        "or see what the command doctor tells"
                    ) from error
                if isinstance(error, NotLoaded):
                    await asyncio.to_thread(discard_machine_code, self._command)
                    self._command = []
            else:
                self._all.add(worker)
                return worker
        raise RuntimeError("no attempt was made")


class Sandbox:
    """Workers for plans, started when first needed.

    Use as an async context manager; when it is left, its processes are gone.
    `run` may be called many times, also at once.
    """

    def __init__(
        self,
        limits: SandboxLimits | None = None,
        *,
        require: Collection[WallName] = (),
        second_wall: bool = True,
        tell: Tell = say_nothing,
    ) -> None:
        """Start nothing.

        Workers are behind the second wall as far as it stands here, unless `second_wall` is
        false; with `require`, nothing is run where one of these parts doesn't. `tell` hears, in
        another thread, what takes seconds at the first start.

        Raises:
            ValueError: no plan could meet a limit: it is not positive (`tool_calls` may be 0).
        """
        self._limits = limits or SandboxLimits()
        _check(self._limits)
        self._require = require
        self._second_wall = second_wall or bool(require)
        self._tell = tell
        self._deadlines = Deadlines()
        self._workers = self._new_workers()

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
        """End the workers; plans must have ended or been cancelled before."""
        await self._workers.end()

    def warm(self) -> None:
        """Begin to start a worker, before the first plan is there."""
        self._workers.warm()

    async def use(self, limits: SandboxLimits, require: Collection[WallName] = ()) -> None:
        """Hold plans to other bounds from now on; no plan may be running.

        Raises:
            UserError: a wall that is required doesn't stand; the bounds stay as they are.
        """
        if (limits, tuple(require)) == (self._limits, tuple(self._require)):
            return
        if require:
            await asyncio.to_thread(require_walls, require, limits)
        await self._workers.end()
        self._limits, self._require = limits, require
        self._workers = self._new_workers()

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
        session = PlanSession(tools, self._limits, texts, memory)
        finished = Finished(failure=PlanFailure("crash", "the plan was interrupted"))
        deadline: asyncio.Timeout | None = None
        try:
            async with (
                self._deadlines.within(self._limits.wall_seconds) as deadline,
                self._workers.slots,
            ):
                finished = await self._to_end(session, plan, calls)
        except TimeoutError:
            if deadline is None or not deadline.expired():  # a bug in `call`, not our deadline
                raise
            seconds = f"{self._limits.wall_seconds:g} s"
            message = f"the plan took longer than {seconds}, tool calls included"
            finished = Finished(failure=PlanFailure("limit", message))
        finally:
            await calls.end()
        return SandboxResult(
            finished.value,
            session.printed,
            calls.finished(),
            finished.failure,
            session.found,
            session.memory,
            finished.begins_own,
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

    async def _to_end(self, session: PlanSession, plan: str, calls: PlanCalls) -> Finished:
        """Drive a plan until it ends; its worker is given back whatever happens."""
        worker = await self._workers.take()
        try:
            state = await session.start(worker, plan)
            if session.was_lost_unstarted:  # the worker had died in the meantime: the next one
                await self._workers.give_back(worker, is_sound=False)
                worker = await self._workers.take()
                state = await session.start(worker, plan)
            while isinstance(state, Waiting):
                calls.send(state.calls)
                outcomes = state.settled
                if not outcomes:
                    outcomes = await calls.any_of(state.pending, state.timer_seconds)
                state = await session.settle(outcomes)
            return state
        finally:
            await self._workers.give_back(worker, is_sound=session.is_worker_sound)

    def _new_workers(self) -> Workers:
        return Workers(self._limits, self._require, second_wall=self._second_wall, tell=self._tell)

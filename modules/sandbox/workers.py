"""The interpreter's worker processes, behind the second wall where it stands. Thread side.

Imported at the first use of the sandbox, because it imports pydantic-monty (90 ms). The
synchronous pool is used on purpose: the asynchronous one can abort the process at its exit.
"""

import logging
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Collection
from contextlib import suppress
from math import ceil
from types import TracebackType
from typing import Self

from pydantic_monty import Monty, MontyError, MontySession

from config.schema import WallName
from modules.sandbox.limits import SandboxLimits
from modules.sandbox.walls.launcher import (
    CPU_GRACE_SECONDS,
    PLANS_PER_WORKER,
    Launcher,
    NoLauncher,
    find_worker,
)

CHECKOUT_TIMEOUT_SECONDS = 10.0
"""Wait for a free worker; callers bound the number of plans, so it is for faults only."""

START_ATTEMPTS = 2
"""How often a worker may fail to start behind the second wall before there is to be none."""

FEED_GRACE_SECONDS = 0.25
"""How long after its CPU time a worker has to say so itself, before the pool ends it.

Some operations of the interpreter look at no clock: products of huge integers, comparisons of
containers that hold themselves many times, some regular expressions.
"""

REPLY_GRACE_SECONDS = 2.0
"""How long beyond a plan's CPU time any reply may take, before the pool ends the worker.

Also those that no limit of a plan bounds: that it has started, and that it is free again. A worker
that was taken over may be silent, and would hold its thread for good.
"""

logger = logging.getLogger("cortex_r.sandbox")


class Workers:
    """A pool of workers. Enter it in a thread that outlives them: they end with that thread.

    Attributes:
        pool: Where workers are checked out; one is warm.
        walled: Whether they are behind the second wall.
    """

    def __init__(
        self,
        max_plans: int,
        limits: SandboxLimits | None = None,
        *,
        require: Collection[WallName] = (),
        second_wall: bool = True,
        checkout_seconds: float = CHECKOUT_TIMEOUT_SECONDS,
        python: str = sys.executable,
    ) -> None:
        """Start nothing.

        With `require` there are no workers without those parts of the wall. `python` runs the
        launcher.
        """
        self._max_plans = max_plans
        self._limits = limits or SandboxLimits()
        self._require = require
        self._second_wall = second_wall or bool(require)
        self._checkout_seconds = checkout_seconds
        self._python = python
        self._launcher: Launcher | None = None
        self.pool: Monty
        self.walled = False

    def __enter__(self) -> Self:
        """Start the pool with one warm worker, up to `max_plans` later.

        Raises:
            RuntimeError: the worker program can't be found or started, or not as required.
        """
        if self._second_wall:
            reason = self._start_walled()
            if self.walled:
                return self
            if self._require:
                raise RuntimeError(f"the walls that are required do not stand: {reason}")
        self.pool = self._opened()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End the workers, and remove their launcher."""
        self.pool.__exit__(None, None, None)
        self._close_launcher()

    def _start_walled(self) -> str:
        """Start the pool behind the second wall, or say why that can't be."""
        try:
            self._launcher = Launcher(find_worker(), self._limits, self._require, self._python)
            self.pool = self._proven(self._launcher)
            self.walled = True
        except (NoLauncher, MontyError, RuntimeError, OSError) as error:
            self._close_launcher()
            if sys.platform == "linux" and not self._require:
                logger.warning(
                    "plans run without the second wall: %s; see the command doctor", error
                )
            return str(error)
        return ""

    def _proven(self, launcher: Launcher) -> Monty:
        """A pool whose first worker has shown that it works.

        Without this a worker that can't start behind the wall would be a failure of the plan.
        """
        for attempt in range(1, START_ATTEMPTS + 1):
            pool = self._opened(launcher)
            try:
                with pool.checkout() as session:
                    session.feed_run("None")
            except (MontyError, RuntimeError, OSError):
                pool.__exit__(None, None, None)
                if attempt == START_ATTEMPTS:
                    raise
            else:
                return pool
        raise RuntimeError("no attempt was made")

    def _opened(self, launcher: Launcher | None = None) -> Monty:
        pool = Monty(
            binary_path=None if launcher is None else launcher.path,
            min_processes=1,
            max_processes=self._max_plans,
            checkout_timeout=self._checkout_seconds,
            feed_duration_limit_grace=FEED_GRACE_SECONDS,
            request_timeout=self._limits.cpu_seconds + REPLY_GRACE_SECONDS,
            max_checkouts_per_worker=PLANS_PER_WORKER,
        )
        try:
            return pool.__enter__()
        except BaseException as error:
            # What a panic in the pool becomes derives from no Exception, and has no public name.
            if type(error).__name__ != "PanicException":
                raise
            raise RuntimeError(f"the pool of workers failed: {error}") from error

    def _close_launcher(self) -> None:
        if self._launcher is not None:
            self._launcher.close()


class PlanWorker:
    """The worker of one plan: taken from the pool once, then given back or killed.

    All methods but `kill` are for one thread at a time.
    """

    def __init__(self, pool: Monty, limits: SandboxLimits, max_suspensions: int) -> None:
        """Take nothing yet; `max_suspensions` bounds how often the interpreter may halt."""
        self._pool = pool
        self._limits = limits
        self._max_suspensions = max_suspensions
        self._session: MontySession | None = None
        self._pid: int | None = None
        self._killed = False
        self._owning = threading.Lock()  # a worker that was given back is not ours to kill

    @property
    def is_taken(self) -> bool:
        """Whether a worker is taken that was neither given back nor ended."""
        return self._session is not None

    def take(self) -> MontySession:
        """A session of an interpreter on a free worker, under the plan's limits."""
        limits = self._limits
        session = self._pool.checkout(
            limits={
                "max_feed_duration_secs": limits.cpu_seconds,
                "max_memory": limits.memory_bytes,
                "max_recursion_depth": limits.recursion_depth,
                "max_suspensions": self._max_suspensions,
            },
            os_policy={
                "sleep": "zero",
                "timezone": {"offset_seconds": time.localtime().tm_gmtoff},
            },
        )
        self._session = session.__enter__()
        self._pid = session.worker_pid
        limit_cpu(self._pid, limits.cpu_seconds)
        if self._killed:  # cancelled before there was a worker to kill
            self.kill()
        return self._session

    def kill(self) -> None:
        """End the worker at once, from any thread; whatever waits for it then returns."""
        with self._owning:
            self._killed = True
            if self._pid is not None:
                with suppress(ProcessLookupError):
                    os.kill(self._pid, signal.SIGKILL)

    def release(self, *, keep: bool) -> None:
        """Give the worker back to the pool, or end it; safe to call twice."""
        session, self._session = self._session, None
        if session is None:
            return
        if not keep:
            self.kill()
        with self._owning:
            self._pid = None
        with suppress(MontyError, RuntimeError):
            session.__exit__(None, None, None)


def limit_cpu(pid: int | None, seconds: float) -> None:
    """Let the kernel end a worker that computes for so much longer (Linux; elsewhere nothing).

    A worker serves many plans: what it has used so far does not count. The interpreter's own
    limit comes first, and says more. A worker that was taken over may ignore this one, a signal;
    what holds then is the limit on all its CPU time, which the launcher sets and no one raises.
    """
    if sys.platform != "linux" or pid is None:
        return
    with suppress(OSError, ValueError):
        used = time.clock_gettime((~pid << 3) | 2)  # as `clock_getcpuclockid(3)` gives it
        _, highest = resource.prlimit(pid, resource.RLIMIT_CPU)
        allowed = ceil(used + seconds) + CPU_GRACE_SECONDS
        if highest != resource.RLIM_INFINITY:
            allowed = min(allowed, highest)
        resource.prlimit(pid, resource.RLIMIT_CPU, (allowed, highest))

"""One plan on one interpreter worker, driven from a thread.

Imported at the first use of the sandbox, because it imports pydantic-monty (90 ms). It runs the
plan up to the next halt and reports a `PlanState`; it never waits for a tool. The synchronous
pool is used on purpose: the asynchronous one can abort the process at interpreter exit.
"""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Mapping
from typing import Literal, assert_never, cast

from pydantic_monty import (
    ExternalSettledResult,
    FunctionSnapshot,
    FutureSnapshot,
    Monty,
    MontyComplete,
    MontyError,
    MontyRuntimeError,
    MontySession,
    NameLookupSnapshot,
    SyncSnapshot,
)

from core.catalog import ToolCatalog
from core.errors import CallRefused
from core.turn import PlanFailure
from modules.plans.text import shorten
from modules.sandbox.doors import Doors, UnknownFunction
from modules.sandbox.failures import failure_of
from modules.sandbox.limits import (
    MAX_TOOL_ERROR_CHARACTERS,
    CallOutcome,
    Finished,
    PlanState,
    RequestedCall,
    SandboxLimits,
    Waiting,
)
from modules.sandbox.prelude import ENTRY_POINT, EPILOGUE, NO_SOLVE, SEARCH_DOOR, prelude_for
from modules.sandbox.values import NotJson, TooLarge, to_json

CHECKOUT_TIMEOUT_SECONDS = 10.0
"""Wait for a free worker; callers bound the number of plans, so it is for faults only."""

MAX_SUSPENSIONS = 200
"""Halts of one plan (calls, refused calls, undefined names) before it is stopped."""


def open_pool(max_plans: int, checkout_seconds: float = CHECKOUT_TIMEOUT_SECONDS) -> Monty:
    """Start the pool with one warm worker, up to `max_plans` later.

    Raises:
        RuntimeError: the worker program can't be found or started.
    """
    pool = Monty(min_processes=1, max_processes=max_plans, checkout_timeout=checkout_seconds)
    return pool.__enter__()


class LimitReached(Exception):
    """Ends a plan that went beyond a limit of ours, whatever the plan catches."""


class PlanSession:
    """A plan's life on a worker: `start`, `settle` while it waits, `close`.

    All methods but `kill` run in one thread at a time and return within the limits on CPU
    time. None of them raises for what the plan does; bugs excepted.
    """

    def __init__(self, pool: Monty, tools: ToolCatalog, limits: SandboxLimits) -> None:
        self._pool = pool
        self._tools = tools
        self._doors = Doors(tools, limits.result_bytes)
        self._limits = limits
        self._source = ""
        self._session: MontySession | None = None
        self._pid: int | None = None
        self._killed = False
        self._printed = _Printed(limits.printed_bytes, self.kill)
        self._new_calls: list[RequestedCall] = []
        self._calls_reserved = 0
        self._halts = 0
        self._limit: str | None = None
        self._waiting: FutureSnapshot | None = None
        self._solve_missing = False
        self._tool_errors: set[str] = set()

    @property
    def printed(self) -> str:
        """What the plan printed so far, up to the limit."""
        return self._printed.text

    @property
    def found(self) -> tuple[str, ...]:
        """Qualified names of the tools that the plan searched for and found so far."""
        return self._doors.found

    def start(self, source: str) -> PlanState:
        """Take a worker, feed prelude and plan, and run to the first halt."""
        self._source = source
        return self._run(self._begin)

    def settle(self, outcomes: Mapping[int, CallOutcome]) -> PlanState:
        """Give a waiting plan the outcomes of some of its calls, and run to the next halt."""
        waiting, self._waiting = self._waiting, None
        if waiting is None:
            raise RuntimeError("this plan is not waiting for calls")
        results = {call_id: self._result(outcome) for call_id, outcome in outcomes.items()}
        return self._run(lambda: waiting.resume(results))

    def kill(self) -> None:
        """End the worker at once, from any thread; a running `start` or `settle` then returns."""
        self._killed = True
        if self._pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)

    def close(self, *, keep_worker: bool) -> None:
        """Give the worker back to the pool, or end it; safe to call twice."""
        session, self._session = self._session, None
        if session is None:
            return
        if not keep_worker:
            self.kill()
        self._pid = None
        with contextlib.suppress(MontyError):
            session.__exit__(None, None, None)

    def _begin(self) -> SyncSnapshot:
        limits = self._limits
        session = self._pool.checkout(
            limits={
                "max_feed_duration_secs": limits.cpu_seconds,
                "max_memory": limits.memory_bytes,
                "max_recursion_depth": limits.recursion_depth,
                "max_suspensions": 2 * MAX_SUSPENSIONS,  # ours strikes first, and says so
            },
            os_policy={
                "sleep": "zero",
                "timezone": {"offset_seconds": time.localtime().tm_gmtoff},
            },
        )
        self._session = session.__enter__()
        self._pid = session.worker_pid
        if self._killed:  # cancelled before there was a worker to kill
            self.kill()
        session.feed_run(prelude_for(self._tools, self._source))
        return session.feed_start(self._source + EPILOGUE, print_callback=self._printed)

    def _run(self, step: Callable[[], SyncSnapshot]) -> PlanState:
        """Run the plan from `step` to its next halt, and turn every end into a `Finished`."""
        try:
            snapshot = step()
            while not isinstance(snapshot, FutureSnapshot | MontyComplete):
                snapshot = self._answer(snapshot)
            return self._halted(snapshot)
        except MontyError as error:
            return Finished(failure=self._failure(error))
        except LimitReached as reached:
            return Finished(failure=PlanFailure("limit", str(reached)))
        except TimeoutError:
            return Finished(failure=PlanFailure("crash", "no sandbox worker became free in time"))

    def _answer(self, snapshot: FunctionSnapshot | NameLookupSnapshot) -> SyncSnapshot:
        self._halts += 1
        if self._halts > MAX_SUSPENSIONS:
            self._limit = f"the plan made more than {MAX_SUSPENSIONS} calls, refused ones included"
        if self._limit is not None:
            raise LimitReached(self._limit)
        match snapshot:
            case NameLookupSnapshot():
                return self._look_up(snapshot)
            case FunctionSnapshot(is_os_function=True):
                return snapshot.resume_not_handled()
            case FunctionSnapshot():
                return self._call(snapshot)
            case _:
                assert_never(snapshot)

    def _look_up(self, snapshot: NameLookupSnapshot) -> SyncSnapshot:
        """A bare tool used as a value (`call = add`) becomes a function; else a NameError."""
        name = snapshot.variable_name
        if snapshot.object_id is None and self._doors.offers(name):
            return snapshot.resume(value=_named_function(name))
        return snapshot.resume()

    def _call(self, snapshot: FunctionSnapshot) -> SyncSnapshot:
        """Check a call and leave it pending, or raise inside the plan why it is refused."""
        name = snapshot.function_name
        self._solve_missing = self._solve_missing or name == ENTRY_POINT
        try:
            if name == SEARCH_DOOR:
                return snapshot.resume(
                    {"return_value": self._doors.search(_arguments(snapshot)[0])}
                )
            tool, arguments, raw = self._doors.admit(name, *_arguments(snapshot))
        except UnknownFunction as unknown:
            return snapshot.resume({"exc_type": "NameError", "message": str(unknown)})
        except CallRefused as refused:
            return self._raise_inside(snapshot, shorten(str(refused), MAX_TOOL_ERROR_CHARACTERS))
        if self._calls_reserved >= self._limits.tool_calls:
            self._limit = f"the plan made more than {self._limits.tool_calls} tool calls"
            return self._raise_inside(snapshot, self._limit)
        self._calls_reserved += 1
        self._new_calls.append(RequestedCall(snapshot.call_id, tool, arguments, raw))
        return snapshot.resume({"future": ...})

    def _raise_inside(self, snapshot: FunctionSnapshot, message: str) -> SyncSnapshot:
        self._tool_errors.add(message)
        return snapshot.resume({"exc_type": "RuntimeError", "message": message})

    def _result(self, outcome: CallOutcome) -> ExternalSettledResult:
        """An outcome as the interpreter takes it."""
        if outcome.error is None:
            return {"return_value": outcome.value}
        self._tool_errors.add(outcome.error)
        return {"exc_type": "RuntimeError", "message": outcome.error}

    def _halted(self, snapshot: FutureSnapshot | MontyComplete) -> PlanState:
        if self._limit is not None:  # an exception for it was raised inside, and swallowed
            raise LimitReached(self._limit)
        if self._printed.overflown:
            raise LimitReached(self._printed.message)
        if isinstance(snapshot, MontyComplete):
            return self._completed(snapshot)
        self._waiting = snapshot
        calls, self._new_calls = tuple(self._new_calls), []
        return Waiting(calls, frozenset(snapshot.pending_call_ids))

    def _completed(self, snapshot: MontyComplete) -> Finished:
        try:
            output = _output(snapshot)
            value = to_json(output, max_bytes=self._limits.result_bytes, sets_as_lists=True)
        except (TooLarge, ValueError) as reason:  # ValueError: an integer of too many digits
            return Finished(failure=PlanFailure("limit", f"{ENTRY_POINT}()'s result: {reason}"))
        except NotJson as kind:
            message = f"{ENTRY_POINT}() returned {kind}; return text, a number, a list or a dict"
            return Finished(failure=PlanFailure("error", message))
        return Finished(value)

    def _failure(self, error: MontyError) -> PlanFailure:
        """What ended the plan: a limit of ours, a missing `solve`, a tool, or the plan itself."""
        failure = failure_of(error, self._source, self._limits)
        if self._printed.overflown:
            return PlanFailure("limit", self._printed.message)
        if self._limit is not None:
            return PlanFailure("limit", self._limit, failure.line, failure.line_text)
        if self._solve_missing and failure.line is None:
            return PlanFailure("syntax", NO_SOLVE)
        if isinstance(error, MontyRuntimeError):
            raised = error.exception()
            if isinstance(raised, RuntimeError) and str(raised) in self._tool_errors:
                return PlanFailure("tool", str(raised), failure.line, failure.line_text)
        return failure


class _Printed:
    """Collects what a plan prints; ends the plan when it is too much."""

    def __init__(self, max_bytes: int, stop: Callable[[], None]) -> None:
        self._left_bytes = max_bytes
        self._stop = stop
        self._pieces: list[str] = []
        self.overflown = False
        self.message = f"the plan printed more than {max_bytes:,} bytes"

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    def __call__(self, stream: Literal["stdout", "stderr"], text: str) -> None:
        encoded = text.encode()
        self._pieces.append(encoded[: max(self._left_bytes, 0)].decode(errors="ignore"))
        self._left_bytes -= len(encoded)
        if self._left_bytes < 0 and not self.overflown:
            self.overflown = True
            self._stop()


def _arguments(snapshot: FunctionSnapshot) -> tuple[tuple[object, ...], dict[str, object]]:
    """What a call was given, as Python objects."""
    try:
        args = cast("tuple[object, ...]", snapshot.args)
        return args, cast("dict[str, object]", snapshot.kwargs)
    except Exception as error:  # a plan's own object, as a key say, may raise anything
        raise CallRefused(f"an argument can't leave the sandbox: {error}") from error


def _output(snapshot: MontyComplete) -> object:
    """The plan's value as a Python object; raises `NotJson` where there is none."""
    try:
        return snapshot.output
    except Exception as error:  # a plan's own object, as a key say, may raise anything
        raise NotJson(f"a value that can't leave the sandbox: {error}") from error


def _named_function(name: str) -> Callable[[], None]:
    """A marker that the interpreter sees as the function `name`; it is never called here."""

    def marker() -> None:
        """Resolved by its name."""

    marker.__name__ = name
    return marker

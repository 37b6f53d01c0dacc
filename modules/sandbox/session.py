"""One plan on one interpreter worker, driven from a thread.

Imported at the first use of the sandbox, because it imports pydantic-monty (90 ms). It runs the
plan up to the next halt and reports a `PlanState`; it never waits for a tool.
"""

import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType
from typing import Literal, assert_never, cast

from pydantic_monty import (
    ExternalExceptionData,
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

from core.base.text import shorten
from core.errors import CallRefused
from core.run.working_memory import MEMORY, WorkingMemory
from core.tools.catalog import ToolCatalog
from core.tools.spec import ToolSpec
from core.turn import FailureKind, PlanFailure
from core.values import Json, JsonObject
from modules.sandbox.failures import PLAN_FILENAME, failure_of, nesting_advice
from modules.sandbox.host_functions import HostFunctions, UnknownFunction
from modules.sandbox.language.guard import GuardedPlan, Unsupported, guard_plan
from modules.sandbox.language.parsing import line_text
from modules.sandbox.language.prelude import (
    ENTRY_POINT,
    EPILOGUE,
    NO_SOLVE,
    SEARCH_CALL,
    prelude_for,
)
from modules.sandbox.limits import (
    MAX_TOOL_ERROR_CHARACTERS,
    CallOutcome,
    Finished,
    PlanState,
    RequestedCall,
    SandboxLimits,
    Waiting,
)
from modules.sandbox.memory import GIVEN, READ, UNREAD, left_memory
from modules.sandbox.own_words import OwnWords
from modules.sandbox.values import NotJson, TooLarge, to_json
from modules.sandbox.workers import PlanWorker

MAX_SUSPENSIONS = 200
"""Halts of one plan (calls, refused calls, undefined names) before it is stopped."""

_STOP: ExternalExceptionData = {"exc_type": "KeyboardInterrupt", "message": ""}
"""Ends a plan that is halted at a call; `except Exception` does not catch it."""

TOKEN_BYTES = 8
"""Randomness in the names that guard a plan."""


class LimitReached(Exception):
    """Ends a plan that went beyond a limit of ours, whatever the plan catches."""

    def __init__(self, message: str, line: int | None = None) -> None:
        """`line` is the plan's, where it is known."""
        super().__init__(message)
        self.line = line


class PlanSession:
    """A plan on a worker: `start`, `settle` while it waits; at its end the worker is given back.

    The methods run in one thread at a time and return within the limits on CPU time. None of them
    raises for what the plan does; bugs excepted.

    Attributes:
        worker: To be killed or released where a plan is given up.
        memory: What is in working memory when the plan has ended; None if it leaves that alone.
    """

    def __init__(
        self,
        pool: Monty,
        tools: ToolCatalog,
        limits: SandboxLimits,
        texts: Mapping[str, str] = MappingProxyType({}),
        memory: Mapping[str, Json] = MappingProxyType({}),
    ) -> None:
        # Our own bound on halts strikes first, and says so.
        self.worker = PlanWorker(pool, limits, 2 * MAX_SUSPENSIONS)
        self.memory: WorkingMemory | None = None
        self._texts = texts
        self._given = dict(memory)
        self._session: MontySession | None = None
        self._tools = tools
        self._host = HostFunctions(tools, limits.argument_bytes)
        self._limits = limits
        self._plan = GuardedPlan("", "", "", "", ())
        self._own = OwnWords()
        self._printed = _Printed(limits.printed_bytes, self.worker.kill)
        self._new_calls: list[RequestedCall] = []
        self._open_calls: set[int] = set()
        self._calls_reserved = 0
        self._halts = 0
        self._last_line: int | None = None
        self._checking_seconds = 0.0
        self._limit: LimitReached | None = None
        self._waiting: FutureSnapshot | None = None
        self._solve_missing = False
        self._tool_errors: set[str] = set()

    @property
    def printed(self) -> str:
        """What the plan printed so far, up to the limit."""
        return self._own.text(self._printed.text)

    @property
    def found(self) -> tuple[str, ...]:
        """Qualified names of the tools that the plan searched for and found so far."""
        return self._host.found

    def start(self, source: str) -> PlanState:
        """Take a worker, feed prelude and plan, and run to the first halt."""
        return self._run(lambda: self._begin(self._own.marked(source)))

    def settle(self, outcomes: Mapping[int, CallOutcome]) -> PlanState:
        """Give a waiting plan the outcomes of some of its calls, and run to the next halt."""
        waiting, self._waiting = self._waiting, None
        if waiting is None:
            raise RuntimeError("this plan is not waiting for calls")
        self._open_calls -= outcomes.keys()
        results = {call_id: self._result(outcome) for call_id, outcome in outcomes.items()}
        return self._run(lambda: waiting.resume(results))

    def _begin(self, source: str) -> SyncSnapshot:
        self._plan = guard_plan(source, secrets.token_hex(TOKEN_BYTES))
        session = self.worker.take()
        # Never nothing: the plan is the second text that the interpreter reads, and named so.
        prelude = self._plan.prelude + prelude_for(self._tools, source) or "None"
        inputs: dict[str, object] = dict(self._texts)
        if MEMORY in source:  # others are spared the way to and fro
            inputs |= {MEMORY: self._given, GIVEN: self._given}  # one dict in the sandbox too
            self._session, self.memory = session, WorkingMemory(self._given, (UNREAD,))
        session.feed_run(prelude, inputs=inputs)
        return session.feed_start(
            self._plan.text + EPILOGUE + self._plan.epilogue, print_callback=self._printed
        )

    def _run(self, step: Callable[[], SyncSnapshot]) -> PlanState:
        """Run the plan from `step` to its next halt; at its end the worker is given back.

        After a limit or a crash it serves no other plan.
        """
        state = self._to_halt(step)
        if isinstance(state, Finished):
            self._read_memory()
            failed = state.failure is not None and state.failure.kind in ("limit", "crash")
            self.worker.release(keep=not failed)
            state = self._in_own_words(state)
        return state

    def _in_own_words(self, ended: Finished) -> Finished:
        """An end without what tells the plan's words from those of others, once that is told."""
        if self.memory is not None:
            self.memory = self._own.memory(self.memory)
        given = self._printed.text if ended.value is None else ended.value
        return Finished(
            self._own.value(ended.value), self._own.failure(ended.failure), self._own.begin(given)
        )

    def _to_halt(self, step: Callable[[], SyncSnapshot]) -> PlanState:
        """Run on, and turn every end into a `Finished`."""
        snapshot: SyncSnapshot | None = None
        try:
            snapshot = step()
            while not isinstance(snapshot, FutureSnapshot | MontyComplete):
                snapshot = self._answer(snapshot)
            return self._halted(snapshot)
        except MontyError as error:
            return Finished(failure=self._failure(error))
        except LimitReached as reached:
            self._wake(snapshot)
            return Finished(failure=self._failure_at("limit", str(reached), reached.line))
        except Unsupported as lacking:
            return Finished(failure=self._failure_at("unsupported", str(lacking), lacking.line))
        except TimeoutError:
            return Finished(failure=PlanFailure("crash", "no sandbox worker became free in time"))
        except RuntimeError as error:  # what it said makes no sense: it was taken over
            return Finished(failure=PlanFailure("crash", f"the sandbox worker failed: {error}"))

    def _wake(self, halted: SyncSnapshot | None) -> None:
        """Have a plan end that a limit has stopped at a call, so that its memory can be read."""
        if self._session is None:
            return
        with suppress(MontyError, RuntimeError):
            if isinstance(halted, FunctionSnapshot):
                halted.resume(_STOP)
            elif isinstance(halted, FutureSnapshot):
                halted.resume(dict.fromkeys(halted.pending_call_ids, _STOP))

    def _read_memory(self) -> None:
        """Take over what an ended plan has put into `memory`, if its worker can still tell."""
        if self._session is None:
            return
        # The worker may be gone, and what hostile code has left may raise anything.
        with suppress(Exception):
            self.memory = left_memory(self._session.feed_run(READ, print_callback=_unheard))

    def _answer(self, snapshot: FunctionSnapshot | NameLookupSnapshot) -> SyncSnapshot:
        self._halts += 1
        self._last_line = self._line_of(snapshot) or self._last_line
        if self._limit is not None:
            raise self._limit
        if self._halts > MAX_SUSPENSIONS:
            many = f"the plan made more than {MAX_SUSPENSIONS} calls, refused ones included"
            return self._end(snapshot, many)
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
        if snapshot.object_id is None and self._host.offers(name):
            return snapshot.resume(value=_named_function(name))
        return snapshot.resume()

    def _call(self, snapshot: FunctionSnapshot) -> SyncSnapshot:
        """Check a call and leave it pending, or raise inside the plan why it is refused."""
        name = snapshot.function_name
        if name == self._plan.stop:
            raise LimitReached(nesting_advice(self._limits), self._line_of(snapshot))
        self._solve_missing = self._solve_missing or name == ENTRY_POINT
        try:
            if name == SEARCH_CALL:
                return snapshot.resume({"return_value": self._host.search(_arguments(snapshot)[0])})
            tool, arguments, raw = self._admitted(snapshot)
        except UnknownFunction as unknown:
            return snapshot.resume({"exc_type": "NameError", "message": str(unknown)})
        except CallRefused as refused:
            return self._raise_inside(snapshot, shorten(str(refused), MAX_TOOL_ERROR_CHARACTERS))
        if self._calls_reserved >= self._limits.tool_calls:
            return self._end(
                snapshot, f"the plan made more than {self._limits.tool_calls} tool calls"
            )
        self._calls_reserved += 1
        if snapshot.call_id in self._open_calls:
            raise RuntimeError("two of its calls have the same number")
        self._open_calls.add(snapshot.call_id)
        arguments = self._own.object(arguments)
        self._new_calls.append(RequestedCall(snapshot.call_id, tool, arguments, raw))
        return snapshot.resume({"future": ...})

    def _admitted(self, snapshot: FunctionSnapshot) -> tuple[ToolSpec, JsonObject, bool]:
        """The call as the host understands it; the plan has only so much of their time.

        Otherwise calls that are refused, which count as none, would make the host work at length.
        """
        began = time.perf_counter()
        try:
            return self._host.admit(snapshot.function_name, *_arguments(snapshot))
        finally:
            self._checking_seconds += time.perf_counter() - began
            if self._checking_seconds > self._limits.cpu_seconds:
                message = f"checking the plan's calls took over {self._limits.cpu_seconds:g} s"
                raise LimitReached(message, self._line_of(snapshot))

    def _end(self, snapshot: FunctionSnapshot | NameLookupSnapshot, message: str) -> SyncSnapshot:
        """End the plan for a limit, at the next halt if only a traceback can tell its line."""
        self._limit = LimitReached(message, self._line_of(snapshot))
        if self._limit.line is None and isinstance(snapshot, FunctionSnapshot):
            return self._raise_inside(snapshot, message)
        raise self._limit

    def _line_of(self, snapshot: FunctionSnapshot | NameLookupSnapshot) -> int | None:
        """The line of the plan that halted; None where it is a line of the prelude."""
        place = snapshot.position
        return self._plan.line_at(place.start) if place.filename == PLAN_FILENAME else None

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
            raise self._limit
        if self._printed.overflown:
            raise LimitReached(self._printed.message)
        if isinstance(snapshot, MontyComplete):
            return self._completed(snapshot)
        pending = frozenset(snapshot.pending_call_ids)
        if not pending or pending - self._open_calls:
            raise RuntimeError("it waits for calls that it did not make")
        self._waiting = snapshot
        calls, self._new_calls = tuple(self._new_calls), []
        return Waiting(calls, pending)

    def _completed(self, snapshot: MontyComplete) -> Finished:
        try:
            value = to_json(
                _output(snapshot), max_bytes=self._limits.result_bytes, sets_as_lists=True
            )
        except (TooLarge, ValueError) as reason:  # ValueError: an integer of too many digits
            return Finished(failure=PlanFailure("limit", f"{ENTRY_POINT}()'s result: {reason}"))
        except NotJson as kind:
            message = f"{ENTRY_POINT}() returned {kind}; return text, a number, a list or a dict"
            return Finished(failure=PlanFailure("error", message))
        return Finished(value)

    def _failure(self, error: MontyError) -> PlanFailure:
        """What ended the plan: a limit of ours, a missing `solve`, a tool, or the plan itself."""
        failure = failure_of(error, self._plan, self._limits, self._last_line)
        if self._printed.overflown:
            return PlanFailure("limit", self._printed.message)
        if self._limit is not None:
            return self._failure_at("limit", str(self._limit), self._limit.line or failure.line)
        if self._solve_missing and failure.line is None:
            return PlanFailure("syntax", NO_SOLVE)
        if isinstance(error, MontyRuntimeError):
            raised = error.exception()
            if isinstance(raised, RuntimeError) and str(raised) in self._tool_errors:
                return PlanFailure("tool", str(raised), failure.line, failure.line_text)
            if isinstance(raised, AttributeError) and "'__Namespace'" in str(raised):
                name = str(raised).rpartition(" attribute ")[2].strip("'")
                return replace(failure, message=f"{failure.message}{self._host.hint(name)}")
        return failure

    def _failure_at(self, kind: FailureKind, message: str, line: int | None) -> PlanFailure:
        return PlanFailure(kind, message, line, line_text(self._plan.source, line))


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


def _unheard(stream: Literal["stdout", "stderr"], text: str) -> None:
    """What is printed when the plan has ended."""


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

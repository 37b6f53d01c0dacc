"""One plan on a worker: what goes to the guest, and what it says, checked.

The guest (`modules.sandbox.guest`) may be in the hands of a plan, and the worker too: each message
is taken apart here, and one that makes no sense ends the plan and its worker.
"""

import asyncio
import json
import re
import time
import unicodedata
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal, TypeVar

from core.base.frozen import frozen
from core.base.text import shorten
from core.errors import CallRefused
from core.run.working_memory import MEMORY, WorkingMemory
from core.tools.catalog import ToolCatalog
from core.turn import PlanFailure
from core.values import Json, JsonObject
from modules.sandbox.failures import PlanError, failure_of, limit_failure, trap_failure
from modules.sandbox.host_functions import HostFunctions
from modules.sandbox.language import ENTRY_POINT, SEARCH
from modules.sandbox.limits import (
    KIB,
    MAX_TOOL_ERROR_CHARACTERS,
    CallOutcome,
    Finished,
    PlanState,
    RequestedCall,
    SandboxLimits,
    Waiting,
)
from modules.sandbox.memory import UNREAD, left_memory
from modules.sandbox.own_words import OwnWords
from modules.sandbox.values import MAX_VALUES, NotJson, TooLarge, to_json
from modules.sandbox.worker import Worker, WorkerLost

MAX_CALLS = 200
"""Calls of one plan, refused ones and searches included, before it is stopped."""

SHORTEST_TIMER_SECONDS = 0.005
"""How soon a plan that waits for a timer goes on at the earliest: a busy one holds nobody up."""

SMALL_ANSWER_CHARACTERS = 8 * KIB
"""What is looked at on the event loop; that takes some milliseconds where it is dense."""

LONGEST_TIMER_SECONDS = 24 * 3600.0
"""As asyncio has it; what comes later is waited for anew."""

_NAME = re.compile(r"\w+")

T = TypeVar("T")


class Nonsense(Exception):
    """A message that no guest of ours sends: the plan has taken it over, or more."""


class PlanSession:
    """A plan on a worker: `start`, then `settle` while it waits.

    None of the methods raises for what the plan does.

    Attributes:
        memory: What is in working memory when the plan has ended; None if it leaves that alone.
        is_worker_sound: Whether the worker may serve another plan: not while it computes for this.
        was_lost_unstarted: Whether the worker had died before it was asked anything.
    """

    def __init__(
        self,
        tools: ToolCatalog,
        limits: SandboxLimits,
        texts: Mapping[str, str] = MappingProxyType({}),
        memory: Mapping[str, Json] = MappingProxyType({}),
    ) -> None:
        self.memory: WorkingMemory | None = None
        self.is_worker_sound = True
        self.was_lost_unstarted = False
        self._worker: Worker | None = None
        self._tools = tools
        self._limits = limits
        self._texts = texts
        self._given = dict(memory)
        self._host = HostFunctions(tools, limits.argument_bytes)
        self._own = OwnWords()
        self._source = ""
        self._pieces: list[str] = []
        self._printed_bytes = 0
        self._made = 0
        self._sent = 0
        self._open: set[int] = set()
        self._last_line: int | None = None
        self._checking_seconds = 0.0
        self._is_halted = False

    @property
    def printed(self) -> str:
        """What the plan printed so far, up to the limit."""
        return self._own.text("".join(self._pieces))

    @property
    def found(self) -> tuple[str, ...]:
        """Qualified names of the tools that the plan searched for and found so far."""
        return self._host.found

    async def start(self, worker: Worker, source: str) -> PlanState:
        """Run a plan to its first halt."""
        self._worker, self._source = worker, source
        words = {*_NAME.findall(unicodedata.normalize("NFKC", source))}
        request: dict[str, object] = {
            "source": self._own.marked(source),
            "names": sorted(words & {tool.identifier for tool in self._tools.known}),
            "texts": dict(self._texts),
            "zone_seconds": time.localtime().tm_gmtoff,
            "recursion_depth": self._limits.recursion_depth,
            "result_bytes": self._limits.result_bytes,
            "argument_bytes": self._limits.argument_bytes,
        }
        if MEMORY in source:  # others are spared the way to and fro
            request["memory"] = self._given
            self.memory = WorkingMemory(self._given, (UNREAD,))
        return await self._halt("S", request)

    async def settle(self, outcomes: Mapping[int, CallOutcome]) -> PlanState:
        """Give a waiting plan the outcomes of some of its calls, and run it to its next halt."""
        self._open -= outcomes.keys()
        return await self._halt("R", [[id_, o.value, o.error] for id_, o in outcomes.items()])

    async def _halt(self, letter: str, message: object) -> PlanState:
        """What comes of a message, turned into a state."""
        self.is_worker_sound = False  # until it has answered
        try:
            state = await _apart(self._state, await self._asked(letter, message))
            if isinstance(state, Finished) and self._is_halted and self.memory is not None:
                await _apart(self._take_memory_from, await self._asked("R", None))
            self.is_worker_sound = True
        except TooLarge as reason:
            self.is_worker_sound = True
            message = f"the plan's result or calls can't be looked at: {reason}"
            state = Finished(failure=PlanFailure("limit", message))
        except WorkerLost as lost:
            self.was_lost_unstarted = letter == "S" and lost.has_died and not self._pieces
            state = Finished(failure=trap_failure(str(lost), self._limits, self._last_line))
        except (Nonsense, NotJson, RecursionError) as error:
            nonsense = f"the plan's messages make no sense: {error}"
            state = Finished(failure=PlanFailure("crash", nonsense))
        return self._ended(state) if isinstance(state, Finished) else state

    async def _asked(self, letter: str, message: object) -> str:
        """The worker's answer, with its letter."""
        if self._worker is None:
            raise RuntimeError("this plan was not started")
        return await self._worker.ask(letter, json.dumps(message), self._keep_printed)

    def _keep_printed(self, text: str) -> None:
        """Keep what the plan prints; a sound worker ends the plan that prints too much."""
        self._printed_bytes += len(text.encode()) or 1
        if self._printed_bytes > self._limits.printed_bytes:
            raise WorkerLost("printed")
        self._pieces.append(text)

    def _state(self, answer: str) -> PlanState:
        """The state that an answer tells; raises `Nonsense` where it tells none."""
        if answer.startswith("T"):
            return Finished(failure=trap_failure(answer[1:], self._limits, self._last_line))
        match message := _read(answer):
            case {"calls": list(calls), "timer": None}:
                return self._waiting(calls, None)
            case {"calls": list(calls), "timer": int() | float() as timer} if (
                0 <= timer <= LONGEST_TIMER_SECONDS  # which is what no number is not
            ):
                return self._waiting(calls, timer)
            case {"value": value}:
                ended = Finished(*self._checked(value))
            case {"error": {"type": str(kind), "text": str(said), "line": line, "origin": origin}}:
                error = PlanError(kind, said, self._line(line), str(origin))
                ended = Finished(
                    failure=failure_of(error, self._source, self._limits, self._host.hint)
                )
            case _:
                raise Nonsense("neither calls nor an end")
        self._take_memory(message)
        return ended

    def _take_memory_from(self, answer: str) -> None:
        if not answer.startswith("T"):
            self._take_memory(_read(answer))

    def _take_memory(self, message: JsonObject) -> None:
        if self.memory is not None and (left := message.get("memory")) is not None:
            self.memory = left_memory(left)

    def _checked(self, value: Json) -> tuple[Json, PlanFailure | None]:
        """A plan's value within its bounds, or why it isn't."""
        try:
            return to_json(value, max_bytes=self._limits.result_bytes), None
        except TooLarge as reason:
            return None, PlanFailure("limit", f"{ENTRY_POINT}()'s result: {reason}")

    def _ended(self, ended: Finished) -> Finished:
        """An end without what tells the plan's words from those of others, once that is told."""
        if self.memory is not None:
            self.memory = self._own.memory(self.memory)
        given = "".join(self._pieces) if ended.value is None else ended.value
        return Finished(
            self._own.value(ended.value), self._own.failure(ended.failure), self._own.begin(given)
        )

    def _waiting(self, calls: list[Json], timer: float | None) -> PlanState:
        """The calls, checked; those that can't be made have their outcome at once."""
        requested: list[RequestedCall] = []
        settled: dict[int, CallOutcome] = {}
        for told in calls:
            call = _call(told)
            self._last_line = self._line(call.line) or self._last_line
            self._made += 1
            if call.id_ != self._made:
                raise Nonsense("its calls are not numbered one by one")
            began = time.perf_counter()
            outcome = self._admitted(call)
            self._checking_seconds += time.perf_counter() - began
            if isinstance(outcome, RequestedCall):
                requested.append(outcome)
                self._sent += 1
            else:
                settled[call.id_] = outcome
            if (limit := self._limit_passed()) is not None:
                self._is_halted = True
                return Finished(failure=limit_failure(limit, self._last_line, self._source))
        self._open |= {request.call_id for request in requested}
        if not (self._open or settled or timer is not None):
            message = "the plan waits for what can't happen: no call and no timer is open"
            self._is_halted = True
            return Finished(failure=PlanFailure("error", message))
        wait = None
        if timer is not None:  # what is no number is the shortest
            wait = min(max(SHORTEST_TIMER_SECONDS, timer), self._limits.wall_seconds)
        return Waiting(tuple(requested), frozenset(self._open), wait, settled)

    def _admitted(self, call: "_Call") -> RequestedCall | CallOutcome:
        """A call as it is to be sent, or its outcome where nothing is."""
        try:
            if call.kind == "search" or (call.name == SEARCH and not self._tools.has_name(SEARCH)):
                return CallOutcome(self._host.search(call.args, call.kwargs))
            tool, arguments = self._host.admit(call.kind, call.name, call.args, call.kwargs)
            return RequestedCall(call.id_, tool, self._own.object(arguments), call.kind == "raw")
        except CallRefused as refused:
            return CallOutcome(error=shorten(str(refused), MAX_TOOL_ERROR_CHARACTERS))

    def _limit_passed(self) -> str | None:
        """What to say where a limit on calls is passed; the plan's own time doesn't count these."""
        limits = self._limits
        if self._sent > limits.tool_calls:
            return f"the plan made more than {limits.tool_calls} tool calls"
        if self._made > MAX_CALLS:
            return f"the plan made more than {MAX_CALLS} calls, refused ones included"
        if self._checking_seconds > limits.cpu_seconds:
            return f"checking the plan's calls took over {limits.cpu_seconds:g} s"
        return None

    def _line(self, line: Json) -> int | None:
        """A line of the plan; None for what is none."""
        lines = self._source.count("\n") + 1
        return line if isinstance(line, int) and 1 <= line <= lines else None


@frozen
class _Call:
    """A call as the guest tells it."""

    id_: int
    kind: Literal["tool", "raw", "search"]
    name: str
    args: list[Json]
    kwargs: JsonObject
    line: Json


def _call(told: Json) -> _Call:
    """A call, if it is one; raises `Nonsense` where it isn't."""
    match told:
        case [
            int(id_),
            "tool" | "raw" | "search" as kind,
            str(name),
            list(args),
            dict(kwargs),
            line,
        ]:
            return _Call(id_, kind, name, args, kwargs, line)
        case _:
            raise Nonsense("a call is told in another form")


async def _apart(look: Callable[[str], T], answer: str) -> T:
    """What a look at an answer gives; in a thread where that may take long."""
    if len(answer) <= SMALL_ANSWER_CHARACTERS:
        return look(answer)
    return await asyncio.to_thread(look, answer)


def _read(answer: str) -> JsonObject:
    """What the guest says.

    Raises:
        Nonsense: it is no JSON object, or holds half a surrogate pair.
        TooLarge: it holds more values than can be read without holding up others.
    """
    if _is_dense(answer):
        raise TooLarge(f"it holds more than {MAX_VALUES:,} values")
    try:
        message: Json = json.loads(answer.removeprefix("G"))
        if "\\ud" in answer.lower():
            json.dumps(message, ensure_ascii=False).encode()
    except ValueError as error:  # also of numbers with too many digits
        raise Nonsense(str(error)) from None
    if not isinstance(message, dict):
        raise Nonsense("it is no object")
    return message


def _is_dense(text: str) -> bool:
    """Whether a JSON text has too many values; looked at outside of its strings, in linear time."""
    if sum(map(text.count, ",[{")) <= MAX_VALUES:
        return False
    bare = text.replace("\\\\", "").replace('\\"', "")
    if bare.count('"') > 2 * MAX_VALUES:
        return True
    outside = "".join(bare.split('"')[::2])
    return sum(map(outside.count, ",[{")) > MAX_VALUES

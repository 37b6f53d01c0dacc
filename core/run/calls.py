"""The tool calls of one run: told as events, none repeated that is known to fail, or to succeed.

A call that failed is not sent again in its run. One that succeeded in a plan that failed is not
sent again by a retry if repeating it is harmless: the retry gets the kept result
(`core.run.kept_results`). A kept call counts among the plan's tool calls like any other.

Before anything else, each call goes through the run's guard, which knows where its values may come
from (`core.provenance`), and what it gave is shown to the guard.

A server may report progress faster than anybody reads it. Of reports that come while a listener
is still busy with an earlier one, only the newest is told; none is told after its call's end.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Protocol

from core.base.clock import Clock
from core.context import ProgressStatus
from core.errors import BudgetSpent, CallRefused, ServerError, ToolTimeout
from core.events import (
    Emit,
    ToolCallFinished,
    ToolCallKept,
    ToolCallProgress,
    ToolCallRefused,
    ToolCallStarted,
)
from core.ports import Dispatcher, PlannedCall, SpendCall
from core.provenance.guard import ProvenanceGuard
from core.run.answer import after_person_said_no, with_not_done
from core.run.execution import current_ids, working_on_part
from core.run.kept_results import CallKey, KeptResult, KeptResults, call_key
from core.tools.content import ImageBlock, ToolResult
from core.tools.json_schema import is_larger
from core.tools.spec import ToolSpec
from core.turn import (
    ActionResult,
    FinalAnswer,
    FurtherProcessing,
    PlanFailed,
    PlanFailure,
    ToolCall,
    Unanswered,
)
from core.values import JsonObject

PROGRESS_MESSAGE_CHARACTERS = 200
"""How much of a server's message on progress is told."""

RULES_WANTED_MAX = 20
"""How many rules are told that a run would have needed."""

QUICK_VALUES_MAX = 1_000
"""Values in the arguments of a call whose key is made on the event loop, a millisecond's worth."""


class CallContext(Protocol):
    """As much of a run's context as its calls need; a plan by hand has no more than this."""

    @property
    def dispatcher(self) -> Dispatcher:
        """Where calls are sent."""
        ...

    def log_subtask(self, tool_name: str, status: ProgressStatus = "pending") -> None:
        """Note that work on `tool_name` began."""
        ...

    def update_subtask_status(self, tool_name: str, status: ProgressStatus) -> None:
        """Set the status of the newest work on `tool_name`."""
        ...


class RunCalls:
    """Sends the calls of one run's plans, and remembers what became of them.

    The loop says how each plan ended, with `plan_failed` or `plan_worked`.

    Attributes:
        spent: why no further call may be sent, once one was refused for that.
        rules_wanted: rules that would allow calls which nobody was there to allow, each once.
    """

    def __init__(
        self,
        context: CallContext,
        clock: Clock = time.perf_counter,
        guard: ProvenanceGuard | None = None,
        spend_call: SpendCall | None = None,
    ) -> None:
        """Send through the context's dispatcher; `clock` gives seconds for durations.

        Without `guard`, calls are sent whatever they hold; without `spend_call`, however many.
        """
        self._context = context
        self._guard = guard
        self._spend_call = spend_call
        self._clock = clock
        self.spent: BudgetSpent | None = None
        self.rules_wanted: dict[str, None] = {}
        self._wants_more_rules = False
        self._forbidden: list[ToolCall] = []
        self._newly_forbidden: list[ToolCall] = []
        self._may_try_again = True
        self._did_otherwise = False
        self._failed: dict[CallKey, str] = {}
        self._results = KeptResults()
        self._repeated: list[ToolCall] = []
        self._refused: list[JsonObject] = []
        self._next_id = 1
        self._making_key = asyncio.Lock()

    @property
    def kept(self) -> tuple[ToolCall, ...]:
        """The calls that the next plan may repeat at no cost, oldest first."""
        return self._results.calls

    def plan_failed(self, calls: Sequence[ToolCall]) -> None:
        """Keep what harmless calls gave for the retry; `calls` is the plan's record of them all."""
        self._results.plan_failed(call for call in calls if not call.ok)
        self._repeated.clear()

    def plan_worked(self) -> None:
        """Forget what was kept for a retry: there is none."""
        self._results.plan_worked()
        self._repeated.clear()

    def marked(self, calls: Sequence[ToolCall]) -> tuple[ToolCall, ...]:
        """A plan's record of its calls, before its end was told, kept and refused ones marked.

        The plan records a call with the very arguments that it sent, so these tell which is which.
        """
        refused, self._refused = {id(arguments) for arguments in self._refused}, []
        calls = [replace(c, refused=True) if id(c.arguments) in refused else c for c in calls]
        repeated = {id(call.arguments): call for call in self._repeated}
        return tuple(
            replace(call, kept=True, seconds=kept.seconds)
            if call.ok and (kept := repeated.get(id(call.arguments))) is not None
            else call
            for call in calls
        )

    def heeding_no(self, result: ActionResult, before: Iterable[ToolCall] = ()) -> ActionResult:
        """What the end of a plan counts as, once a person has said no to a call of the run.

        A no without words ends the run, whatever the plan makes of it. Words beside a no are for
        the next plan: what this one claims was written without them. An answer of a later plan
        counts where other calls were made since, and it names what was not done. `before` are the
        calls of earlier plans.
        """
        new, self._newly_forbidden = self._newly_forbidden, []
        self._forbidden += new
        if not self._forbidden:
            return result
        answer = result.text if isinstance(result, FinalAnswer) else ""
        if self._may_try_again and new:
            if not isinstance(result, FinalAnswer | FurtherProcessing):
                return result
            failure = PlanFailure("tool", str(new[-1].result))
            return PlanFailed(failure, result.calls, result.found)
        if self._may_try_again:
            self._did_otherwise = self._did_otherwise or any(call.ok for call in result.calls)
            if not answer:
                return result
            if self._did_otherwise:
                return replace(result, text=with_not_done(answer, self._forbidden))
        calls = (*before, *result.calls)
        why = after_person_said_no(calls, self._forbidden, answer)
        return Unanswered(why, result.calls, result.found)

    async def foresee(self, calls_of_plan: Callable[[], Sequence[PlannedCall]]) -> None:
        """Note what else a plan would have needed a yes for, if a call of it was refused for that.

        `calls_of_plan` reads its calls from its text, in a thread.
        """
        wants_more, self._wants_more_rules = self._wants_more_rules, False
        if not wants_more or self._guard is None:
            return
        for tool, arguments in await asyncio.to_thread(calls_of_plan):
            if rule := await self._guard.rule_wanted(tool, arguments):
                self._want(rule)

    def _want(self, rule: str) -> None:
        if len(self.rules_wanted) < RULES_WANTED_MAX:
            self.rules_wanted[rule] = None

    async def send(self, tool: ToolSpec, arguments: JsonObject, emit: Emit) -> ToolResult:
        """Send one call of a plan, unless its result is kept or it has failed in this run before.

        Raises:
            CallRefused: the guard or the dispatcher refused the call, or it failed before.
            BudgetSpent: no further call may be sent.
            ServerError: the server did not start, died, or did not answer in time.
        """
        await self._admit(tool, arguments, emit)
        key = await self._key(tool, arguments)
        if (kept := self._results.take(tool, key)) is not None:
            return await self._repeat(kept, arguments, emit)
        if (earlier := self._failed.get(key)) is not None:
            raise CallRefused(
                f"{tool.qualified_name} failed before with exactly these arguments and was not "
                f"called again: {earlier}. Use other arguments or another tool"
            )
        await self._pay(tool, arguments, emit)
        with working_on_part():
            return await self._send_anew(tool, arguments, key, emit)

    async def _admit(self, tool: ToolSpec, arguments: JsonObject, emit: Emit) -> None:
        """Let the guard have its say.

        Raises:
            CallRefused: it refuses the call.
        """
        refused = None if self._guard is None else await self._guard.refusal(tool, arguments)
        if refused is None:
            return
        if refused.by_person:
            call = ToolCall(tool.qualified_name, arguments, False, refused.reason, 0.0)
            self._newly_forbidden.append(call)
            self._may_try_again = self._may_try_again and refused.has_words
        if refused.rule:
            self._want(refused.rule)
            self._wants_more_rules = True
        await self._refuse(tool, arguments, refused.reason, emit)
        raise CallRefused(refused.reason, by_person=refused.by_person)

    async def _pay(self, tool: ToolSpec, arguments: JsonObject, emit: Emit) -> None:
        """Count the call, if it may be sent.

        Raises:
            BudgetSpent: it may not.
        """
        if self._spend_call is None:
            return
        try:
            await self._spend_call()
        except BudgetSpent as error:
            self.spent = error
            await self._refuse(tool, arguments, str(error), emit)
            raise

    async def _refuse(self, tool: ToolSpec, arguments: JsonObject, reason: str, emit: Emit) -> None:
        """Tell that a call is not sent."""
        self._refused.append(arguments)
        await emit(ToolCallRefused(tool.qualified_name, arguments, reason))

    async def _key(self, tool: ToolSpec, arguments: JsonObject) -> CallKey:
        """`call_key`; of many arguments in a thread, one at a time to leave the loop its share."""
        if not is_larger(arguments, QUICK_VALUES_MAX):
            return call_key(tool, arguments)
        async with self._making_key:
            return await asyncio.to_thread(call_key, tool, arguments)

    async def _repeat(self, kept: KeptResult, arguments: JsonObject, emit: Emit) -> ToolResult:
        """Answer a call with what the same one gave before."""
        call = replace(kept.call, arguments=arguments, kept=True)
        self._repeated.append(call)
        self._context.log_subtask(call.tool, "success")
        await emit(ToolCallKept(call))
        return kept.result

    async def _send_anew(
        self, tool: ToolSpec, arguments: JsonObject, key: CallKey, emit: Emit
    ) -> ToolResult:
        name, place = tool.qualified_name, self._results.sending(tool, key)
        call_id, self._next_id = self._next_id, self._next_id + 1
        self._context.log_subtask(name)
        await emit(ToolCallStarted(call_id, name, arguments, current_ids()[1]))
        started = self._clock()
        try:
            await self._context.dispatcher.prepare(tool)
            started = self._clock()
            result = await self._with_progress(call_id, tool, arguments, emit)
        except (CallRefused, ServerError) as error:
            if not isinstance(error, ServerError) or isinstance(error, ToolTimeout):
                self._failed[key] = str(error)
            if isinstance(error, ServerError) and self._guard is not None:
                self._guard.note_failure(tool)
            failed = ToolCall(name, arguments, False, str(error), self._clock() - started)
            await self._finish(call_id, failed, emit)
            raise
        value = result.error_text if result.is_error else result.value
        call = ToolCall(name, arguments, not result.is_error, value, self._clock() - started)
        if self._guard is not None:
            await self._guard.note(tool, arguments, value)
        if call.ok:
            self._results.keep(place, tool, call, result)
        else:
            self._failed[key] = result.error_text
        images = tuple(block for block in result.content if isinstance(block, ImageBlock))
        await self._finish(call_id, call, emit, images)
        return result

    async def _with_progress(
        self, call_id: int, tool: ToolSpec, arguments: JsonObject, emit: Emit
    ) -> ToolResult:
        async with contextlib.aclosing(_Progress(call_id, tool.qualified_name, emit)) as progress:
            result = await self._context.dispatcher.send(tool, arguments, progress.report)
            await progress.told()
            return result

    async def _finish(
        self, call_id: int, call: ToolCall, emit: Emit, images: tuple[ImageBlock, ...] = ()
    ) -> None:
        self._context.update_subtask_status(call.tool, "success" if call.ok else "failure")
        await emit(ToolCallFinished(call_id, call, images))


class _Progress:
    """Tells the progress of one call, from the first report until it is closed."""

    def __init__(self, call_id: int, tool: str, emit: Emit) -> None:
        self._call_id = call_id
        self._tool = tool
        self._emit = emit
        self._newest: ToolCallProgress | None = None
        self._telling: asyncio.Task[None] | None = None
        self._closed = False

    def report(self, progress: float, total: float | None, message: str | None) -> None:
        """Have this told as soon as what was told before has been dealt with."""
        if self._closed:
            return
        short = message[:PROGRESS_MESSAGE_CHARACTERS] if message is not None else None
        self._newest = ToolCallProgress(self._call_id, self._tool, progress, total, short)
        if self._telling is None or self._telling.done():
            self._telling = asyncio.create_task(self._tell())

    async def told(self) -> None:
        """Take no more reports, and wait until the newest has been dealt with."""
        self._closed = True
        if self._telling is not None:
            await self._telling

    async def aclose(self) -> None:
        """Take no more reports and tell none; nothing of it runs afterwards."""
        self._closed = True
        if self._telling is not None and not self._telling.done():
            self._telling.cancel()
            await asyncio.wait({self._telling})

    async def _tell(self) -> None:
        while (newest := self._newest) is not None:
            self._newest = None
            await self._emit(newest)

"""The loop: perception → decision → action, until there is an answer or no lifeline left.

Each step perceives, asks for a plan, and runs it. A failed plan costs a lifeline and is asked
for again with the failure in the prompt; an observation starts the next step.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import replace
from typing import assert_never

from core.context import AgentContext
from core.errors import BudgetSpent, WorldError
from core.events import (
    Answered,
    Clarified,
    Emit,
    Event,
    EventChannel,
    Notice,
    Observed,
    Perceived,
    PlanRepaired,
    PlanWritten,
    Retrying,
    RunFinished,
    RunStarted,
    StepFinished,
)
from core.ports import DecisionInputs
from core.provenance.borders import Borders
from core.provenance.guard import guard_of
from core.provenance.images import without_unknown_images
from core.run.answer import (
    INTERRUPTED,
    after_budget,
    after_failed_step,
    after_last_step,
    with_sources,
)
from core.run.calls import RunCalls
from core.run.observation import (
    QUESTION_CHARACTERS,
    calls_told,
    clarified_input,
    judge_text_to_read,
    next_input,
    observation_room,
    shorten,
    unread_text,
)
from core.run.same_plan import is_same_plan
from core.strategy import Decision, Situation, decide
from core.tools.catalog import CatalogKeeper, ToolCatalog
from core.tools.content import ToolResult
from core.tools.spec import ToolSpec
from core.turn import (
    SANDBOX_STEP,
    ActionResult,
    AskedBack,
    Attempt,
    Declined,
    FinalAnswer,
    FurtherProcessing,
    NoPlan,
    PerceptionResult,
    Plan,
    PlanFailed,
    PlanFailure,
    RunOutcome,
    RunStatus,
    Step,
    Usage,
)
from core.values import JsonObject

NOTICE_CHARACTERS = 300
"""How much of a plan's failure a notice tells."""


class AgentLoop:
    """Runs one request to its end; `run` is an async generator of events."""

    def __init__(
        self,
        context: AgentContext,
        clock: Callable[[], float] = time.perf_counter,
        catalogs: CatalogKeeper | None = None,
        borders: Borders | None = None,
    ) -> None:
        """Work on `context`.

        `clock` gives seconds for durations; `catalogs` may be shared by the runs of a conversation.
        `borders`, whose name is random, go around text of tools if the context has a provenance.
        """
        self._context = context
        self._clock = clock
        self._steps: list[Step] = []
        self._durations = {"perception": 0.0, "decision": 0.0, "action": 0.0}
        self._catalogs = catalogs or CatalogKeeper()
        self._guard = guard_of(context.provenance, self._catalog, context.said)
        self._own_borders = borders or Borders()
        self._calls = RunCalls(context, clock, self._guard)
        self._found_tools: dict[str, None] = {}
        self._task: asyncio.Task[None] | None = None
        self._interrupted = False
        self._request = context.user_input  # with what the user said when asked back
        self._has_asked = False
        self._last_step = context.agent_profile.strategy.max_steps
        self._read: list[str] = []
        self._done = ""
        self._retrying: Retrying | None = None

    async def run(self) -> AsyncGenerator[Event, None]:
        """Yield the run's events; the last one is always `RunFinished`.

        An outage (`WorldError`) ends the run as "failed", `interrupt` as "interrupted".
        """
        async with contextlib.aclosing(EventChannel().stream(self._run)) as events:
            async for event in events:
                yield event

    def interrupt(self) -> None:
        """Stop the run at its next wait, or before it begins; its outcome is "interrupted"."""
        if not self._interrupted:
            self._interrupted = True
            if self._task is not None:
                self._task.cancel()

    async def _run(self, emit: Emit) -> None:
        context, started = self._context, self._clock()
        used, used_by = context.model.usage, dict(context.model.usage_by_model)
        with context.model.telling(emit):
            status, text = await self._bounded_by_the_world(emit)
        outcome = RunOutcome(
            status,
            answer=text if status == "done" else None,
            message="" if status == "done" else text,
            steps=tuple(self._steps),
            usage=context.model.usage - used,
            usage_by_model=_since(used_by, context.model.usage_by_model),
            durations={**self._durations, "total": self._clock() - started},
        )
        context.final_answer = outcome.result
        if outcome.answer is not None:
            await emit(Answered(outcome.answer))
        await emit(RunFinished(outcome))

    async def _bounded_by_the_world(self, emit: Emit) -> tuple[RunStatus, str]:
        """The steps, with outage and interruption turned into a status."""
        context = self._context
        if self._interrupted:
            return "interrupted", INTERRUPTED
        self._task = asyncio.current_task()
        try:
            await emit(RunStarted(context.session_id, context.user_input, context.model.name))
            return await self._run_steps(emit)
        except BudgetSpent as error:
            return "no_answer", after_budget(self._steps, str(error))
        except WorldError as error:
            return "failed", str(error)
        except asyncio.CancelledError:
            if not self._interrupted or self._task is None:
                raise
            self._task.uncancel()
            return "interrupted", INTERRUPTED
        finally:
            self._task = None

    async def _run_steps(self, emit: Emit) -> tuple[RunStatus, str]:
        context, observation = self._context, None
        number = 0
        while number < self._last_step:
            context.step = number = number + 1
            result = await self._run_step(number, observation, emit)
            match result:
                case FinalAnswer():
                    return "done", with_sources(self._answer(result.text), self._steps)
                case Declined():
                    return "no_answer", result.explanation
                case PlanFailed(failure):
                    return "no_answer", after_failed_step(self._steps, failure)
                case FurtherProcessing():
                    observation = await self._observe(number, result.text, emit)
                case AskedBack():
                    await self._ask_back(number, result.question, observation, emit)
                case _:
                    assert_never(result)
        return "no_answer", after_last_step(self._steps, self._last_step)

    async def _run_step(
        self, number: int, observation: str | None, emit: Emit
    ) -> ActionResult | Declined:
        """One step: perceive once, then plan and act until a plan works or lifelines are out.

        A plan that failed over text which a tool gave it costs no lifeline while there is another
        step: the model reads the text there.
        """
        perception = await self._perceive(number, emit)
        lifelines = self._context.agent_profile.strategy.max_lifelines_per_step
        failed: list[Attempt] = []
        while True:
            started, attempt = self._clock(), len(failed) + 1
            repairs: tuple[str, ...] = ()
            decision = await self._decide(number, perception, failed, observation, lifelines)
            match decision.reply:
                case Declined():
                    if await self._learn_more(failed):
                        continue  # with the tools of servers that nothing had spoken for
                    return decision.reply
                case NoPlan(text, failure):
                    plan, result = Plan(text), PlanFailed(failure)
                case Plan() as plan:
                    await self._tell_retry(emit)
                    if self._guard is not None:
                        self._guard.known.plan_written(plan.source)
                    await emit(PlanWritten(number, attempt, plan, decision.prompt_path))
                    result, repairs = await self._act(plan, decision.tools, failed, emit)
                case _:
                    assert_never(decision.reply)
            result = judge_text_to_read(result, self._read, self._borders)
            seconds = self._clock() - started
            step = Step(number, attempt, perception, plan, result, seconds, repairs)
            self._steps.append(step)
            await emit(StepFinished(step))
            if not isinstance(result, PlanFailed):
                return result
            text = unread_text(result) if number < self._last_step else None
            if text is not None and text not in self._read:
                earlier = (call for attempt in failed for call in attempt.calls)
                self._done = calls_told([*earlier, *result.calls[:-1]], self._borders)
                why = shorten(" ".join(str(result.failure).split()), NOTICE_CHARACTERS)
                await emit(Notice("loop", f"the plan failed over text that it got: {why}"))
                return FurtherProcessing(text, result.calls, result.found)
            if lifelines == 0:
                return result
            lifelines -= 1
            failed.append(Attempt(plan, result.failure, result.calls, self._calls.kept))
            await self._expect_retry(Retrying(number, attempt, result.failure, lifelines), emit)

    async def _expect_retry(self, retrying: Retrying, emit: Emit) -> None:
        """Tell of another plan, from a deterministic planner only once it has one."""
        self._retrying = retrying
        if not self._context.model.traits.deterministic:
            await self._tell_retry(emit)

    async def _tell_retry(self, emit: Emit) -> None:
        """Tell of the plan that takes a failed one's place, once."""
        retrying, self._retrying = self._retrying, None
        if retrying is not None:
            await emit(retrying)

    async def _learn_more(self, failed: Sequence[Attempt]) -> bool:
        """Whether there are more tools now; a plan that failed did not want for tools."""
        return not failed and await self._context.dispatcher.learn_more()

    async def _observe(self, number: int, text: str, emit: Emit) -> str:
        """Make a step's text the next step's input, shortened to what a prompt has room for."""
        context = self._context
        self._read.append(text)
        room = observation_room(context.model.traits.context_tokens)
        if len(text) > room and context.parts.condense is not None:
            text = await context.parts.condense(self._request, text, room)
        observation = shorten(text, room)
        done, self._done = self._done, ""
        context.user_input_override = next_input(self._request, observation, done, self._borders)
        await emit(Observed(number, observation))
        return observation

    async def _ask_back(
        self, number: int, question: str, observation: str | None, emit: Emit
    ) -> None:
        """Put a plan's question to the user, once a run; the steps that follow have the answer.

        A run's first question takes none of its steps.
        """
        context, question = self._context, shorten(question, QUESTION_CHARACTERS)
        ask = context.parts.ask_user if self._may_ask else None
        self._last_step += not self._has_asked
        self._has_asked = True
        answer = await ask(question) if ask is not None else None
        request = self._request = clarified_input(self._request, question, answer)
        context.user_input_override = (
            request
            if observation is None
            else next_input(request, observation, borders=self._borders)
        )
        if answer is not None and self._guard is not None:
            self._guard.user_said(answer)
        await emit(Clarified(number, question, answer))

    async def _perceive(self, number: int, emit: Emit) -> PerceptionResult:
        started = self._clock()
        perception = await self._context.parts.perceive(self._context, self._context.current_input)
        self._durations["perception"] += self._clock() - started
        await emit(Perceived(number, perception))
        return perception

    async def _decide(
        self,
        number: int,
        perception: PerceptionResult,
        failed: Sequence[Attempt],
        observation: str | None,
        lifelines: int,
    ) -> Decision:
        """Ask for one plan with everything that is known so far."""
        context, started = self._context, self._clock()
        profile = context.agent_profile
        inputs = DecisionInputs(
            user_input=context.current_input,
            tools=self._catalog(),
            perception=perception,
            history=context.turn.history,
            failed=tuple(failed),
            observation=observation,
            plan_style=profile.strategy.plan_style,
            planning_mode=profile.strategy.planning_mode,
            exploration_mode=profile.strategy.exploration_mode,
            max_tool_calls=profile.sandbox.tool_calls,
            step=number,
            max_steps=self._last_step,
            images=context.images,
            texts=context.texts,
            last_try=bool(failed) and lifelines == 0,
            may_ask=self._may_ask,
            borders=self._borders,
            down=self._down(),
        )
        situation = Situation(
            inputs,
            memory_items=context.memory.get_session_items(),
            basic_tools=context.basic_tools,
            describe=context.parts.describe_tool,
            force_replan=bool(failed),
            found_tools=tuple(self._found_tools),
            request=context.user_input,
            tool_prompt_tokens=profile.strategy.tool_prompt_tokens,
        )
        decision = await decide(profile.strategy, situation, context.parts.generate_plan)
        self._durations["decision"] += self._clock() - started
        return decision

    def _down(self) -> dict[str, str]:
        """Servers that were tried in vain, with nothing known of their tools."""
        dispatcher = self._context.dispatcher
        known = {tool.server for tool in dispatcher.get_all_tools()}
        return {
            server.id: (server.problem or "it failed").partition(";")[0]
            for server in dispatcher.status()
            if server.state == "failed" and server.id not in known
        }

    def _catalog(self) -> ToolCatalog:
        return self._catalogs.catalog_of(self._context.dispatcher.get_all_tools())

    @property
    def _borders(self) -> Borders | None:
        """What goes around text of tools; nothing while all there is can be trusted."""
        is_needed = self._guard is not None and self._guard.known.is_tainted
        return self._own_borders if is_needed else None

    def _answer(self, text: str) -> str:
        return text if self._guard is None else without_unknown_images(text, self._guard.may_load)

    @property
    def _may_ask(self) -> bool:
        """Whether a plan may ask back: the profile allows it, somebody is there, and none has."""
        asks = self._context.parts.ask_user is not None
        return asks and self._context.agent_profile.strategy.clarify and not self._has_asked

    async def _act(
        self, plan: Plan, tools: ToolCatalog, failed: Sequence[Attempt], emit: Emit
    ) -> tuple[ActionResult, tuple[str, ...]]:
        """Run the plan, unless the same one failed before; what was repaired in it comes along."""
        if any(is_same_plan(plan.source, earlier.plan.source) for earlier in failed):
            return PlanFailed(_REPEATED_PLAN), ()
        started = self._clock()
        self._context.log_subtask(SANDBOX_STEP)

        async def call(tool: ToolSpec, arguments: JsonObject) -> ToolResult:
            return await self._calls.send(tool, arguments, emit)

        made: list[str] = []

        async def repaired(repairs: tuple[str, ...]) -> None:
            made.extend(repairs)
            await emit(PlanRepaired(self._context.step, len(failed) + 1, repairs))

        result = await self._context.parts.run_plan(plan, tools, call, repaired)
        result = replace(result, calls=self._calls.marked(result.calls))
        if isinstance(result, PlanFailed):
            self._calls.plan_failed(result.calls)
        else:
            self._calls.plan_worked()
        self._found_tools |= dict.fromkeys(result.found)
        self._context.update_subtask_status(
            SANDBOX_STEP, "failure" if isinstance(result, PlanFailed) else "success"
        )
        self._durations["action"] += self._clock() - started
        return result, tuple(made)


async def collect(events: AsyncGenerator[Event, None], *listeners: Emit) -> RunOutcome:
    """Read a run to its end, hand every event to the listeners in turn, and give the outcome."""
    outcome: RunOutcome | None = None
    async with contextlib.aclosing(events):
        async for event in events:
            for listener in listeners:
                await listener(event)
            if isinstance(event, RunFinished):
                outcome = event.outcome
    if outcome is None:
        raise RuntimeError("the run ended without a RunFinished event")
    return outcome


_REPEATED_PLAN = PlanFailure(
    "repeated", "this plan is the same as one that failed before, and was not run again"
)


def _since(earlier: Mapping[str, Usage], now: Mapping[str, Usage]) -> dict[str, Usage]:
    """What each model has used since `earlier`; models that were not asked are left out."""
    used = {name: usage - earlier.get(name, Usage()) for name, usage in now.items()}
    return {name: usage for name, usage in used.items() if usage.model_calls}

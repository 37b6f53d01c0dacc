"""The loop: perception → decision → action, until there is an answer or no lifeline left.

Each step perceives, asks for a plan, and runs it. A failed plan costs a lifeline and is asked
for again with the failure in the prompt; an observation starts the next step.
"""

import asyncio
import contextlib
import time
from collections.abc import Generator, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import assert_never

from core.base.clock import Clock
from core.context import AgentContext, Run
from core.errors import BudgetSpent, WorldError
from core.events import (
    Answered,
    Clarified,
    Emit,
    Event,
    InterruptibleRun,
    ModelFailed,
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
from core.run.answer import (
    INTERRUPTED,
    WITHOUT_PLAN,
    after_budget,
    after_failed_step,
    after_interruption,
    after_last_step,
    after_no_answer,
    after_unanswerable,
    with_sources,
)
from core.run.calls import RunCalls
from core.run.execution import current_ids, note_intent
from core.run.grounding import is_grounded
from core.run.observation import (
    QUESTION_CHARACTERS,
    calls_told,
    clarified_input,
    judge_text_to_read,
    next_input,
    observation_room,
    shorten,
    text_behind_answer,
    unread_text,
)
from core.run.working_memory import MEMORY, TEXT, item
from core.strategy import Decision, Situation, decide
from core.tools.catalog import ToolCatalog
from core.tools.content import ToolResult
from core.tools.record import ToolRecord
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
    ToolCall,
    Unanswered,
    used_since,
)
from core.values import JsonObject

NOTICE_CHARACTERS = 300
"""How much of a plan's failure a notice tells."""

ANSWERED_UNREAD = "the plan's answer was written before the text that it got was read"
"""A notice: the next step reads the text."""

QUESTIONS_MAX = 3
"""So often a run may ask the user back."""

_REPEATED_PLAN = PlanFailure(
    "repeated", "this plan is the same as one that failed before, and was not run again"
)


class AgentLoop(InterruptibleRun):
    """Runs one request to its end; `run` is an async generator of events.

    An outage (`WorldError`) ends the run as "failed", `interrupt` as "interrupted".

    Attributes:
        unfinished: what the model had written of its answer when the run was ended.
    """

    def __init__(
        self,
        context: AgentContext,
        clock: Clock = time.perf_counter,
        borders: Borders | None = None,
    ) -> None:
        """Work on `context`.

        `clock` gives seconds for durations. `borders`, whose name is random, go around text of
        tools if the context has a provenance.
        """
        super().__init__()
        self.unfinished = ""
        self._context = context
        self._clock = clock
        self._guard = guard_of(context.provenance, lambda: context.dispatcher.catalog, context.said)
        self._own_borders = borders
        self._calls = RunCalls(context, clock, self._guard, context.parts.spend_call)

    async def _run(self, emit: Emit) -> None:
        context, started = self._context, self._clock()
        strategy = context.agent_profile.strategy
        run = Run(context.user_input, strategy.max_steps, strategy.max_lifelines_per_step)
        used, used_by = context.model.usage, dict(context.model.usage_by_model)

        async def tell(event: Event) -> None:
            match event:
                case ModelFailed(purpose="decision", is_cut=True, answer=answer):
                    self.unfinished = answer
                case _:
                    pass
            await emit(event)

        with context.model.telling(tell):
            status, text = await self._bounded_by_the_world(run, emit)
        gave_up = bool(run.steps) and isinstance(run.steps[-1].result, Unanswered)
        outcome = RunOutcome(
            status,
            answer=text if status == "done" else None,
            message="" if status == "done" else text,
            steps=tuple(run.steps),
            usage=context.model.usage - used,
            usage_by_model=used_since(used_by, context.model.usage_by_model),
            durations={**run.seconds, "total": self._clock() - started},
            budget=run.budget,
            rules_wanted=(*self._calls.rules_wanted,),
            verdict="blocked" if status == "no_answer" and gave_up else None,
            grounded=self._is_grounded(run, text) if status == "done" else None,
            unfinished=self.unfinished if status == "interrupted" else "",
        )
        context.final_answer = outcome.result
        if outcome.answer is not None:
            await emit(Answered(outcome.answer))
        await emit(RunFinished(outcome))

    def _is_grounded(self, run: Run, answer: str) -> bool:
        """Whether the answer rests on more than what a language model knows by heart."""
        context = self._context
        if not context.model.traits.reads_text or context.images:
            return True
        plan = run.steps[-1].plan.source if run.steps else ""
        if any(text.grounded for text in context.texts) or any(
            name in plan for name in context.readable
        ):
            return True
        texts = [*context.remembered]
        for earlier in reversed(context.history):
            texts.append(earlier.request)
            if earlier.answer is not None and earlier.grounded:
                texts.append(earlier.answer)
        return is_grounded(run.steps, answer, run.request, texts)

    async def _bounded_by_the_world(self, run: Run, emit: Emit) -> tuple[RunStatus, str]:
        """The steps, with outage and interruption turned into a status."""
        context = self._context
        if self._interrupted:
            return "interrupted", INTERRUPTED
        self._task = asyncio.current_task()
        try:
            about = context.session_id, context.user_input, context.model.name
            await emit(RunStarted(*about, *current_ids()))
            return await self._steps(run, emit)
        except BudgetSpent as error:
            run.budget = error.budget
            return "no_answer", after_budget(run.steps, str(error))
        except WorldError as error:
            return "failed", str(error)
        except asyncio.CancelledError:
            if not self._interrupted or self._task is None:
                raise
            self._task.uncancel()
            return "interrupted", after_interruption(self.unfinished)
        finally:
            self._task = None

    async def _steps(self, run: Run, emit: Emit) -> tuple[RunStatus, str]:
        """One step after the other, until one ends the run or none is left."""
        while run.number < run.last_step:
            run.begin_step()
            self._context.step = run.number
            result = await self.step(run, emit)
            match result:
                case FinalAnswer(text):
                    return "done", with_sources(self._cleaned(text), run.steps)
                case Declined(explanation):
                    return "no_answer", explanation
                case Unanswered(why):
                    return "no_answer", after_no_answer(self._cleaned(why))
                case PlanFailed(failure):
                    return "no_answer", after_failed_step(run.steps, failure)
                case FurtherProcessing(text):
                    await self._observe(run, text, emit)
                case AskedBack(question):
                    if run.questions and not self._may_ask(run):
                        return self._after_questions(question)
                    await self._ask_back(run, question, emit)
                case _:
                    assert_never(result)
        return "no_answer", after_last_step(run.steps, run.last_step)

    def _cleaned(self, answer: str) -> str:
        """The answer without borders that a model has copied, or what a viewer would load."""
        if self._own_borders is not None:
            answer = self._own_borders.without(answer)
        return answer if self._guard is None else self._guard.without_unknown_images(answer)

    async def step(self, run: Run, emit: Emit) -> ActionResult | Declined:
        """Perceive once, then plan and act until a plan works or no lifeline is left.

        A planner that declines is asked again if there are more tools by then. A plan that failed
        over text which a tool gave it costs no lifeline: the next step reads the text.
        """
        perception = await self._perceive(run, emit)
        while True:
            tried = await self._plan_and_act(run, perception, emit)
            if isinstance(tried, Declined):
                # A plan that failed did not want for tools.
                if not run.failed and await self._context.dispatcher.learn_more():
                    continue
                return tried
            if not isinstance(tried.result, PlanFailed):
                return tried.result
            if (reading := await self._text_to_read(run, tried.result, emit)) is not None:
                return reading
            if run.lifelines == 0 or _says_the_same(run, tried):
                return tried.result
            await self._expect_another_plan(run, tried.plan, tried.result, emit)

    async def _plan_and_act(
        self, run: Run, perception: PerceptionResult, emit: Emit
    ) -> Step | Declined:
        """Ask for one plan, and run it; what came of it is kept and told."""
        started = self._clock()
        repairs: tuple[str, ...] = ()
        decision = await self._decide(run, perception)
        match decision.reply:
            case Declined() as declined:
                return declined
            case NoPlan(text) as reply:
                plan, result = Plan(text), await self._without_plan(run, reply, emit)
                if isinstance(result, Declined):
                    return result
            case Plan() as plan:
                await self._tell_plan(run, plan, decision.prompt_path, emit)
                result, repairs = await self._act(run, plan, decision.tools, emit)
            case _:
                assert_never(decision.reply)
        if isinstance(result, FurtherProcessing):
            is_from_memory, shown = MEMORY in plan.source, run.observation or ""
            result = judge_text_to_read(
                result,
                run.read,
                self._borders,
                errors=self._errors(run, result),
                may_be_kept=is_from_memory,
                shown=shown,
                is_given=any(name in plan.source for name in self._context.readable),
            )
        elif isinstance(result, FinalAnswer):
            text = text_behind_answer(plan, result, self._context.dispatcher.catalog)
            if text is not None and text not in run.read and run.number < run.last_step:
                await emit(Notice("loop", ANSWERED_UNREAD))
                result = FurtherProcessing(text, result.calls, result.found)
        before = chain.from_iterable(step.result.calls for step in run.steps)
        result = self._calls.heeding_no(result, before)
        seconds = self._clock() - started
        tried = Step(run.number, run.attempt, perception, plan, result, seconds, repairs)
        run.steps.append(tried)
        await emit(StepFinished(tried))
        # A plan that made do without the call has its answer; no other would get further.
        if self._calls.spent is not None and not isinstance(result, FinalAnswer):
            raise self._calls.spent
        return tried

    def _errors(self, run: Run, result: ActionResult) -> list[str]:
        """Why calls of this run have failed, those of its newest plan too."""
        return [str(call.result) for call in self._calls_of(run, result) if not call.ok]

    def _calls_of(self, run: Run, result: ActionResult) -> Iterator[ToolCall]:
        return chain(*(step.result.calls for step in run.steps), result.calls)

    async def _without_plan(
        self, run: Run, reply: NoPlan, emit: Emit
    ) -> PlanFailed | FinalAnswer | Declined:
        """What a reply without a plan comes to: the second one in words is the answer."""
        if reply.answer is None or not run.has_words:
            run.has_words = run.has_words or reply.answer is not None
            if reply.failure.advice:
                told = f"{reply.failure.for_person}; {reply.failure.advice}"
                await emit(Notice("loop", told))
            return PlanFailed(reply.failure)
        if reply.declines:
            return Declined(f"The model declined: {reply.answer}")
        return FinalAnswer(reply.answer)

    async def _tell_plan(self, run: Run, plan: Plan, prompt_path: str, emit: Emit) -> None:
        await self._tell_retry(run, emit)
        if self._guard is not None:
            self._guard.known.plan_written(plan.source)
        await emit(PlanWritten(run.number, run.attempt, plan, prompt_path))

    async def _text_to_read(
        self, run: Run, failed: PlanFailed, emit: Emit
    ) -> FurtherProcessing | None:
        """Text that a plan got and failed over, if another step can read it."""
        text = unread_text(failed) if run.number < run.last_step else None
        if text is None or text in run.read:
            return None
        earlier = (call for attempt in run.failed for call in attempt.calls)
        run.done = calls_told([*earlier, *failed.calls[:-1]], self._borders)
        why = shorten(" ".join(str(failed.failure).split()), NOTICE_CHARACTERS)
        await emit(Notice("loop", f"the plan failed over text that it got: {why}"))
        return FurtherProcessing(text, failed.calls, failed.found)

    async def _expect_another_plan(
        self, run: Run, plan: Plan, failed: PlanFailed, emit: Emit
    ) -> None:
        """Spend a lifeline, and tell of it; a deterministic planner has to have a plan first."""
        run.lifelines -= 1
        run.retrying = Retrying(run.number, run.attempt, failed.failure, run.lifelines)
        run.failed.append(Attempt(plan, failed.failure, failed.calls, self._calls.kept))
        if not self._context.model.traits.deterministic:
            await self._tell_retry(run, emit)

    async def _tell_retry(self, run: Run, emit: Emit) -> None:
        """Tell of the plan that takes a failed one's place, once."""
        retrying, run.retrying = run.retrying, None
        if retrying is not None:
            await emit(retrying)

    async def _observe(self, run: Run, text: str, emit: Emit) -> None:
        """Make a step's text the next step's input, shortened to what a prompt has room for."""
        context = self._context
        run.read.append(text)
        run.memory.keep_text(text)
        room = observation_room(context.model.traits.context_tokens)
        if len(text) > room and context.parts.condense is not None:
            text = await context.parts.condense(run.request, text, room)
        run.observation = shorten(text, room)
        done, run.done = run.done, ""
        context.user_input_override = self._next_input(run, run.observation, done)
        await emit(Observed(run.number, run.observation))

    def _next_input(self, run: Run, observation: str, done: str = "") -> str:
        """The request with what the last step found, and where a plan has the whole of that."""
        whole = item(TEXT) if observation != run.read[-1] else ""
        return next_input(run.request, observation, done, self._borders, whole)

    async def _ask_back(self, run: Run, question: str, emit: Emit) -> None:
        """Put a plan's question to the user; the steps that follow have the answer.

        A question takes none of the run's steps.
        """
        context, question = self._context, shorten(question, QUESTION_CHARACTERS)
        ask = context.parts.ask_user if self._may_ask(run) else None
        run.last_step += 1
        run.questions += 1
        answer = await ask(question) if ask is not None else None
        run.is_unanswered = answer is None
        run.request = clarified_input(run.request, question, answer)
        context.user_input_override = (
            run.request if run.observation is None else self._next_input(run, run.observation)
        )
        if answer is not None and self._guard is not None:
            self._guard.user_said(answer)
        await emit(Clarified(run.number, question, answer))

    async def _perceive(self, run: Run, emit: Emit) -> PerceptionResult:
        context = self._context
        with self._timing(run, "perception"):
            perception = await context.parts.perceive(context, context.current_input)
        note_intent(perception.intent)
        await emit(Perceived(run.number, perception))
        return perception

    async def _decide(self, run: Run, perception: PerceptionResult) -> Decision:
        """Ask for one plan with everything that is known so far."""
        context, strategy = self._context, self._context.agent_profile.strategy
        reads_text = context.model.traits.reads_text
        inputs = DecisionInputs(
            user_input=context.current_input,
            tools=context.dispatcher.catalog,
            perception=perception,
            history=context.history,
            failed=tuple(run.failed),
            observation=run.observation,
            plan_style=strategy.plan_style,
            planning_mode=strategy.planning_mode,
            exploration_mode=strategy.exploration_mode,
            max_tool_calls=context.agent_profile.sandbox.tool_calls,
            step=run.number,
            max_steps=run.last_step,
            images=context.images,
            texts=context.texts,
            last_try=bool(run.failed) and run.lifelines == 0,
            may_ask=self._may_ask(run),
            borders=self._borders,
            down=self._down(),
            memory=run.memory.described(self._borders) if reads_text else "",
        )
        situation = Situation(
            inputs,
            memory_items=context.memory.get_session_items(),
            basic_tools=context.basic_tools,
            describe=context.parts.describe_tool if reads_text else None,
            force_replan=bool(run.failed),
            found_tools=tuple(run.found_tools),
            request=context.user_input,
            tool_prompt_tokens=strategy.tool_prompt_tokens,
        )
        with self._timing(run, "decision"):
            situation = replace(situation, tool_records=await self._tool_records(run))
            return await decide(strategy, situation, context.parts.generate_plan)

    async def _tool_records(self, run: Run) -> Mapping[str, ToolRecord]:
        """How tools did over sessions; looked up when a plan has failed, for who reads of it."""
        context = self._context
        recall = context.parts.recall_tools
        is_wanted = context.agent_profile.strategy.memory_fallback_enabled and run.failed
        if run.tool_records is None and is_wanted and context.model.traits.reads_text and recall:
            run.tool_records = await recall()
        return run.tool_records or {}

    def _down(self) -> dict[str, str]:
        """Servers that were tried in vain, with nothing known of their tools."""
        dispatcher = self._context.dispatcher
        known = {tool.server for tool in dispatcher.catalog}
        return {
            server.id: (server.problem or "it failed").partition(";")[0]
            for server in dispatcher.status()
            if server.state == "failed" and server.id not in known
        }

    @property
    def _borders(self) -> Borders | None:
        """What goes around text of tools; nothing while all there is can be trusted."""
        if self._guard is None or not self._guard.known.is_tainted:
            return None
        self._own_borders = self._own_borders or Borders()
        return self._own_borders

    def _may_ask(self, run: Run) -> bool:
        """Whether a plan may ask back: the profile allows it, and somebody is there who answers."""
        asks = self._context.parts.ask_user is not None and not run.is_unanswered
        is_allowed = self._context.agent_profile.strategy.clarify
        return asks and is_allowed and run.questions < QUESTIONS_MAX

    def _after_questions(self, question: str) -> tuple[RunStatus, str]:
        """The end of a run whose model asks once more than it may, or where nobody answers.

        Whoever has answered before reads the question as the answer, and may go on from it.
        """
        question = shorten(question, QUESTION_CHARACTERS)
        if self._context.parts.ask_user is None:
            return "no_answer", after_unanswerable(question)
        return "done", question

    async def _act(
        self, run: Run, plan: Plan, tools: ToolCatalog, emit: Emit
    ) -> tuple[ActionResult, tuple[str, ...]]:
        """Run the plan, unless the same one failed before; what was repaired in it comes along."""
        if any(plan.is_same_as(earlier.plan) for earlier in run.failed):
            return PlanFailed(_REPEATED_PLAN), ()
        context = self._context
        made: list[str] = []

        async def call(tool: ToolSpec, arguments: JsonObject) -> ToolResult:
            return await self._calls.send(tool, arguments, emit)

        async def repaired(repairs: tuple[str, ...]) -> None:
            made.extend(repairs)
            await emit(PlanRepaired(run.number, run.attempt, repairs))

        with self._timing(run, "action"):
            context.log_subtask(SANDBOX_STEP)
            result = await context.parts.run_plan(plan, tools, call, repaired, run.memory)
            result = replace(result, calls=self._calls.marked(result.calls))
            if (read_calls := context.parts.read_calls) is not None:
                await self._calls.foresee(partial(read_calls, plan.source, tools))
            if has_failed := isinstance(result, PlanFailed):
                self._calls.plan_failed(result.calls)
            else:
                self._calls.plan_worked()
            run.found_tools |= dict.fromkeys(result.found)
            context.update_subtask_status(SANDBOX_STEP, "failure" if has_failed else "success")
        return result, tuple(made)

    @contextlib.contextmanager
    def _timing(self, run: Run, phase: str) -> Generator[None]:
        """Add the time inside to that of a phase."""
        started = self._clock()
        try:
            yield
        finally:
            run.seconds[phase] += self._clock() - started


def _says_the_same(run: Run, tried: Step) -> bool:
    """Whether a reply without a plan is one that came before in this step, word for word."""
    if not (isinstance(tried.result, PlanFailed) and tried.result.failure.kind in WITHOUT_PLAN):
        return False
    return any(tried.plan.source.strip() == one.plan.source.strip() for one in run.failed)

"""The loop: steps, lifelines, verdicts, retries, and the events that tell of them."""

import asyncio
import contextlib

import pytest

from config.schema import StrategyProfile
from core.context import AgentContext
from core.errors import CallRefused, ExitCode, ModelUnavailable, ServerLost, ToolTimeout
from core.events import (
    Answered,
    Event,
    Notice,
    Observed,
    PlanRepaired,
    PlanWritten,
    Retrying,
    RunFinished,
    RunStarted,
    StepFinished,
    ToolCallFinished,
    ToolCallStarted,
    collect,
)
from core.loop import AgentLoop
from core.mcp.hooks import OnProgress
from core.ports import CallTool
from core.tools.catalog import ToolCatalog
from core.tools.content import ToolResult
from core.tools.spec import ToolSpec
from core.turn import (
    ActionResult,
    Declined,
    Exchange,
    FinalAnswer,
    FurtherProcessing,
    NoPlan,
    Plan,
    PlanFailed,
    PlanFailure,
    RunOutcome,
    ToolCall,
    Usage,
)
from core.values import JsonObject
from tests.doubles import (
    FakeDispatcher,
    FakeModel,
    FakeParts,
    context,
    planned,
    reading,
    text_result,
    tool,
    value_result,
)

BROKEN = PlanFailed(PlanFailure("error", "NameError: x", 2, "return x"))


async def run(agent_context: AgentContext) -> tuple[RunOutcome, list[Event]]:
    seen: list[Event] = []

    async def listen(event: Event) -> None:
        seen.append(event)

    async with asyncio.timeout(5):
        return await collect(AgentLoop(agent_context).run(), listen), seen


def kinds(events: list[Event]) -> list[type[Event]]:
    return [type(event) for event in events]


async def test_a_plan_that_answers_ends_the_run_in_one_step() -> None:
    fakes = planned(p1=FinalAnswer("42"))
    ctx = context(fakes)
    outcome, events = await run(ctx)
    assert (outcome.status, outcome.answer, outcome.exit_code) == ("done", "42", ExitCode.ANSWERED)
    assert outcome.as_dict() == {"status": "done", "result": "FINAL_ANSWER: 42"}
    assert ctx.final_answer == "FINAL_ANSWER: 42"
    assert kinds(events)[0] is RunStarted
    assert kinds(events)[-3:] == [StepFinished, Answered, RunFinished]
    assert [(t.tool, t.status) for t in ctx.task_progress] == [("solve_sandbox", "success")]


async def test_an_observation_becomes_the_next_steps_input() -> None:
    fakes = planned(p1=reading("the page says 7"), p2=FinalAnswer("seven"))
    outcome, events = await run(context(fakes, request="what does the page say?"))
    assert outcome.answer == "seven"
    assert [step.number for step in outcome.steps] == [1, 2]
    assert fakes.inputs[1].observation == "the page says 7"
    assert "what does the page say?" in fakes.inputs[1].user_input
    assert "the page says 7" in fakes.inputs[1].user_input
    assert fakes.perceived[1] == fakes.inputs[1].user_input
    assert any(isinstance(event, Observed) for event in events)


async def test_a_huge_observation_is_shortened_and_says_so() -> None:
    fakes = planned(p1=reading("x" * 1_000_000), p2=FinalAnswer("ok"))
    await run(context(fakes))
    observation = fakes.inputs[1].observation
    assert observation is not None
    assert len(observation) < 21_000
    assert "980000 more characters" in observation


async def test_a_failed_plan_is_asked_for_again_with_its_failure() -> None:
    done = ToolCall("math.add", {"input": {"a": 1}}, True, 3, 0.01)
    failed = PlanFailed(BROKEN.failure, (done,))
    fakes = planned(p1=failed, p2=FinalAnswer("ok"))
    outcome, events = await run(context(fakes))
    assert outcome.answer == "ok"
    (attempt,) = fakes.inputs[1].failed
    assert (attempt.plan, attempt.failure, attempt.calls) == (Plan("p1"), BROKEN.failure, (done,))
    (retry,) = [event for event in events if isinstance(event, Retrying)]
    assert (retry.attempt, retry.lifelines_left) == (1, 2)
    assert len(fakes.perceived) == 1, "a retry does not perceive again"


async def test_lifelines_bound_the_retries_of_a_step() -> None:
    strategy = StrategyProfile(max_lifelines_per_step=2)
    plans = [Plan("p1"), Plan("p2"), Plan("p3")]
    fakes = FakeParts([*plans], {p.source: [BROKEN] for p in plans})
    outcome, _ = await run(context(fakes, strategy=strategy))
    assert fakes.ran == ["p1", "p2", "p3"]
    assert (outcome.status, outcome.exit_code) == ("no_answer", ExitCode.NO_ANSWER)
    assert outcome.answer is None
    assert "NameError: x (line 2: return x)" in outcome.message


async def test_no_lifelines_means_one_plan() -> None:
    fakes = planned(p1=BROKEN)
    outcome, events = await run(context(fakes, strategy=StrategyProfile(max_lifelines_per_step=0)))
    assert outcome.status == "no_answer"
    assert Retrying not in kinds(events)


async def test_steps_bound_the_run_and_the_partial_result_is_told() -> None:
    call = ToolCall("math.add", {}, True, 12, 0.01)
    fakes = planned(p1=FurtherProcessing("a", (call,)), p2=FurtherProcessing("b", (call,)))
    outcome, _ = await run(context(fakes, strategy=StrategyProfile(max_steps=2)))
    assert outcome.status == "no_answer"
    assert "2 steps" in outcome.message
    assert "math.add gave 12" in outcome.message


async def test_repairs_are_told_with_the_plan_they_belong_to_before_it_runs() -> None:
    fakes = planned(p1=BROKEN, p2=FinalAnswer("ok"))
    fakes.repairs["p2"] = ("added await to tools.add (line 3)",)
    outcome, events = await run(context(fakes))
    place = events.index(PlanRepaired(1, 2, outcome.steps[1].repairs))
    assert [kinds(events)[place - 1], kinds(events)[place + 1]] == [PlanWritten, StepFinished]


async def test_the_same_plan_is_not_run_twice() -> None:
    fakes = FakeParts(
        [Plan("p1"), Plan("p1\n"), Plan("p2")], {"p1": [BROKEN], "p2": [FinalAnswer("ok")]}
    )
    outcome, _ = await run(context(fakes))
    assert fakes.ran == ["p1", "p2"]
    assert fakes.inputs[2].failed[1].failure.kind == "repeated"
    assert outcome.answer == "ok"


async def test_of_a_plan_that_is_not_run_again_its_own_failure_is_told() -> None:
    other = PlanFailed(PlanFailure("error", "KeyError: y"))
    fakes = FakeParts([Plan("p1"), Plan("p2"), Plan("p1\n")], {"p1": [BROKEN], "p2": [other]})
    outcome, _ = await run(context(fakes, strategy=StrategyProfile(max_lifelines_per_step=2)))
    assert fakes.ran == ["p1", "p2"]
    assert outcome.message == (
        f"No answer: 3 plans for step 1 failed, the last so: {BROKEN.failure}."
    )


async def test_a_reply_without_a_plan_costs_a_lifeline() -> None:
    none = NoPlan("I think 4", PlanFailure("no_plan", "the reply held no solve()"))
    fakes = FakeParts([none, Plan("p1")], {"p1": [FinalAnswer("4")]})
    outcome, events = await run(context(fakes))
    assert outcome.answer == "4"
    assert fakes.inputs[1].failed[0].plan.source == "I think 4"
    assert kinds(events).count(PlanWritten) == 1


async def test_never_a_plan_gives_the_missions_own_answer() -> None:
    none = NoPlan("?", PlanFailure("no_plan", "no solve()"))
    fakes = FakeParts([none, none, none, none], {})
    outcome, _ = await run(context(fakes))
    assert outcome.result == "FINAL_ANSWER: [Could not generate valid solve()]"
    assert outcome.message == (
        "Could not generate valid solve(): the model was asked 2 times and wrote no plan.\n"
        "The model's last reply without a plan:\n?"
    )
    assert len(fakes.inputs) == 2, "the same reply twice ends the tries"


async def test_a_person_is_told_what_a_reply_without_words_was_and_not_what_to_write() -> None:
    failure = PlanFailure("no_plan", "it only thought; write solve()", said="it only thought")
    fakes = FakeParts([NoPlan("", failure)] * 4, {})
    outcome, _ = await run(context(fakes))
    assert outcome.message == (
        "Could not generate valid solve(): the model was asked 2 times and wrote no plan; "
        "it only thought."
    )


PROSE = PlanFailure("no_plan", "no plan; or say the same again if no tool is needed")


def words(text: str, *, declines: bool = False) -> NoPlan:
    return NoPlan(text, PROSE, text, declines)


async def test_an_answer_in_words_is_asked_about_once_and_then_is_the_answer() -> None:
    fakes = FakeParts([words("It is Paris."), words("Paris is the capital.")], {})
    outcome, _ = await run(context(fakes))
    assert (outcome.answer, outcome.exit_code) == ("Paris is the capital.", 0)
    assert outcome.grounded is False
    assert len(fakes.inputs) == 2


async def test_an_answer_in_words_after_a_call_rests_on_it() -> None:
    fakes = FakeParts([Plan("p1"), words("12"), words("12")], {"p1": [reading("12")]})
    outcome, _ = await run(context(fakes))
    assert (outcome.answer, outcome.grounded) == ("12", True)


async def test_a_plan_after_an_answer_in_words_counts_more() -> None:
    fakes = FakeParts([words("I think 4"), Plan("p1")], {"p1": [FinalAnswer("5")]})
    outcome, _ = await run(context(fakes))
    assert outcome.answer == "5"


async def test_a_refusal_in_words_is_told_as_one() -> None:
    refusal = words("I can't help with that.", declines=True)
    outcome, _ = await run(context(FakeParts([refusal, refusal], {})))
    assert (outcome.status, outcome.exit_code) == ("no_answer", 3)
    assert outcome.message == "The model declined: I can't help with that."


async def test_a_run_without_an_answer_quotes_the_reply_in_words_that_it_had() -> None:
    fakes = FakeParts([words("It is 4."), *map(Plan, "abc")], {name: [BROKEN] for name in "abc"})
    outcome, _ = await run(context(fakes))
    assert outcome.message.startswith("No answer: 4 plans for step 1 failed")
    assert outcome.message.endswith("The model's last reply without a plan:\nIt is 4.")


async def test_who_asked_hears_which_limit_has_cut_a_reply() -> None:
    cut = PlanFailure("cut", "cut off at 9 tokens", advice="raise max_output_tokens")
    fakes = FakeParts([NoPlan("async def", cut), NoPlan("async def", cut)], {})
    outcome, events = await run(context(fakes))
    assert Notice("loop", "cut off at 9 tokens; raise max_output_tokens") in events
    assert "cut off at 9 tokens (raise max_output_tokens)." in outcome.message
    assert len(fakes.inputs) == 2


async def test_a_model_that_declines_ends_the_run_with_its_reason() -> None:
    outcome, _ = await run(context(FakeParts([Declined("can't plan poems")], {})))
    assert (outcome.status, outcome.answer) == ("no_answer", None)
    assert outcome.message == "can't plan poems"


class LearningDispatcher(FakeDispatcher):
    """One more server is learned of when it is asked for."""

    async def learn_more(self) -> bool:
        is_first = not len(self.catalog)
        self.catalog = ToolCatalog([tool("late")])
        return is_first


async def test_a_model_that_declines_is_asked_once_more_with_tools_not_waited_for() -> None:
    fakes = FakeParts([Declined("no tool"), Declined("no poems")], {})
    outcome, _ = await run(context(fakes, dispatcher=LearningDispatcher([], {})))
    assert outcome.message == "no poems"
    assert [[one.name for one in inputs.tools] for inputs in fakes.inputs] == [[], ["late"]]


async def test_an_outage_fails_the_run_and_is_told() -> None:
    fakes = FakeParts([ModelUnavailable("no route to the model")], {})
    outcome, events = await run(context(fakes))
    assert (outcome.status, outcome.exit_code) == ("failed", ExitCode.WORLD_FAILED)
    assert outcome.message == "no route to the model"
    assert kinds(events)[-1] is RunFinished


async def test_a_bug_is_not_swallowed() -> None:
    with pytest.raises(ZeroDivisionError):
        await run(context(FakeParts([ZeroDivisionError()], {})))


async def test_tool_calls_are_told_before_and_after() -> None:
    add = tool("add", a="integer", b="integer")

    async def calls(tools: ToolCatalog, call: CallTool) -> ActionResult:
        result = await call(tools.resolve("add"), {"input": {"a": 1, "b": 2}})
        return FinalAnswer(str(result.value))

    dispatcher = FakeDispatcher([add], {"math.add": value_result(3)})
    fakes = planned(p1=calls)
    ctx = context(fakes, dispatcher=dispatcher)
    outcome, events = await run(ctx)
    assert outcome.answer == "3"
    started, finished = (
        next(e for e in events if isinstance(e, ToolCallStarted)),
        next(e for e in events if isinstance(e, ToolCallFinished)),
    )
    assert started.call_id == finished.call_id
    assert finished.call.result == 3
    assert ("math.add", "success") in [(t.tool, t.status) for t in ctx.task_progress]


async def call_thrice(answer: ToolResult | Exception) -> int:
    """Make the same call three times in one plan; how often was it sent?"""
    add = tool("add", a="integer")

    async def calls(tools: ToolCatalog, call: CallTool) -> ActionResult:
        for _ in range(3):
            with contextlib.suppress(CallRefused, ToolTimeout, ServerLost):
                await call(tools.resolve("add"), {"input": {"a": 1}})
        return FinalAnswer("tried")

    dispatcher = FakeDispatcher([add], {"math.add": answer})
    await run(context(planned(p=calls), dispatcher=dispatcher))
    return len(dispatcher.calls)


async def test_a_call_that_failed_is_not_sent_again() -> None:
    assert await call_thrice(text_result("division by zero", is_error=True)) == 1
    assert await call_thrice(ToolTimeout("math", "no answer within 60 s")) == 1


async def test_a_call_is_sent_again_if_it_worked_or_if_its_server_died() -> None:
    assert await call_thrice(value_result(3)) == 3
    assert await call_thrice(ServerLost("math", "math died")) == 3


async def test_interrupting_ends_the_run_as_interrupted() -> None:
    reached = asyncio.Event()

    async def hangs(tools: ToolCatalog, call: CallTool) -> ActionResult:
        reached.set()
        await asyncio.Event().wait()
        raise AssertionError

    loop = AgentLoop(context(planned(p=hangs)))
    async with asyncio.timeout(5):
        task = asyncio.create_task(collect(loop.run()))
        await reached.wait()
        loop.interrupt()
        loop.interrupt()
        outcome = await task
    assert (outcome.status, outcome.exit_code) == ("interrupted", ExitCode.INTERRUPTED)


async def test_interrupting_works_from_before_the_first_event_to_the_last() -> None:
    """Ctrl-C may come while the start of the run is still being written to memory."""
    for moment in (None, RunStarted, PlanWritten, StepFinished):
        loop = AgentLoop(context(planned(p=FinalAnswer("x"))))
        if moment is None:
            loop.interrupt()

        async def listen(
            event: Event, moment: type[Event] | None = moment, loop: AgentLoop = loop
        ) -> None:
            if type(event) is moment:
                loop.interrupt()

        async with asyncio.timeout(5):
            outcome = await collect(loop.run(), listen)
        assert outcome.status == "interrupted", moment


async def test_waiting_for_a_server_is_not_counted_as_the_calls_time() -> None:
    now = [0.0]

    class SlowToStart(FakeDispatcher):
        async def prepare(self, tool: ToolSpec) -> None:
            now[0] += 100

        async def send(
            self, tool: ToolSpec, arguments: JsonObject, on_progress: OnProgress | None = None
        ) -> ToolResult:
            now[0] += 1
            return await super().send(tool, arguments)

    async def calls(tools: ToolCatalog, call: CallTool) -> ActionResult:
        await call(tools.resolve("add"), {"input": {"a": 1}})
        return FinalAnswer("x")

    add = tool("add", a="integer")
    dispatcher = SlowToStart([add], {"math.add": value_result(1)})
    loop = AgentLoop(context(planned(p=calls), dispatcher=dispatcher), lambda: now[0])
    seen: list[float] = []

    async def listen(event: Event) -> None:
        if isinstance(event, ToolCallFinished):
            seen.append(event.call.seconds)

    await collect(loop.run(), listen)
    assert seen == [1.0]


async def test_closing_the_stream_early_cancels_the_work() -> None:
    cancelled = asyncio.Event()
    add = tool("add", a="integer")

    async def calls(tools: ToolCatalog, call: CallTool) -> ActionResult:
        try:
            await call(tools.resolve("add"), {"input": {"a": 1}})
        finally:
            cancelled.set()
        raise AssertionError

    dispatcher = FakeDispatcher([add], {"math.add": value_result(1)})
    fakes = planned(p=calls)
    async with asyncio.timeout(5):
        async with contextlib.aclosing(
            AgentLoop(context(fakes, dispatcher=dispatcher)).run()
        ) as events:
            async for event in events:
                if isinstance(event, ToolCallStarted):
                    break
        assert cancelled.is_set()
    assert dispatcher.calls == []


async def test_the_work_waits_until_the_listener_has_dealt_with_an_event() -> None:
    order: list[str] = []

    async def calls(tools: ToolCatalog, call: CallTool) -> ActionResult:
        order.append("plan runs")
        return FinalAnswer("x")

    async def listen(event: Event) -> None:
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        if isinstance(event, PlanWritten):
            order.append("plan is on disk")

    fakes = planned(p=calls)
    await collect(AgentLoop(context(fakes)).run(), listen)
    assert order == ["plan is on disk", "plan runs"]


async def test_usage_is_that_of_this_run_alone() -> None:
    model = FakeModel(usage=Usage(5, 100, 10))

    async def calls(tools: ToolCatalog, call: CallTool) -> ActionResult:
        model.usage = Usage(7, 130, 14)
        return FinalAnswer("x")

    fakes = planned(p=calls)
    outcome, _ = await run(context(fakes, model=model))
    assert outcome.usage == Usage(2, 30, 4)


async def test_history_and_limits_reach_the_planner() -> None:
    fakes = planned(p=FinalAnswer("x"))
    history = (Exchange("add 1 and 2", "3"),)
    await run(context(fakes, history=history))
    assert fakes.inputs[0].history == history
    assert fakes.inputs[0].max_tool_calls == 5


async def test_what_a_plan_has_found_is_offered_to_the_next() -> None:
    """With a budget for a few of many tools; the request's words fit none of them."""
    many = [tool(f"tool{n}", description="does something " * 9) for n in range(60)]
    found = ("math.tool57", "math.tool41")
    fakes = planned(
        p1=PlanFailed(BROKEN.failure, (), found[:1]),
        p2=FurtherProcessing("more", (), found[1:]),
        p3=FinalAnswer("x", ()),
    )
    strategy = StrategyProfile(tool_prompt_tokens=300)
    await run(context(fakes, strategy=strategy, dispatcher=FakeDispatcher(many, {})))
    offered = [[spec.qualified_name for spec in inputs.tools] for inputs in fakes.inputs]
    assert all(len(names) < 10 for names in offered)
    assert found[0] not in offered[0]
    assert offered[1][0] == found[0]
    assert tuple(offered[2][:2]) == found

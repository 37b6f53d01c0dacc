"""Results that a failed plan leaves for its retries: which, in what order, and for how long."""

import asyncio
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from core.errors import CallRefused
from core.events import Event, ToolCallFinished, ToolCallKept, ToolCallStarted, collect
from core.loop import AgentLoop
from core.mcp.hooks import OnProgress
from core.ports import CallTool
from core.run.kept_results import (
    UNWEIGHED_RESULT_BYTES,
    VALUES_WEIGHED_MAX,
    KeptResults,
    call_key,
    weight_bytes,
)
from core.tools.catalog import ToolCatalog
from core.tools.content import AudioBlock, LinkBlock, ResourceBlock, TextBlock, ToolResult
from core.tools.spec import ToolSpec
from core.turn import (
    ActionResult,
    FinalAnswer,
    FurtherProcessing,
    Plan,
    PlanFailed,
    PlanFailure,
    RunOutcome,
    ToolCall,
)
from core.values import Json, JsonObject
from tests.doubles import (
    FakeDispatcher,
    FakeParts,
    Runner,
    context,
    planned,
    text_result,
    tool,
    value_result,
)

LOOK = replace(tool("look", a="integer"), read_only=True)
ASSIGN = replace(tool("assign", a="integer"), idempotent=True)
WRITE = tool("write", a="integer")
ERROR = PlanFailure("error", "ZeroDivisionError", 2, "1 / 0")

Calls = Sequence[tuple[str, Json]]
"""What one plan calls: names of tools and the value of their one argument."""


class Counting(FakeDispatcher):
    """A dispatcher whose tools answer with how many calls were sent so far."""

    def __init__(self, tools: Sequence[ToolSpec] = (LOOK, ASSIGN, WRITE)) -> None:
        super().__init__(tools, {})

    async def send(
        self, tool: ToolSpec, arguments: JsonObject, on_progress: OnProgress | None = None
    ) -> ToolResult:
        self.calls.append((tool.qualified_name, arguments))
        return value_result(len(self.calls))


class Run:
    """A run whose plans make the given calls; all but those of `ends` fail after them."""

    def __init__(
        self,
        *plans: Calls,
        dispatcher: FakeDispatcher | None = None,
        ends: dict[int, ActionResult] | None = None,
    ) -> None:
        self.plans = plans
        self.dispatcher = dispatcher or Counting()
        self.ends = {len(plans) - 1: FinalAnswer("x")} | (ends or {})
        self.got: list[list[Json]] = [[] for _ in plans]
        self.events: list[Event] = []
        self.fakes = FakeParts(
            [Plan(str(number)) for number in range(len(plans))],
            {str(number): [self.plan(number)] for number in range(len(plans))},
        )

    def plan(self, number: int) -> Runner:
        async def runs(tools: ToolCatalog, call: CallTool) -> ActionResult:
            records: list[ToolCall] = []
            for name, value in self.plans[number]:
                arguments: JsonObject = {"input": {"a": value}}
                try:
                    result = await call(tools.resolve(name), arguments)
                except CallRefused as refused:
                    self.got[number].append(str(refused))
                    continue
                self.got[number].append(result.value)
                full_name = tools.resolve(name).qualified_name
                records.append(
                    ToolCall(full_name, arguments, not result.is_error, result.value, 0.5)
                )
            return replace(self.ends.get(number, PlanFailed(ERROR)), calls=tuple(records))

        return runs

    async def outcome(self) -> RunOutcome:
        async with asyncio.timeout(5):
            loop = AgentLoop(context(self.fakes, dispatcher=self.dispatcher))
            return await collect(loop.run(), self._listen)

    async def _listen(self, event: Event) -> None:
        self.events.append(event)


async def got(*plans: Calls, dispatcher: FakeDispatcher | None = None) -> list[list[Json]]:
    """What each plan's calls gave; each failed but the last."""
    run = Run(*plans, dispatcher=dispatcher)
    await run.outcome()
    return run.got


@pytest.mark.parametrize(("name", "sent"), [("look", 1), ("assign", 1), ("write", 2)])
async def test_a_retry_repeats_a_harmless_call_without_sending_it_and_no_other(
    name: str, sent: int
) -> None:
    run = Run([(name, 1)], [(name, 1)])
    await run.outcome()
    assert len(run.dispatcher.calls) == sent
    assert run.got == [[1], [sent]]


async def test_a_kept_call_is_told_as_such_and_marked_in_the_plans_record() -> None:
    run = Run([("look", 1)], [("look", 1), ("look", 2)])
    outcome = await run.outcome()
    (kept,) = [event.call for event in run.events if isinstance(event, ToolCallKept)]
    (first, _) = [event.call for event in run.events if isinstance(event, ToolCallFinished)]
    assert kept == replace(first, kept=True)
    assert sum(isinstance(event, ToolCallStarted) for event in run.events) == 2
    recorded = [[(call.kept, call.seconds) for call in step.result.calls] for step in outcome.steps]
    assert recorded == [[(False, 0.5)], [(True, first.seconds), (False, 0.5)]]


async def test_only_calls_that_are_sent_count_in_a_budget() -> None:
    run, paid = Run([("look", 1)], [("look", 1), ("look", 2)]), 0

    async def spend_call() -> None:
        nonlocal paid
        paid += 1

    run.fakes.spend_call = spend_call
    await run.outcome()
    assert paid == len(run.dispatcher.calls) == 2


async def test_the_retry_is_told_what_it_may_repeat_at_no_cost() -> None:
    run = Run([("write", 1), ("look", 1)], [("assign", 2)], [("look", 1)])
    await run.outcome()
    told = [[call.tool for call in inputs.failed[-1].kept] for inputs in run.fakes.inputs[1:]]
    assert told == [["math.look"], ["math.assign"]]


async def test_polls_are_answered_in_their_order_and_one_more_is_sent() -> None:
    poll = ("look", 1)
    assert await got([poll] * 2, [poll] * 3, [poll] * 3) == [[1, 2], [1, 2, 3], [1, 2, 3]]


async def test_what_a_retry_did_not_ask_for_is_still_there_for_the_next() -> None:
    poll = ("look", 1)
    assert await got([poll] * 2, [], [poll], [poll] * 3) == [[1, 2], [], [1], [1, 2, 3]]


async def test_polling_within_one_plan_is_never_cheated() -> None:
    assert await got([("look", 1)] * 3) == [[1, 2, 3]]


async def test_identical_calls_at_once_keep_their_places_however_they_end() -> None:
    both = asyncio.Event()

    class Reversing(Counting):
        async def send(
            self, tool: ToolSpec, arguments: JsonObject, on_progress: OnProgress | None = None
        ) -> ToolResult:
            result = await super().send(tool, arguments)
            if len(self.calls) == 1:
                await both.wait()
            both.set()
            return result

    async def at_once(tools: ToolCatalog, call: CallTool) -> ActionResult:
        look = tools.resolve("look")
        results = await asyncio.gather(*(call(look, {"a": 1}) for _ in range(2)))
        text = str([result.value for result in results])
        return PlanFailed(PlanFailure("error", text)) if len(fakes.ran) == 1 else FinalAnswer(text)

    dispatcher = Reversing()
    fakes = planned(p1=at_once, p2=at_once)
    async with asyncio.timeout(5):
        outcome = await collect(AgentLoop(context(fakes, dispatcher=dispatcher)).run())
    assert fakes.inputs[1].failed[0].failure.message == outcome.answer == "[1, 2]"
    assert len(dispatcher.calls) == 2


@pytest.mark.parametrize("other", [1.0, True, "1", [1], {"b": 1}, None, 10**300, float(10**16)])
async def test_other_arguments_are_another_call(other: Json) -> None:
    same = 10**16 if other == float(10**16) else 1
    assert await got([("look", same)], [("look", other)]) == [[1], [2]]


async def test_the_order_of_members_makes_no_other_call() -> None:
    one: JsonObject = {"b": 1, "c": {"d": 2, "e": 3}}
    two: JsonObject = {"c": {"e": 3, "d": 2}, "b": 1}
    assert await got([("look", one)], [("look", two)]) == [[1], [1]]


async def test_nothing_is_kept_beyond_a_plan_that_worked() -> None:
    look = ("look", 1)
    run = Run([look], [look], [look], ends={1: FurtherProcessing("more")})
    await run.outcome()
    assert run.got == [[1], [1], [2]]


async def test_a_call_that_failed_is_not_kept_and_still_not_sent_again() -> None:
    dispatcher = FakeDispatcher([LOOK], {"math.look": text_result("no", is_error=True)})
    (_, (refusal,)) = await got([("look", 1)], [("look", 1)], dispatcher=dispatcher)
    assert "was not called again: no" in str(refusal)
    assert len(dispatcher.calls) == 1


async def test_what_worked_before_it_failed_is_kept_as_far_as_it_worked() -> None:
    class Tiring(Counting):
        async def send(
            self, tool: ToolSpec, arguments: JsonObject, on_progress: OnProgress | None = None
        ) -> ToolResult:
            result = await super().send(tool, arguments)
            return result if len(self.calls) == 1 else text_result("tired", is_error=True)

    twice = [("look", 1)] * 2
    first, second = await got(twice, twice, dispatcher=Tiring())
    assert first == [1, "tired"]
    assert second[0] == 1
    assert "was not called again: tired" in str(second[1])


async def test_a_result_that_the_plan_could_not_use_is_not_kept() -> None:
    async def refuses(tools: ToolCatalog, call: CallTool) -> ActionResult:
        arguments: JsonObject = {"a": 1}
        await call(tools.resolve("look"), arguments)
        record = ToolCall("math.look", arguments, ok=False, result="too large", seconds=0)
        return PlanFailed(ERROR, (record,))

    dispatcher = Counting()
    fakes = FakeParts([Plan(p) for p in "1234"], {p: [refuses] for p in "1234"})
    await collect(AgentLoop(context(fakes, dispatcher=dispatcher)).run())
    assert len(dispatcher.calls) == 4
    assert fakes.inputs[1].failed[0].kept == ()


@pytest.mark.parametrize(
    "changed", [replace(LOOK, description="Another tool."), replace(LOOK, read_only=False)]
)
async def test_a_tool_that_is_described_otherwise_meanwhile_is_called_again(
    changed: ToolSpec,
) -> None:
    class Relisting(Counting):
        async def send(
            self, tool: ToolSpec, arguments: JsonObject, on_progress: OnProgress | None = None
        ) -> ToolResult:
            self.catalog = ToolCatalog([changed])
            return await super().send(tool, arguments)

    assert await got([("look", 1)], [("look", 1)], dispatcher=Relisting()) == [[1], [2]]


async def test_a_list_of_tools_that_says_the_same_again_changes_nothing() -> None:
    class Relisting(Counting):
        async def send(
            self, tool: ToolSpec, arguments: JsonObject, on_progress: OnProgress | None = None
        ) -> ToolResult:
            self.catalog = ToolCatalog([replace(LOOK)])
            return await super().send(tool, arguments)

    assert await got([("look", 1)], [("look", 1)], dispatcher=Relisting()) == [[1], [1]]


class TestChanges:
    """A retry that changes something new must not read what was true before."""

    @pytest.mark.parametrize("changing", ["write", "assign"])
    async def test_what_is_read_after_a_new_change_is_read_anew(self, changing: str) -> None:
        retry = [("look", 1), (changing, 1), ("look", 2), ("look", 2)]
        run = Run([("look", 1), ("look", 2)], retry, retry)
        await run.outcome()
        assert run.got[1] == [1, 3, 4, 5], "the first was read before the change"
        last_change = 3 if changing == "assign" else 6
        assert run.got[2] == [1, last_change, 4, 5], "repeated in order, it is a replay"

    async def test_a_change_that_a_failed_plan_made_too_is_no_new_one(self) -> None:
        plan = [("write", 1), ("look", 1)]
        assert await got(plan, plan) == [[1, 2], [3, 2]]

    async def test_reading_something_else_changes_nothing(self) -> None:
        assert await got([("look", 1)], [("look", 2), ("look", 1)]) == [[1], [2, 1]]


class Watched(list[Json]):
    """A list that notes which threads read it through."""

    def __init__(self, items: list[Json]) -> None:
        super().__init__(items)
        self.threads: set[int] = set()

    def __iter__(self) -> Iterator[Json]:
        """Note the thread."""
        self.threads.add(threading.get_ident())
        return super().__iter__()


async def test_many_arguments_are_compared_without_holding_up_the_event_loop() -> None:
    values: list[Json] = [0.5] * 2_000
    many = Watched(values)
    run = Run([("look", many)], [("look", values)])
    await run.outcome()
    assert len(run.dispatcher.calls) == 1
    assert run.got == [[1], [1]]
    assert many.threads - {threading.get_ident()}


def held(results: KeptResults, number: int, text: str) -> None:
    """A call's result put into its place."""
    arguments: JsonObject = {"a": number}
    call = ToolCall("math.look", arguments, ok=True, result=text, seconds=0)
    place = results.sending(LOOK, call_key(LOOK, arguments))
    results.keep(place, LOOK, call, text_result(text))


class TestBounds:
    def test_the_oldest_results_are_forgotten_when_all_take_too_much_memory(self) -> None:
        results = KeptResults(max_bytes=100_000)
        for number in range(10):
            held(results, number, "x" * 20_000)
        results.plan_failed()
        assert [call.arguments["a"] for call in results.calls] == [6, 7, 8, 9]
        for number, is_kept in [(5, False), (6, True), (9, True)]:
            kept = results.take(LOOK, call_key(LOOK, {"a": number}))
            assert (kept is not None) is is_kept, number

    def test_a_result_beyond_the_bound_pushes_nothing_out(self) -> None:
        results = KeptResults(max_bytes=100_000)
        held(results, 1, "x")
        held(results, 2, "x" * 200_000)
        results.plan_failed()
        assert [call.arguments["a"] for call in results.calls] == [1]

    def test_what_was_forgotten_makes_room(self) -> None:
        results = KeptResults(max_bytes=100_000)
        for round_number in range(3):
            for number in range(4):
                held(results, number, "x" * 20_000)
            if round_number == 1:
                results.plan_worked()
            else:
                results.plan_failed()
        assert len(results.calls) == 4

    def test_a_call_that_outlives_its_plan_is_not_kept(self) -> None:
        for end in (KeptResults.plan_failed, KeptResults.plan_worked):
            results = KeptResults()
            place = results.sending(LOOK, call_key(LOOK, {}))
            end(results)
            call = ToolCall("math.look", {}, ok=True, result=1, seconds=0)
            results.keep(place, LOOK, call, value_result(1))
            assert results.calls == ()

    @pytest.mark.parametrize(
        "block",
        [
            TextBlock("x" * 5_000),
            AudioBlock("x" * 5_000, "audio/wav"),
            ResourceBlock("file:///a", data="x" * 5_000),
            LinkBlock("file:///a", text="x" * 5_000),
        ],
    )
    def test_a_result_weighs_what_it_holds_of_whatever_kind(self, block: TextBlock) -> None:
        assert 5_000 < weight_bytes(ToolResult((block,)), {}) < 6_000
        structured: JsonObject = {"a": [{"x" * 2_500: "y" * 2_500}, 1.5, None]}
        assert 5_000 < weight_bytes(ToolResult((), structured), {}) < 7_000
        assert 5_000 < weight_bytes(value_result(1), {"a": "x" * 5_000}) < 7_000

    def test_a_result_of_very_many_values_counts_as_a_big_one_unread(self) -> None:
        many: list[Json] = [0] * (VALUES_WEIGHED_MAX + 1)
        assert weight_bytes(value_result(many), {}) == UNWEIGHED_RESULT_BYTES
        blocks = (TextBlock(""),) * (VALUES_WEIGHED_MAX + 1)
        assert weight_bytes(ToolResult(blocks), {}) == UNWEIGHED_RESULT_BYTES

"""What goes from step to step: text that was found, questions to the user, budgets, sources."""

import contextlib
from collections.abc import Mapping
from dataclasses import replace

import pytest

from config.schema import StrategyProfile
from core.asking import Leave, LeaveQuestion
from core.context import AgentContext
from core.errors import BudgetSpent, CallRefused, ExitCode, ModelUnavailable, SpentBudget
from core.events import (
    Answered,
    Clarified,
    Event,
    Notice,
    Observed,
    Retrying,
    ToolCallRefused,
    collect,
)
from core.loop import ANSWERED_UNREAD, AgentLoop
from core.ports import CallTool, ModelTraits
from core.provenance.borders import Borders
from core.provenance.guard import Provenance
from core.provenance.known import Known, ProvenancePolicy
from core.run.observation import (
    MIN_OBSERVATION_CHARACTERS,
    NOBODY_TO_ASK,
    OBSERVATION_CHARACTERS,
    QUESTION_CHARACTERS,
    judge_text_to_read,
    observation_room,
    text_behind_answer,
    unread_text,
)
from core.tools.catalog import ToolCatalog
from core.tools.content import ToolResult
from core.tools.record import ToolRecord
from core.turn import (
    ActionResult,
    AskedBack,
    Declined,
    FinalAnswer,
    FurtherProcessing,
    Plan,
    PlanFailed,
    PlanFailure,
    RunOutcome,
    ToolCall,
    Unanswered,
    Usage,
)
from core.values import Json
from tests.doubles import (
    FakeDispatcher,
    FakeModel,
    FakeParts,
    Runner,
    context,
    planned,
    reading,
    tool,
    value_result,
)

FAILURE = PlanFailure("error", "NameError: summarise", 3, "return summarise(page)")
PAGE = "The harbour was built in 1782, and widened twice."


def call(result: Json, *, ok: bool = True, **arguments: Json) -> ToolCall:
    return ToolCall("web.read", dict(arguments), ok, result, 0.1)


async def run(agent_context: AgentContext) -> tuple[RunOutcome, list[Event]]:
    seen: list[Event] = []

    async def listen(event: Event) -> None:
        seen.append(event)

    return await collect(AgentLoop(agent_context).run(), listen), seen


async def test_text_that_a_failed_plan_got_goes_on_before_a_lifeline_is_spent() -> None:
    fakes = planned(reads=PlanFailed(FAILURE, (call(PAGE),)), answers=FinalAnswer("1782"))
    outcome, events = await run(context(fakes, request="When was the harbour built?"))
    assert outcome.answer == "1782"
    assert not [event for event in events if isinstance(event, Retrying)]
    assert [event.text for event in events if isinstance(event, Observed)] == [PAGE]
    assert [event.text for event in events if isinstance(event, Notice)] == [
        f"the plan failed over text that it got: {FAILURE}"
    ]
    assert PAGE in fakes.inputs[1].user_input
    assert fakes.inputs[1].step == 2


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (PlanFailed(FAILURE, (call(PAGE),)), PAGE),
        (PlanFailed(FAILURE, (call(PAGE), call("no route", ok=False))), None),
        (PlanFailed(FAILURE, (call(PAGE), call(5))), None),
        (PlanFailed(FAILURE, (call("12.5"),)), None),
        (PlanFailed(FAILURE, (call({"text": PAGE}),)), None),
        (PlanFailed(FAILURE), None),
    ],
    ids=["text", "a failed call after it", "a number after it", "a number", "an object", "none"],
)
def test_only_text_of_the_last_call_goes_on(result: PlanFailed, text: str | None) -> None:
    assert unread_text(result) == text


async def test_a_plan_that_would_read_the_same_text_again_costs_a_lifeline_and_no_step() -> None:
    reads = reading(PAGE)
    fakes = FakeParts(
        [Plan("reads"), Plan("reads again"), Plan("answers")],
        {"reads": [reads], "reads again": [reads], "answers": [FinalAnswer("1782")]},
    )
    outcome, events = await run(context(fakes, request="When was the harbour built?"))
    assert outcome.answer == "1782"
    assert [event.step for event in events if isinstance(event, Retrying)] == [2]
    assert [step.number for step in outcome.steps] == [1, 2, 2]
    assert "was read before" in str(fakes.inputs[2].failed[0].failure)
    assert fakes.inputs[2].failed[0].calls == reads.calls


@pytest.mark.parametrize(
    ("written", "answer"),
    [
        ("It was built in 1782.", "It was built in 1782."),
        ("1782", "1782"),
        (f"  {PAGE}  ", None),
        (f"The page says: {PAGE}", None),
        (PAGE[: len(PAGE) * 2 // 3], None),
    ],
    ids=["new", "a word of it", "the text", "the text and more", "most of the text"],
)
async def test_what_a_plan_writes_after_reading_is_the_answer_under_a_wrong_verdict(
    written: str, answer: str | None
) -> None:
    fakes = FakeParts(
        [Plan("reads"), Plan("writes"), Plan("gives up")],
        {
            "reads": [reading(PAGE)],
            "writes": [FurtherProcessing(written)],
            "gives up": [FinalAnswer("unknown")],
        },
    )
    outcome, _ = await run(context(fakes, request="When was the harbour built?"))
    assert outcome.answer == (answer or "unknown")


@pytest.mark.parametrize(
    "copied",
    [
        f"{Borders('3f9c').note} It was built in 1782.",
        Borders("3f9c").around("It was built in 1782."),
        Borders("3f9c").within("It was built in 1782."),
    ],
)
async def test_an_answer_within_borders_that_the_model_has_copied_is_the_answer(
    copied: str,
) -> None:
    judged = judge_text_to_read(FurtherProcessing(copied), [PAGE], Borders("3f9c"))
    assert judged == FinalAnswer("It was built in 1782.")


async def test_a_page_within_borders_is_no_answer_nor_is_nothing_at_all() -> None:
    borders = Borders("3f9c")
    for copied in (borders.around(PAGE), borders.note):
        repeated = FurtherProcessing(copied)
        assert isinstance(judge_text_to_read(repeated, [PAGE], borders), PlanFailed)


async def test_a_plan_that_only_puts_its_work_off_has_failed() -> None:
    """A small model went on so until the steps were spent, because a tool was not to its taste."""
    put_off = FurtherProcessing("a tool named square is needed")
    fakes = planned(a=put_off, b=FinalAnswer("x"))
    outcome, _ = await run(context(fakes))
    assert outcome.answer == "x"
    assert "is for text that a tool gave" in str(fakes.inputs[1].failed[0].failure)
    found = replace(put_off, found=("square",))
    assert judge_text_to_read(found, []) == found, "the next plan has the tools that were found"


async def test_the_last_step_spends_its_lifelines_on_such_text() -> None:
    failed = PlanFailed(FAILURE, (call(PAGE),))
    fakes = planned(a=failed, b=FinalAnswer("x"))
    outcome, events = await run(context(fakes, strategy=StrategyProfile(max_steps=1)))
    assert outcome.answer == "x"
    assert [event.attempt for event in events if isinstance(event, Retrying)] == [1]


async def test_the_same_text_does_not_go_on_twice() -> None:
    failed = PlanFailed(FAILURE, (call(PAGE),))
    replies = [Plan("a"), Plan("b"), Plan("c")]
    fakes = FakeParts([*replies], {"a": [failed], "b": [failed], "c": [FinalAnswer("x")]})
    outcome, events = await run(context(fakes))
    assert outcome.answer == "x"
    assert len([event for event in events if isinstance(event, Retrying)]) == 1


async def test_text_beyond_the_room_is_condensed_for_the_request() -> None:
    asked: list[tuple[str, int, int]] = []

    async def condense(request: str, text: str, room_characters: int) -> str:
        asked.append((request, len(text), room_characters))
        return "in short"

    found = reading("x" * (OBSERVATION_CHARACTERS + 1))
    fakes = FakeParts(
        [Plan("a"), Plan("b")], {"a": [found], "b": [FinalAnswer("y")]}, condense=condense
    )
    _, events = await run(context(fakes, request="What is it?"))
    assert asked == [("What is it?", OBSERVATION_CHARACTERS + 1, OBSERVATION_CHARACTERS)]
    assert [event.text for event in events if isinstance(event, Observed)] == ["in short"]


async def test_an_outage_while_condensing_ends_the_run() -> None:
    async def condense(request: str, text: str, room_characters: int) -> str:
        raise ModelUnavailable("gone")

    found = reading("x" * (OBSERVATION_CHARACTERS + 1))
    outcome, _ = await run(context(FakeParts([Plan("a")], {"a": [found]}, condense=condense)))
    assert (outcome.status, outcome.message) == ("failed", "gone")


def test_a_small_context_leaves_less_room_for_text() -> None:
    assert observation_room(None) == OBSERVATION_CHARACTERS
    assert observation_room(200_000) == OBSERVATION_CHARACTERS
    assert MIN_OBSERVATION_CHARACTERS < observation_room(8_192) < OBSERVATION_CHARACTERS
    assert observation_room(2_048) == MIN_OBSERVATION_CHARACTERS


async def answers_red(question: str) -> str | None:
    return "the red one"


async def test_a_plan_may_ask_back_and_the_next_one_has_the_answer() -> None:
    fakes = FakeParts(
        [Plan("asks"), Plan("answers")],
        {"asks": [AskedBack("Which one?")], "answers": [FinalAnswer("red it is")]},
        ask_user=answers_red,
    )
    outcome, events = await run(context(fakes, strategy=StrategyProfile(max_steps=1)))
    assert outcome.answer == "red it is", "a question takes none of the steps"
    assert Clarified(1, "Which one?", "the red one") in events
    assert [inputs.may_ask for inputs in fakes.inputs] == [True, True]
    assert "You asked back: Which one?" in fakes.inputs[1].user_input
    assert "The user answered: the red one" in fakes.inputs[1].user_input


async def test_where_nobody_is_there_the_likeliest_reading_is_taken() -> None:
    fakes = planned(asks=AskedBack("Which one?"), answers=FinalAnswer("any"))
    outcome, events = await run(context(fakes))
    assert outcome.answer == "any"
    assert Clarified(1, "Which one?", None) in events
    assert not fakes.inputs[0].may_ask
    assert NOBODY_TO_ASK in fakes.inputs[1].user_input


@pytest.mark.parametrize("asked", [1, 2, 3, 4, 7])
async def test_a_model_may_ask_three_times_then_the_question_is_the_answer(asked: int) -> None:
    asks = {f"asks {n}": AskedBack(f"Question {n}?") for n in range(1, asked + 1)}
    fakes = planned(**asks, answers=FinalAnswer("done"))
    fakes.ask_user = answers_red
    outcome, events = await run(context(fakes, strategy=StrategyProfile(max_steps=1)))
    told = [event.answer for event in events if isinstance(event, Clarified)]
    assert told == ["the red one"] * min(asked, 3)
    assert (outcome.status, outcome.answer) == ("done", "done" if asked <= 3 else "Question 4?")
    assert len(fakes.inputs) == min(asked, 3) + 1, "no further plan is paid for"
    assert [inputs.may_ask for inputs in fakes.inputs] == [True, True, True, False][: asked + 1]


async def test_who_does_not_answer_is_not_asked_again() -> None:
    asked: list[str] = []

    async def silent(question: str) -> str | None:
        asked.append(question)
        return None

    fakes = planned(a=AskedBack("One?"), b=AskedBack("Two?"))
    fakes.ask_user = silent
    outcome, _ = await run(context(fakes))
    assert asked == ["One?"]
    assert (outcome.status, outcome.answer) == ("done", "Two?")
    assert NOBODY_TO_ASK in fakes.inputs[1].user_input


async def test_a_model_that_only_asks_nobody_comes_to_an_end() -> None:
    many = 12
    fakes = FakeParts([Plan("a")] * many, {"a": [AskedBack("What?")] * many})
    outcome, _ = await run(context(fakes, strategy=StrategyProfile(max_steps=5)))
    assert (outcome.status, outcome.answer) == ("no_answer", None)
    assert "nobody answers the question: What?" in outcome.message
    assert len(fakes.ran) == 2


async def test_the_profile_can_forbid_questions() -> None:
    fakes = FakeParts([Plan("a")], {"a": [FinalAnswer("x")]}, ask_user=answers_red)
    await run(context(fakes, strategy=StrategyProfile(clarify=False)))
    assert not fakes.inputs[0].may_ask


async def test_a_spent_budget_ends_the_run_with_what_there_is() -> None:
    failed = PlanFailed(PlanFailure("error", "boom"), (call(7),))
    budget = SpentBudget("run", "tokens", 1200, 1000, "llm.max_tokens")
    spent = BudgetSpent("1,200 tokens are used of the 1,000 that --max-tokens allows", budget)
    outcome, _ = await run(context(FakeParts([Plan("a"), spent], {"a": [failed]})))
    assert (outcome.status, outcome.exit_code) == ("no_answer", ExitCode.NO_ANSWER)
    assert "--max-tokens" in outcome.message
    assert "Best partial result: web.read gave 7." in outcome.message
    assert outcome.budget == budget


class Calls:
    """Pays for so many calls, and for no more."""

    def __init__(self, most: int) -> None:
        self.left = most
        self.spent = SpentBudget("day", "calls", most, most, "budgets.day.calls")

    async def __call__(self) -> None:
        if not self.left:
            raise BudgetSpent("today's budget is spent", self.spent)
        self.left -= 1


async def test_a_call_beyond_the_budget_is_not_sent_and_ends_a_run_whose_plan_wanted_it() -> None:
    dispatcher = FakeDispatcher(
        [tool("add", a="integer")],
        {"math.add": value_result(3)},
    )

    async def calls_thrice(tools: ToolCatalog, call: CallTool) -> ActionResult:
        for number in range(3):
            try:
                await call(tools.resolve("add"), {"a": number})
            except BudgetSpent as error:
                return PlanFailed(PlanFailure("tool", str(error)))
        raise AssertionError("all were sent")

    fakes = planned(a=calls_thrice, never=FinalAnswer("x"))
    fakes.spend_call = pays = Calls(2)
    outcome, events = await run(context(fakes, dispatcher=dispatcher))
    assert dispatcher.calls == [("math.add", {"a": 0}), ("math.add", {"a": 1})]
    assert (outcome.status, outcome.budget) == ("no_answer", pays.spent)
    assert "today's budget is spent" in outcome.message
    refused = [event for event in events if isinstance(event, ToolCallRefused)]
    assert [event.arguments for event in refused] == [{"a": 2}]
    assert fakes.ran == ["a"], "no model is asked for another plan"


async def test_a_plan_that_makes_do_without_the_call_has_its_answer() -> None:
    dispatcher = FakeDispatcher([tool("add", a="integer")], {"math.add": value_result(3)})

    async def makes_do(tools: ToolCatalog, call: CallTool) -> ActionResult:
        with contextlib.suppress(BudgetSpent):
            await call(tools.resolve("add"), {"a": 1})
        return FinalAnswer("about 3")

    fakes = planned(a=makes_do)
    fakes.spend_call = Calls(0)
    outcome, _ = await run(context(fakes, dispatcher=dispatcher))
    assert (outcome.answer, outcome.budget, dispatcher.calls) == ("about 3", None, [])


async def test_the_last_lifeline_is_told_to_the_planner() -> None:
    broken = PlanFailed(PlanFailure("error", "boom"))
    fakes = planned(a=broken, b=broken, c=FinalAnswer("x"))
    await run(context(fakes, strategy=StrategyProfile(max_lifelines_per_step=2)))
    assert [inputs.last_try for inputs in fakes.inputs] == [False, False, True]


async def test_without_lifelines_the_only_plan_is_no_last_try() -> None:
    fakes = planned(a=FinalAnswer("x"))
    await run(context(fakes, strategy=StrategyProfile(max_lifelines_per_step=0)))
    assert [inputs.last_try for inputs in fakes.inputs] == [False]


async def test_usage_is_told_by_model_and_only_of_this_run() -> None:
    model = FakeModel(usage=Usage(2, 20, 2), usage_by_model={"a": Usage(2, 20, 2)})

    async def use_models(tools: ToolCatalog, call: CallTool) -> FinalAnswer:
        model.usage = Usage(5, 50, 5)
        model.usage_by_model = {"a": Usage(3, 30, 3), "b": Usage(2, 20, 2)}
        return FinalAnswer("x")

    fakes = planned(a=use_models)
    outcome, _ = await run(context(fakes, model=model))
    assert outcome.usage == Usage(3, 30, 3)
    assert outcome.usage_by_model == {"a": Usage(1, 10, 1), "b": Usage(2, 20, 2)}


async def test_a_model_with_little_context_is_given_less_text() -> None:
    fakes = planned(a=reading("x" * 9_000), b=FinalAnswer("y"))
    model = FakeModel(traits=ModelTraits(context_tokens=2_048))
    _, events = await run(context(fakes, model=model))
    (observed,) = [event.text for event in events if isinstance(event, Observed)]
    assert observed.endswith("[7000 more characters left out]")


async def test_what_the_user_said_is_still_known_after_a_text_was_read() -> None:
    condensed: list[str] = []

    async def condense(request: str, text: str, room_characters: int) -> str:
        condensed.append(request)
        return "short"

    fakes = FakeParts(
        [Plan("asks"), Plan("reads"), Plan("answers")],
        {
            "asks": [AskedBack("Which one?")],
            "reads": [reading("x" * (OBSERVATION_CHARACTERS + 1))],
            "answers": [FinalAnswer("done")],
        },
        ask_user=answers_red,
        condense=condense,
    )
    await run(context(fakes))
    assert "The user answered: the red one" in condensed[0]
    assert "The user answered: the red one" in fakes.inputs[2].user_input
    assert [inputs.max_steps for inputs in fakes.inputs] == [3, 4, 4]


async def test_what_was_read_and_said_is_still_known_after_a_question() -> None:
    fakes = FakeParts(
        [Plan("reads"), Plan("asks"), Plan("asks again"), Plan("answers")],
        {
            "reads": [reading(PAGE)],
            "asks": [AskedBack("Which one?")],
            "asks again": [AskedBack("Which shade?")],
            "answers": [FinalAnswer("done")],
        },
        ask_user=answers_red,
    )
    outcome, _ = await run(context(fakes))
    assert outcome.answer == "done"
    last = fakes.inputs[3].user_input
    assert PAGE in last
    assert "The user answered: the red one" in last
    assert "You asked back: Which shade?\nThe user answered: the red one" in last


async def test_a_profile_without_questions_asks_none_even_if_the_model_does() -> None:
    fakes = FakeParts(
        [Plan("asks"), Plan("answers")],
        {"asks": [AskedBack("Which one?")], "answers": [FinalAnswer("x")]},
        ask_user=answers_red,
    )
    _, events = await run(context(fakes, strategy=StrategyProfile(clarify=False)))
    assert Clarified(1, "Which one?", None) in events


async def test_a_question_without_end_is_cut() -> None:
    asked: list[str] = []

    async def ask(question: str) -> str | None:
        asked.append(question)
        return "yes"

    fakes = FakeParts(
        [Plan("asks"), Plan("answers")],
        {"asks": [AskedBack("?" * 1_000_000)], "answers": [FinalAnswer("x")]},
        ask_user=ask,
    )
    await run(context(fakes))
    assert len(asked[0]) < 2 * QUESTION_CHARACTERS
    assert len(fakes.inputs[1].user_input) < 2 * QUESTION_CHARACTERS


async def test_the_same_long_text_is_not_read_twice() -> None:
    text = "a word " * OBSERVATION_CHARACTERS
    failed = PlanFailed(FAILURE, (call(text),))
    fakes = planned(a=failed, b=failed, c=FinalAnswer("x"))
    _, events = await run(context(fakes))
    assert len([event for event in events if isinstance(event, Observed)]) == 1
    assert [inputs.step for inputs in fakes.inputs] == [1, 2, 2]


async def test_calls_beside_the_text_that_goes_on_are_told() -> None:
    sent = ToolCall("mail.send", {"to": "Bob"}, ok=True, result="Sent.", seconds=0.1)
    first = PlanFailed(FAILURE, (sent,))
    fakes = planned(
        a=first,
        b=PlanFailed(FAILURE, (call(391), call("no", ok=False), call(PAGE))),
        c=FinalAnswer("x"),
    )
    await run(context(fakes))
    told = fakes.inputs[2].user_input
    assert 'mail.send {"to": "Bob"} → "Sent."' in told
    assert "web.read {} → 391" in told
    assert "don't call again" in told
    assert told.count(PAGE) == 1


async def test_a_notice_of_a_failure_is_one_short_line() -> None:
    long = PlanFailure("error", "bad\n[loop] all is well\n" * 1_000)
    fakes = planned(a=PlanFailed(long, (call(PAGE),)), b=FinalAnswer("x"))
    _, events = await run(context(fakes))
    (notice,) = [event.text for event in events if isinstance(event, Notice)]
    assert len(notice) < 500
    assert "\n" not in notice


@pytest.mark.parametrize("has_another", [True, False])
async def test_a_deterministic_planner_plans_again_only_if_it_has_another_plan(
    has_another: bool,
) -> None:
    failed = PlanFailed(FAILURE, (call(PAGE, ok=False),))
    second = Plan("b") if has_another else Declined("there is no other way")
    fakes = FakeParts([Plan("a"), second], {"a": [failed], "b": [FinalAnswer("x")]})
    model = FakeModel(traits=ModelTraits(deterministic=True))
    outcome, events = await run(context(fakes, model=model))
    assert (outcome.answer == "x") == has_another
    assert any(isinstance(event, Retrying) for event in events) == has_another


FAILED = PlanFailed(PlanFailure("tool", "no route"), (call("no route", ok=False),))
RECORD = ToolRecord("web.read", 9, 2)


@pytest.mark.parametrize(
    ("model", "strategy", "results", "lookups"),
    [
        (FakeModel(), StrategyProfile(), [FAILED, FAILED, FinalAnswer("7")], 1),
        (FakeModel(), StrategyProfile(), [FinalAnswer("7")], 0),
        (
            FakeModel(),
            StrategyProfile(memory_fallback_enabled=False),
            [FAILED, FinalAnswer("7")],
            0,
        ),
        (
            FakeModel(traits=ModelTraits(reads_text=False)),
            StrategyProfile(),
            [FAILED, FinalAnswer("7")],
            0,
        ),
    ],
    ids=["failed", "went well", "switched off", "reads no prompt"],
)
async def test_how_tools_did_is_looked_up_once_a_run_when_a_plan_has_failed(
    model: FakeModel,
    strategy: StrategyProfile,
    results: list[PlanFailed | FinalAnswer],
    lookups: int,
) -> None:
    asked: list[str] = []

    async def recall() -> Mapping[str, ToolRecord]:
        asked.append("recall")
        return {RECORD.tool: RECORD}

    fakes = planned(**{f"plan_{number}": result for number, result in enumerate(results)})
    given = context(fakes, model=model, strategy=strategy)
    given.parts = replace(given.parts, recall_tools=recall)
    outcome, _ = await run(given)
    assert outcome.answer == "7"
    assert len(asked) == lookups
    assert fakes.inputs[0].failing == ()
    assert all(inputs.failing == (RECORD,) * lookups for inputs in fakes.inputs[1:])


ERROR = "503 service unavailable, try again"

HANDED_ON = [
    (ERROR, [call(ERROR, ok=False)], True),
    (f"Error: {ERROR}", [call(ERROR, ok=False)], True),
    (f"  {ERROR}\n", [call(PAGE), call(ERROR, ok=False)], True),
    (f"first: {ERROR}; then: not allowed here", [call(ERROR, ok=False),
                                                 call("not allowed here", ok=False)], True),
    ("nothing was found, sorry", [call(ERROR, ok=False)], True),
    (f"{ERROR} (2)", [call(PAGE), call(ERROR, ok=False)], True),
    (f"{PAGE} {ERROR}", [call(PAGE), call(ERROR, ok=False)], False),
    (f"rate 24.31; the other: {ERROR}", [call({"rate": 24.31}), call(ERROR, ok=False)], False),
    (f"{PAGE} The page speaks of '{ERROR}' at length, and of what to do.",
     [call("a page"), call(ERROR, ok=False)], False),
    (PAGE, [call("no", ok=False), call(PAGE)], False),
    ("is there no route?", [call("no", ok=False), call(PAGE)], False),
]  # fmt: skip


@pytest.mark.parametrize(("text", "calls", "is_failure"), HANDED_ON)
async def test_an_errors_text_is_no_text_to_read(
    text: str, calls: list[ToolCall], is_failure: bool
) -> None:
    fakes = FakeParts(
        [Plan("hands on"), Plan("answers")],
        {"hands on": [FurtherProcessing(text, tuple(calls))], "answers": [FinalAnswer("x")]},
    )
    _, events = await run(context(fakes))
    assert [event.step for event in events if isinstance(event, Retrying)] == [1] * is_failure
    assert any(isinstance(event, Observed) for event in events) is not is_failure
    assert fakes.inputs[1].step == (1 if is_failure else 2)
    if is_failure:
        told = str(fakes.inputs[1].failed[0].failure)
        assert any(str(each.result) in told for each in calls if not each.ok)
        assert "NO_ANSWER:" in told


async def test_an_error_of_an_earlier_plan_is_no_text_to_read_either() -> None:
    kept = FurtherProcessing(ERROR, (call(5),))
    fakes = FakeParts(
        [Plan("keeps"), Plan("hands on"), Plan("answers")],
        {
            "keeps": [PlanFailed(FAILURE, (call(ERROR, ok=False),))],
            "hands on": [kept],
            "answers": [FinalAnswer("x")],
        },
    )
    outcome, events = await run(context(fakes))
    assert outcome.answer == "x"
    assert not any(isinstance(event, Observed) for event in events)


async def test_a_run_ends_without_an_answer_where_its_plan_says_that_there_is_none() -> None:
    why = "The text does not hold the length of the pier"
    fakes = FakeParts(
        [Plan("reads"), Plan("says so")],
        {"reads": [reading(PAGE)], "says so": [Unanswered(why)]},
    )
    outcome, events = await run(context(fakes))
    assert (outcome.status, outcome.answer, outcome.exit_code) == ("no_answer", None, 3)
    assert outcome.message == f"No answer: {why}."
    assert not any(isinstance(event, Retrying | Answered) for event in events)


MAIL = [tool("read", server="mail"), tool("send", server="mail", to="string")]
NOT_SENT = 'not done, for you said no: mail.send {"to": "bob@example.org"}'


def answering_leave(fakes: FakeParts, *answers: Leave) -> tuple[AgentContext, FakeDispatcher]:
    """A run with a mailbox, whose questions for leave are answered so, one after the other."""
    gave: dict[str, ToolResult | Exception] = {
        "mail.read": value_result("Hello"),
        "mail.send": value_result("sent"),
    }
    dispatcher, left = FakeDispatcher(MAIL, gave), [*answers]

    async def ask(question: LeaveQuestion) -> Leave:
        return left.pop(0)

    made = context(fakes, dispatcher=dispatcher)
    made.provenance = Provenance(Known(ProvenancePolicy("auto")), ask)
    return made, dispatcher


def sending(to: str, then: str | None = None) -> Runner:
    """A plan that reads, sends, and ends with the refusal, or else says `then`."""

    async def sends(tools: ToolCatalog, call: CallTool) -> ActionResult:
        read = ToolCall("mail.read", {}, True, (await call(tools.resolve("read"), {})).value, 0.1)
        try:
            sent = (await call(tools.resolve("send"), {"to": to})).value
        except CallRefused as refused:
            if then is None:
                return PlanFailed(PlanFailure("tool", str(refused)), (read,))
            return FinalAnswer(then, (read,))
        return FinalAnswer(f"{sent} to {to}", (read, ToolCall("mail.send", {}, True, sent, 0.1)))

    return sends


async def test_a_persons_no_ends_the_tries_with_what_was_not_done() -> None:
    made, dispatcher = answering_leave(
        planned(a=sending("bob@example.org"), never=FinalAnswer("x")), Leave("no")
    )
    outcome, events = await run(made)
    assert (outcome.status, outcome.exit_code, outcome.verdict) == ("no_answer", 3, "blocked")
    assert outcome.message == f"No answer: {NOT_SENT}. Called before: mail.read."
    assert [name for name, _ in dispatcher.calls] == ["mail.read"]
    assert not any(isinstance(event, Retrying) for event in events)


async def test_a_plan_that_claims_success_after_a_persons_no_has_none() -> None:
    made, _ = answering_leave(
        planned(a=sending("bob@example.org", "Done!"), never=FinalAnswer("x")), Leave("no")
    )
    outcome, events = await run(made)
    assert (outcome.status, outcome.answer, outcome.exit_code) == ("no_answer", None, 3)
    assert outcome.verdict == "blocked"
    assert outcome.message == (
        f"No answer: {NOT_SENT}. Called before: mail.read. "
        "The plan went on without it, and says: Done!"
    )
    assert not any(isinstance(event, Answered | Retrying) for event in events)


async def test_what_a_person_says_beside_a_no_is_for_the_next_plan() -> None:
    fakes = planned(a=sending("bob@example.org", "Done!"), b=sending("ann@example.org"))
    made, _ = answering_leave(fakes, Leave("no", words="to Ann"), Leave("once"))
    outcome, _ = await run(made)
    assert outcome.answer == f"sent to ann@example.org\n\n{NOT_SENT[0].upper()}{NOT_SENT[1:]}."
    assert '"to Ann"' in str(fakes.inputs[1].failed[0].failure)


async def test_a_plan_that_does_nothing_after_a_no_with_words_has_no_success_either() -> None:
    fakes = planned(a=sending("bob@example.org"), b=FinalAnswer("Done!"))
    made, _ = answering_leave(fakes, Leave("no", words="to Ann"))
    outcome, _ = await run(made)
    assert (outcome.status, outcome.exit_code) == ("no_answer", 3)
    assert NOT_SENT in outcome.message
    assert outcome.message.endswith("says: Done!")


READS = replace(tool("read", server="web"), read_only=True)


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        ("text = await tools.read(path='a')\nreturn 'FINAL_ANSWER: It is old.'", PAGE),
        ("await tools.read(path='a')\nanswer = 'old'\nreturn f'FINAL_ANSWER: {answer}'", PAGE),
        ("text = await tools.read(path='a')\nreturn f'FINAL_ANSWER: {text}'", None),
        ("return f\"FINAL_ANSWER: {await tools.read(path='a')}\"", None),
        ("if 'x' in await tools.read(path='a'):\n    return 'FINAL_ANSWER: yes'", None),
        ("try:\n    await tools.read(path='a')\nexcept Exception:\n    return 'gone'", None),
        ("memory['a'] = await tools.read(path='a')\nreturn 'FINAL_ANSWER: kept'", None),
        ("no Python", None),
    ],
)
def test_an_answer_that_uses_nothing_of_what_was_read_was_there_before_it(
    lines: str, text: str | None
) -> None:
    plan = Plan("async def solve():\n" + "".join(f"    {line}\n" for line in lines.split("\n")))
    answer = FinalAnswer("It is old.", (call(PAGE),))
    assert text_behind_answer(plan, answer, ToolCatalog([READS])) == text


def test_an_answer_after_what_changes_something_or_gives_no_text_stands() -> None:
    plan = Plan("async def solve():\n    await tools.read(path='a')\n    return 'FINAL_ANSWER: x'")
    told = FinalAnswer("x", (call(PAGE),))
    assert text_behind_answer(plan, told, ToolCatalog([READS])) == PAGE
    for answer, tools in (
        (told, ToolCatalog([replace(READS, read_only=False)])),
        (told, ToolCatalog([])),
        (FinalAnswer("x", (call(75),)), ToolCatalog([READS])),
        (FinalAnswer("x"), ToolCatalog([READS])),
    ):
        assert text_behind_answer(plan, answer, tools) is None


async def test_the_text_behind_an_answer_that_was_there_before_is_read_in_the_next_step() -> None:
    guess = "async def solve():\n    text = await tools.read()\n    return 'FINAL_ANSWER: old'"
    fakes = FakeParts(
        [Plan(guess), Plan("answers")],
        {guess: [FinalAnswer("old", (call(PAGE),))], "answers": [FinalAnswer("1782")]},
    )
    dispatcher = FakeDispatcher([READS], {})
    outcome, events = await run(context(fakes, dispatcher=dispatcher))
    assert outcome.answer == "1782"
    assert [event.text for event in events if isinstance(event, Observed)] == [PAGE]
    assert [event.text for event in events if isinstance(event, Notice)] == [ANSWERED_UNREAD]
    assert not any(isinstance(event, Retrying) for event in events)


async def test_an_answer_that_repeats_the_reading_of_what_the_step_has_read_stands() -> None:
    guess = "async def solve():\n    text = await tools.read()\n    return 'FINAL_ANSWER: 1782'"
    results: dict[str, list[ActionResult | Runner]] = {
        "reads": [reading(PAGE)],
        guess: [FinalAnswer("1782", (call(PAGE),))],
    }
    fakes = FakeParts([Plan("reads"), Plan(guess)], results)
    outcome, _ = await run(context(fakes, dispatcher=FakeDispatcher([READS], {})))
    assert outcome.answer == "1782"

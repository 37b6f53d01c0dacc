"""What goes from step to step: text that was found, questions to the user, budgets, sources."""

from dataclasses import replace

import pytest

from config.schema import StrategyProfile
from core.catalog import ToolCatalog
from core.context import AgentContext
from core.errors import BudgetSpent, ExitCode, ModelUnavailable
from core.events import Clarified, Event, Notice, Observed, Retrying
from core.loop import AgentLoop, collect
from core.observation import (
    MIN_OBSERVATION_CHARACTERS,
    NOBODY_TO_ASK,
    OBSERVATION_CHARACTERS,
    observation_room,
    unread_text,
)
from core.ports import CallTool, ModelTraits
from core.turn import (
    AskedBack,
    FinalAnswer,
    FurtherProcessing,
    Plan,
    PlanFailed,
    PlanFailure,
    RunOutcome,
    ToolCall,
    Usage,
)
from core.values import Json
from tests.doubles import FakeModel, FakeParts, context

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
    fakes = FakeParts(
        [Plan("reads"), Plan("answers")],
        {"reads": [PlanFailed(FAILURE, (call(PAGE),))], "answers": [FinalAnswer("1782")]},
    )
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


async def test_the_last_step_spends_its_lifelines_on_such_text() -> None:
    failed = PlanFailed(FAILURE, (call(PAGE),))
    fakes = FakeParts([Plan("a"), Plan("b")], {"a": [failed], "b": [FinalAnswer("x")]})
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

    found = FurtherProcessing("x" * (OBSERVATION_CHARACTERS + 1))
    fakes = FakeParts(
        [Plan("a"), Plan("b")], {"a": [found], "b": [FinalAnswer("y")]}, condense=condense
    )
    _, events = await run(context(fakes, request="What is it?"))
    assert asked == [("What is it?", OBSERVATION_CHARACTERS + 1, OBSERVATION_CHARACTERS)]
    assert [event.text for event in events if isinstance(event, Observed)] == ["in short"]


async def test_an_outage_while_condensing_ends_the_run() -> None:
    async def condense(request: str, text: str, room_characters: int) -> str:
        raise ModelUnavailable("gone")

    found = FurtherProcessing("x" * (OBSERVATION_CHARACTERS + 1))
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
    assert [inputs.may_ask for inputs in fakes.inputs] == [True, False]
    assert "You asked back: Which one?" in fakes.inputs[1].user_input
    assert "The user answered: the red one" in fakes.inputs[1].user_input


async def test_where_nobody_is_there_the_likeliest_reading_is_taken() -> None:
    fakes = FakeParts(
        [Plan("asks"), Plan("answers")],
        {"asks": [AskedBack("Which one?")], "answers": [FinalAnswer("any")]},
    )
    outcome, events = await run(context(fakes))
    assert outcome.answer == "any"
    assert Clarified(1, "Which one?", None) in events
    assert not fakes.inputs[0].may_ask
    assert NOBODY_TO_ASK in fakes.inputs[1].user_input


async def test_a_plan_that_asks_again_gets_no_second_question_through() -> None:
    fakes = FakeParts(
        [Plan("a"), Plan("b"), Plan("c")],
        {"a": [AskedBack("One?")], "b": [AskedBack("Two?")], "c": [FinalAnswer("done")]},
        ask_user=answers_red,
    )
    outcome, events = await run(context(fakes))
    assert outcome.answer == "done"
    told = [event.answer for event in events if isinstance(event, Clarified)]
    assert told == ["the red one", None]


async def test_a_model_that_only_asks_comes_to_an_end() -> None:
    many = 12
    fakes = FakeParts([Plan("a")] * many, {"a": [AskedBack("What?")] * many})
    outcome, _ = await run(context(fakes, strategy=StrategyProfile(max_steps=2)))
    assert outcome.status == "no_answer"
    assert len(fakes.ran) <= 4


async def test_the_profile_can_forbid_questions() -> None:
    fakes = FakeParts([Plan("a")], {"a": [FinalAnswer("x")]}, ask_user=answers_red)
    await run(context(fakes, strategy=StrategyProfile(clarify=False)))
    assert not fakes.inputs[0].may_ask


async def test_a_spent_budget_ends_the_run_with_what_there_is() -> None:
    failed = PlanFailed(PlanFailure("error", "boom"), (call(7),))
    spent = BudgetSpent("1,200 tokens are used of the 1,000 that --max-tokens allows")
    outcome, _ = await run(context(FakeParts([Plan("a"), spent], {"a": [failed]})))
    assert (outcome.status, outcome.exit_code) == ("no_answer", ExitCode.NO_ANSWER)
    assert "--max-tokens" in outcome.message
    assert "Best partial result: web.read gave 7." in outcome.message


async def test_the_last_lifeline_is_told_to_the_planner() -> None:
    broken = PlanFailed(PlanFailure("error", "boom"))
    fakes = FakeParts(
        [Plan("a"), Plan("b"), Plan("c")],
        {"a": [broken], "b": [broken], "c": [FinalAnswer("x")]},
    )
    await run(context(fakes, strategy=StrategyProfile(max_lifelines_per_step=2)))
    assert [inputs.last_try for inputs in fakes.inputs] == [False, False, True]


async def test_without_lifelines_the_only_plan_is_no_last_try() -> None:
    fakes = FakeParts([Plan("a")], {"a": [FinalAnswer("x")]})
    await run(context(fakes, strategy=StrategyProfile(max_lifelines_per_step=0)))
    assert [inputs.last_try for inputs in fakes.inputs] == [False]


@pytest.mark.parametrize(
    ("result", "arguments", "sources"),
    [
        ("Tides… [Source: sea/tides.md, ID: tides_3]", {}, "sea/tides.md"),
        (
            "a [Source: a.md, ID: 1]\nb [Source: b.md, ID: 2]\n[Source: a.md, ID: 3]",
            {},
            "a.md; b.md",
        ),
        (PAGE, {"url": "https://example.org/harbour"}, "https://example.org/harbour"),
        (PAGE, {"input": {"url": "https://example.org/h"}}, "https://example.org/h"),
        (PAGE, {"url": "file:///etc/passwd"}, None),
        (PAGE, {"path": "notes.txt"}, None),
        (5, {"url": "https://example.org/count"}, None),
    ],
)
async def test_an_answer_names_the_documents_and_pages_it_comes_from(
    result: Json, arguments: dict[str, Json], sources: str | None
) -> None:
    answer = FinalAnswer("In 1782.", (replace(call(result), arguments=arguments),))
    outcome, _ = await run(context(FakeParts([Plan("a")], {"a": [answer]})))
    assert outcome.answer == ("In 1782." if sources is None else f"In 1782.\n\nSources: {sources}")


async def test_sources_that_the_answer_names_itself_are_not_repeated() -> None:
    text = "In 1782, says harbour.md."
    answer = FinalAnswer(text, (call("x [Source: docs/harbour.md, ID: 1]"),))
    outcome, _ = await run(context(FakeParts([Plan("a")], {"a": [answer]})))
    assert outcome.answer == text


async def test_sources_of_an_earlier_step_count_too() -> None:
    found = FurtherProcessing("t", (call("x [Source: a.md, ID: 1]"),))
    fakes = FakeParts([Plan("a"), Plan("b")], {"a": [found], "b": [FinalAnswer("Yes.")]})
    outcome, _ = await run(context(fakes))
    assert outcome.answer == "Yes.\n\nSources: a.md"


async def test_usage_is_told_by_model_and_only_of_this_run() -> None:
    model = FakeModel(usage=Usage(2, 20, 2), usage_by_model={"a": Usage(2, 20, 2)})

    async def use_models(tools: ToolCatalog, call: CallTool) -> FinalAnswer:
        model.usage = Usage(5, 50, 5)
        model.usage_by_model = {"a": Usage(3, 30, 3), "b": Usage(2, 20, 2)}
        return FinalAnswer("x")

    fakes = FakeParts([Plan("a")], {"a": [use_models]})
    outcome, _ = await run(context(fakes, model=model))
    assert outcome.usage == Usage(3, 30, 3)
    assert outcome.usage_by_model == {"a": Usage(1, 10, 1), "b": Usage(2, 20, 2)}


async def test_a_model_with_little_context_is_given_less_text() -> None:
    fakes = FakeParts(
        [Plan("a"), Plan("b")],
        {"a": [FurtherProcessing("x" * 9_000)], "b": [FinalAnswer("y")]},
    )
    model = FakeModel(traits=ModelTraits(context_tokens=2_048))
    _, events = await run(context(fakes, model=model))
    (observed,) = [event.text for event in events if isinstance(event, Observed)]
    assert observed.endswith("[7000 more characters left out]")

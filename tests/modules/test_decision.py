"""Decision: what stands in the prompt, and how the plan is found in the reply."""

from dataclasses import replace
from pathlib import Path

import pytest

from config.schema import PersonaSection, StrategyProfile
from core.ports import DecisionInputs, ImageInput, ModelReply, ModelRequest, ModelTraits
from core.provenance.borders import Borders
from core.tools.catalog import ToolCatalog
from core.tools.record import ToolRecord
from core.tools.spec import ToolSpec
from core.turn import (
    FINAL_ANSWER,
    NO_ANSWER,
    Attempt,
    Declined,
    Exchange,
    MemoryItem,
    PerceptionResult,
    Plan,
    PlanFailure,
    TextInput,
    ToolCall,
)
from core.values import Json
from modules.decision import REPEATED_TEMPERATURE, RETRY_TEMPERATURES, PlanWriter, generate_plan
from modules.memory.past import Past
from modules.planning.prompt.decision import (
    AGAIN,
    DONE_CALLS,
    KEPT_CALLS,
    LAST_TRY,
    MAY_ASK,
    MAY_NOT_ASK,
    NO_TOOL_NEAR,
    READ_ALREADY,
    REPEATED,
    UNSURE_CALLS,
    decision_prompt,
)
from tests.doubles import FakeModel, profile, tool

PROMPTS = [
    "prompts/decision_prompt_conservative.txt",
    "prompts/decision_prompt_exploratory_parallel.txt",
    "prompts/decision_prompt_exploratory_sequential.txt",
]
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108000000003a7e9b55"
    "0000000a49444154789c63f80f00010101001bb6ee560000000049454e44ae426082"
)
"""One white pixel."""
SOLVE = 'async def solve():\n    return "FINAL_ANSWER: 1"'
INPUTS = DecisionInputs(
    "what is {x}?", ToolCatalog([tool("add", a="integer", b="integer")]), PerceptionResult()
)


class Answering(FakeModel):
    def __init__(self, reply: ModelReply) -> None:
        super().__init__()
        self.reply = reply
        self.seen: list[ModelRequest] = []

    async def generate(self, request: ModelRequest) -> ModelReply:
        self.seen.append(request)
        return self.reply


@pytest.mark.parametrize("path", PROMPTS)
def test_every_placeholder_of_a_template_is_filled(path: str) -> None:
    prompt = decision_prompt(INPUTS, path, profile()).text
    assert "what is {x}?" in prompt
    left = [
        name
        for name in ("agent", "persona", "tool_descriptions", "history", "failures", "examples")
        if f"{{{name}}}" in prompt
    ]
    assert not left
    assert "add(a: int, b: int)" in prompt


@pytest.mark.parametrize("path", PROMPTS)
def test_every_template_takes_tools_and_request(path: str) -> None:
    template = (Path(__file__).parents[2] / path).read_text(encoding="utf-8")
    assert "{tool_descriptions}" in template
    assert "{user_input}" in template


def test_persona_history_and_step_reach_the_prompt() -> None:
    inputs = DecisionInputs(
        "now halve it",
        INPUTS.tools,
        PerceptionResult(intent="halving"),
        step=2,
    )
    past = Past((Exchange("add 5 and 7", "12"),))
    persona = PersonaSection(tone="cheerful", verbosity="high", behavior_tags=("curious",))
    changed = profile().model_copy(update={"persona": persona})
    prompt = decision_prompt(inputs, PROMPTS[0], changed, past=past).text
    for text in ("cheerful", "high", "curious", "add 5 and 7", "12", "halving", "2 of 3"):
        assert text in prompt


def test_a_request_that_is_like_no_tool_is_told_so() -> None:
    def is_told(request: str, perception: PerceptionResult | None = None, **more: str) -> bool:
        inputs = replace(INPUTS, user_input=request, perception=perception or PerceptionResult())
        return NO_TOOL_NEAR in decision_prompt(replace(inputs, **more), PROMPTS[0], profile()).text

    assert is_told("Who wrote Hamlet?")
    assert not is_told("Wie ist das Wetter?"), "descriptions are in English"
    assert not is_told("Who is the president of France now?"), "nobody knows that by heart"
    assert not is_told("Add them up")
    assert not is_told("What is 7 squared?"), "numbers may be for a tool"
    assert not is_told("What does /home/ann/a.txt say?")
    assert not is_told("Who wrote Hamlet?", PerceptionResult(tool_hint="add"))
    assert not is_told("Who wrote Hamlet?", observation="Shakespeare did")


async def test_a_text_that_goes_with_a_request_is_shown_and_named_for_the_plan() -> None:
    given = TextInput("stdin", "first\nsecond\n" + "x" * 50_000)
    inputs = replace(INPUTS, user_input="Who wrote Hamlet?", texts=(given,))
    model = Answering(ModelReply(SOLVE))
    await PlanWriter(model, profile())(inputs, PROMPTS[0])
    (request,) = model.seen
    assert "stdin (3 lines, 50,013 characters)" in request.user
    assert "the variable `stdin`" in request.user
    assert "first\nsecond\nxxx" in request.user
    assert "30013 more characters left out" in request.user
    assert NO_TOOL_NEAR not in request.user, "a plan may have to compute with the text"
    assert "first" not in request.system
    borders = Borders("beef")
    await PlanWriter(model, profile())(replace(inputs, borders=borders), PROMPTS[0])
    assert borders.note in model.seen[-1].user
    assert "<<data beef>>\nfirst\n" in model.seen[-1].user


def test_a_step_that_has_a_text_to_read_is_told_to_answer_from_it() -> None:
    inputs = replace(INPUTS, step=2, observation="Rent 640 euros")
    assert READ_ALREADY in decision_prompt(inputs, PROMPTS[0], profile()).text
    assert READ_ALREADY not in decision_prompt(INPUTS, PROMPTS[0], profile()).text


@pytest.mark.parametrize("verdict", [FINAL_ANSWER, NO_ANSWER])
async def test_the_forms_that_such_a_step_is_given_are_read_as_they_are_filled_in(
    verdict: str,
) -> None:
    (form,) = (block for block in READ_ALREADY.split("```") if verdict in block)
    model = Answering(ModelReply(f"```{form}```"))
    inputs = replace(INPUTS, step=2, observation="Rent 640 euros")
    plan = await PlanWriter(model, profile())(inputs, PROMPTS[0])
    assert isinstance(plan, Plan)
    assert f'return "{verdict} ' in plan.source


def test_a_retry_tells_plan_error_line_and_what_succeeded() -> None:
    failure = PlanFailure("tool", "division by zero", 3, "await tools.divide(a=1, b=0)")
    good = ToolCall("math.write", {"input": {"a": 1, "b": 2}}, True, 3, 0.1)
    bad = ToolCall("math.divide", {"input": {"a": 1, "b": 0}}, False, "division by zero", 0.1)
    attempt = Attempt(Plan("async def solve(): first try"), failure, (good, bad))
    inputs = DecisionInputs("q", INPUTS.tools, PerceptionResult(), failed=(attempt,))
    prompt = decision_prompt(inputs, PROMPTS[0], profile()).text
    assert "async def solve(): first try" in prompt
    assert "division by zero (line 3: await tools.divide(a=1, b=0))" in prompt
    done = prompt[prompt.index(DONE_CALLS) :]
    assert done.startswith(f'{DONE_CALLS}\n- math.write {{"input": {{"a": 1, "b": 2}}}} → 3\n\n')
    assert "math.divide" not in done


def retry_prompt(*failed: Attempt) -> str:
    """The prompt for a retry where `look` is a harmless tool."""
    tools = ToolCatalog([replace(tool("look"), read_only=True), tool("write")])
    inputs = DecisionInputs("q", tools, PerceptionResult(), failed=failed)
    return decision_prompt(inputs, PROMPTS[0], profile()).text


def test_a_retry_is_told_what_repeating_a_call_would_mean() -> None:
    look, old, write, gone = (
        ToolCall(f"math.{name}", {"a": a}, True, "r", 0.1)
        for name, a in (("look", 1), ("look", 2), ("write", 1), ("gone", 1))
    )
    failure = PlanFailure("error", "x")
    prompt = retry_prompt(
        Attempt(Plan("p1"), failure, (write, look, gone, old), kept=(look, old)),
        Attempt(Plan("p2"), failure, (replace(look, seconds=0, kept=True),), kept=(look,)),
    )
    assert f'{KEPT_CALLS}\n- math.look {{"a": 1}} → "r"\n\n{DONE_CALLS}' in prompt
    assert f'{DONE_CALLS}\n- math.write {{"a": 1}} → "r"\n- math.gone {{"a": 1}} → "r"' in prompt
    assert f'{UNSURE_CALLS}\n- math.look {{"a": 2}} → "r"\n\n{REPEATED}' in prompt


def test_polls_with_several_results_are_told_in_their_order() -> None:
    polls = tuple(ToolCall("math.look", {}, True, result, 0.1) for result in ("no", "yes", "no"))
    prompt = retry_prompt(Attempt(Plan("p"), PlanFailure("error", "x"), polls, kept=polls))
    assert '- math.look {} → "no"\n- math.look {} → "yes"\n\n' in prompt


def test_a_retry_prompt_is_bounded_whatever_failed() -> None:
    big: list[Json] = ["x" * 1_000_000] * 10
    calls = tuple(
        ToolCall(f"math.{name}", {"a": number, "b": big}, True, big, 0.1)
        for number in range(100)
        for name in ("look", "write")
    )
    attempt = Attempt(Plan("x" * 1_000_000), PlanFailure("error", "x"), calls, kept=calls[::4])
    prompt = retry_prompt(attempt, attempt)
    assert len(prompt) < 3 * 50 * 1_000 + 2 * 13_000 + len(retry_prompt()) + 1_000
    assert prompt.count("- (50 earlier ones are left out here)") == 1
    assert '- math.write {"a": 99, "b": ["xxx' in prompt


@pytest.mark.parametrize(
    ("style", "form"), [("tools", "tools.multiply("), ("mcp", "mcp.call_tool(")]
)
def test_the_examples_are_in_the_profiles_plan_style(style: str, form: str) -> None:
    strategy = StrategyProfile.model_validate({"plan_style": style})
    inputs = DecisionInputs("q", INPUTS.tools, PerceptionResult(), plan_style=strategy.plan_style)
    assert form in decision_prompt(inputs, PROMPTS[0], profile(strategy)).text


def test_the_beginning_of_the_prompt_is_the_same_for_every_request() -> None:
    """Providers' caches, and those of local models, hold as far as prompts are equal."""
    other = replace(
        INPUTS,
        user_input="something else",
        perception=PerceptionResult(intent="x", tool_hint="add"),
        history=(Exchange("before", "1"),),
        failed=(Attempt(Plan("p"), PlanFailure("error", "x"), ()),),
        step=2,
    )
    first, second = (decision_prompt(one, PROMPTS[0], profile()) for one in (INPUTS, other))
    assert first.prefix_characters == second.prefix_characters > len(first.text) * 0.8
    assert first.text[: first.prefix_characters] == second.text[: second.prefix_characters]
    assert "add(a: int, b: int)" in first.text[: first.prefix_characters]
    assert "what is {x}?" in first.text[first.prefix_characters :]


def failed_with(*messages: str) -> DecisionInputs:
    attempts = [Attempt(Plan(m), PlanFailure("error", m), ()) for m in messages]
    return replace(INPUTS, failed=tuple(attempts))


@pytest.mark.parametrize(
    ("inputs", "ending"),
    [
        (failed_with("a"), AGAIN),
        (failed_with("a", "b"), AGAIN),
        (failed_with("a", "b", "a"), REPEATED),
        (replace(failed_with("a", "b"), last_try=True), LAST_TRY),
    ],
)
def test_a_retry_is_asked_for_another_approach_the_more_the_plans_repeat_themselves(
    inputs: DecisionInputs, ending: str
) -> None:
    prompt = decision_prompt(inputs, PROMPTS[0], profile()).text
    assert [one for one in (AGAIN, REPEATED, LAST_TRY) if one in prompt] == [ending]


def test_the_last_try_names_the_tools_that_fit_best() -> None:
    inputs = replace(failed_with("a"), last_try=True, shortlist=("add", "web.get"))
    prompt = decision_prompt(inputs, PROMPTS[0], profile())
    assert "these fit the request best: add, web.get." in prompt.text[prompt.prefix_characters :]


def test_a_retry_is_told_of_a_tool_that_mostly_fails() -> None:
    assert "of its last" not in decision_prompt(failed_with("a"), PROMPTS[0], profile()).text
    inputs = replace(failed_with("a"), failing=(ToolRecord("web.get", 9, 2),))
    prompt = decision_prompt(inputs, PROMPTS[0], profile())
    told = prompt.text[prompt.prefix_characters :]
    assert "\nweb.get failed in 7 of its last 9 calls.\n" in told


def test_the_model_may_ask_back_only_where_somebody_is_there() -> None:
    asking = decision_prompt(replace(INPUTS, may_ask=True), PROMPTS[0], profile()).text
    assert MAY_ASK in asking
    assert MAY_NOT_ASK not in asking
    assert MAY_NOT_ASK in decision_prompt(INPUTS, PROMPTS[0], profile()).text


def test_retries_are_sampled_ever_more_freely_and_the_last_asks_the_strongest_model() -> None:
    writer = PlanWriter(FakeModel(), profile())
    temperatures = [
        writer.request(failed_with(*"abcdef"[:count]), PROMPTS[0]).temperature for count in range(6)
    ]
    assert temperatures[: len(RETRY_TEMPERATURES)] == list(RETRY_TEMPERATURES)
    assert temperatures[-1] == RETRY_TEMPERATURES[-1]
    assert not writer.request(failed_with("a"), PROMPTS[0]).prefer_strongest
    last = replace(failed_with("a"), last_try=True)
    assert writer.request(last, PROMPTS[0]).prefer_strongest


IMAGE = ImageInput("cat.png", "image/png", PNG)


def test_images_go_to_a_model_that_sees_and_are_told_of_to_one_that_does_not() -> None:
    inputs = replace(INPUTS, images=(IMAGE,))
    seeing = PlanWriter(FakeModel(traits=ModelTraits(images=True)), profile())
    blind = PlanWriter(FakeModel(), profile())
    assert seeing.request(inputs, PROMPTS[0]).images == (IMAGE,)
    request = blind.request(inputs, PROMPTS[0])
    assert request.images == ()
    assert "cat.png (PNG, 1 × 1)" in request.user
    assert "cat.png" not in request.system


def test_no_prompt_is_written_for_a_planner_that_reads_none() -> None:
    reader = PlanWriter(FakeModel(), profile())
    silent = PlanWriter(FakeModel(traits=ModelTraits(reads_text=False)), profile())
    assert "add" in reader.request(INPUTS, PROMPTS[0]).prompt
    asked = silent.request(INPUTS, PROMPTS[0])
    assert (asked.prompt, asked.inputs) == ("", INPUTS)


async def test_a_declining_model_gives_its_reason() -> None:
    model = Answering(ModelReply("not my field", declined=True))
    assert await PlanWriter(model, profile())(INPUTS, PROMPTS[0]) == Declined("not my field")
    assert model.seen[0].inputs is INPUTS


async def test_the_missions_form_takes_loose_values_and_memory() -> None:
    model = Answering(ModelReply(SOLVE))
    items = [
        MemoryItem(
            timestamp=1, type="run_metadata", text="", user_query="add 5 and 7", tags=["run_start"]
        ),
        MemoryItem(timestamp=2, type="final_answer", text="12", final_answer="12"),
    ]
    plan = await generate_plan(
        "halve it",
        PerceptionResult(),
        items,
        INPUTS.tools,
        PROMPTS[0],
        model=model,
        profile=profile(),
    )
    assert plan == Plan(SOLVE)
    assert "add 5 and 7" in model.seen[0].prompt


def test_tools_that_were_left_out_are_counted_and_parameters_described_within_the_budget() -> None:
    tools = [tool(f"tool{n}", a="integer") for n in range(4)]
    inputs = DecisionInputs("q", ToolCatalog(tools).offering(tools[:1]), PerceptionResult())
    prompt = decision_prompt(inputs, PROMPTS[0], profile()).text
    assert "- tool0(a: int)" in prompt
    assert "tool1" not in prompt
    assert "3 more tools exist" in prompt
    assert 'await search_tools("' in prompt


async def test_a_model_that_declines_without_a_word_still_leaves_a_message() -> None:
    model = Answering(ModelReply(" ", declined=True))
    reply = await PlanWriter(model, profile())(INPUTS, PROMPTS[0])
    assert isinstance(reply, Declined)
    assert "gave no reason" in reply.explanation


def test_earlier_requests_of_any_length_leave_room_in_the_prompt() -> None:
    history = tuple(Exchange("q" * 100_000, "a" * 100_000) for _ in range(20))
    text = decision_prompt(replace(INPUTS, history=history), PROMPTS[0], profile()).text
    assert len(text) < 60_000


@pytest.mark.parametrize(
    ("tools", "is_invited"),
    [
        ([tool("remember", "memory", text="string")], True),
        ([tool("remember", "calendar", text="string", day="string")], False),
        ([tool("add", a="integer")], False),
    ],
)
def test_a_plan_is_invited_to_keep_lasting_facts_where_a_tool_keeps_them(
    tools: list[ToolSpec], *, is_invited: bool
) -> None:
    inputs = replace(INPUTS, tools=ToolCatalog(tools))
    prompt = decision_prompt(inputs, PROMPTS[0], profile())
    stable = prompt.text[: prompt.prefix_characters]
    assert ("awaits tools.remember(text=…), once for each fact" in stable) is is_invited


def test_a_plan_that_was_written_again_stands_in_the_prompt_once_and_is_asked_for_more_freely() -> (
    None
):
    (first,) = failed_with("a").failed
    again = replace(first, failure=PlanFailure("repeated", "the same"))
    inputs = replace(failed_with("a"), failed=(first, again))
    request = PlanWriter(FakeModel(), profile()).request(inputs, PROMPTS[0])
    assert request.temperature == REPEATED_TEMPERATURE
    assert "Plan 1 failed and was written 2 times, do not write it again:" in request.prompt
    assert "Plan 2 failed" not in request.prompt

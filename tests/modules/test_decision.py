"""Decision: what stands in the prompt, and how the plan is found in the reply."""

from dataclasses import replace
from pathlib import Path

import pytest

from config.schema import PersonaSection, StrategyProfile
from core.catalog import ToolCatalog
from core.memory_item import MemoryItem
from core.ports import DecisionInputs, ModelReply, ModelRequest
from core.turn import (
    Attempt,
    Declined,
    Exchange,
    NoPlan,
    PerceptionResult,
    Plan,
    PlanFailure,
    ToolCall,
)
from core.values import Json
from modules.decision import (
    DONE_CALLS,
    KEPT_CALLS,
    UNSURE_CALLS,
    PlanWriter,
    decision_prompt,
    find_plan,
    generate_plan,
)
from tests.doubles import FakeModel, profile, tool

PROMPTS = [
    "prompts/decision_prompt_conservative.txt",
    "prompts/decision_prompt_exploratory_parallel.txt",
    "prompts/decision_prompt_exploratory_sequential.txt",
]
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
    prompt = decision_prompt(INPUTS, path, profile())
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
        history=(Exchange("add 5 and 7", "12"),),
        step=2,
    )
    persona = PersonaSection(tone="cheerful", verbosity="high", behavior_tags=("curious",))
    prompt = decision_prompt(inputs, PROMPTS[0], profile().model_copy(update={"persona": persona}))
    for text in ("cheerful", "high", "curious", "add 5 and 7", "12", "halving", "2 of 3"):
        assert text in prompt


def test_a_retry_tells_plan_error_line_and_what_succeeded() -> None:
    failure = PlanFailure("tool", "division by zero", 3, "await tools.divide(a=1, b=0)")
    good = ToolCall("math.write", {"input": {"a": 1, "b": 2}}, True, 3, 0.1)
    bad = ToolCall("math.divide", {"input": {"a": 1, "b": 0}}, False, "division by zero", 0.1)
    attempt = Attempt(Plan("async def solve(): first try"), failure, (good, bad))
    inputs = DecisionInputs("q", INPUTS.tools, PerceptionResult(), failed=(attempt,))
    prompt = decision_prompt(inputs, PROMPTS[0], profile())
    assert "async def solve(): first try" in prompt
    assert "division by zero (line 3: await tools.divide(a=1, b=0))" in prompt
    done = prompt[prompt.index(DONE_CALLS) :]
    assert done.startswith(f'{DONE_CALLS}\n- math.write {{"input": {{"a": 1, "b": 2}}}} → 3\n\n')
    assert "math.divide" not in done


def retry_prompt(*failed: Attempt) -> str:
    """The prompt for a retry where `look` is a harmless tool."""
    tools = ToolCatalog([replace(tool("look"), read_only=True), tool("write")])
    inputs = DecisionInputs("q", tools, PerceptionResult(), failed=failed)
    return decision_prompt(inputs, PROMPTS[0], profile())


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
    assert f'{UNSURE_CALLS}\n- math.look {{"a": 2}} → "r"\n\nWrite' in prompt


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
    assert form in decision_prompt(inputs, PROMPTS[0], profile(strategy))


@pytest.mark.parametrize(
    "text",
    [
        SOLVE,
        f"```python\n{SOLVE}\n```",
        f"```\n{SOLVE}\n```",
        f"Here is the plan:\n\n```python\n{SOLVE}\n```\nIt adds.",
        f"```json\n{{}}\n```\nand\n```py\n{SOLVE}\n```",
        f"```python\n{SOLVE}",
    ],
)
def test_a_plan_is_found_in_fences_and_prose(text: str) -> None:
    plan = find_plan(text)
    assert isinstance(plan, Plan)
    assert plan.source == SOLVE


def test_a_plain_def_solve_is_a_plan_too() -> None:
    assert isinstance(find_plan("def solve():\n    return 1"), Plan)


@pytest.mark.parametrize("text", ["", "I can't.", "print('solve()')", "```python\nx = 1\n```"])
def test_a_reply_without_solve_is_no_plan_and_says_what_it_was(text: str) -> None:
    found = find_plan(text)
    assert isinstance(found, NoPlan)
    assert found.failure.kind == "no_plan"
    assert (text.strip() or "an empty reply") in found.failure.message


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
    prompt = decision_prompt(inputs, PROMPTS[0], profile())
    assert "- tool0(a: int)" in prompt
    assert "tool1" not in prompt
    assert "3 more tools exist" in prompt
    assert 'await search_tools("' in prompt

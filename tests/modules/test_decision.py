"""Decision: what stands in the prompt, and how the plan is found in the reply."""

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
from modules.decision import PlanWriter, decision_prompt, find_plan, generate_plan
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
    good = ToolCall("math.add", {"input": {"a": 1, "b": 2}}, True, 3, 0.1)
    bad = ToolCall("math.divide", {"input": {"a": 1, "b": 0}}, False, "division by zero", 0.1)
    attempt = Attempt(Plan("async def solve(): first try"), failure, (good, bad))
    inputs = DecisionInputs("q", INPUTS.tools, PerceptionResult(), failed=(attempt,))
    prompt = decision_prompt(inputs, PROMPTS[0], profile())
    assert "async def solve(): first try" in prompt
    assert "division by zero (line 3: await tools.divide(a=1, b=0))" in prompt
    succeeded = prompt[prompt.index("These calls succeeded") :]
    assert 'math.add {"input": {"a": 1, "b": 2}} → 3' in succeeded
    assert "math.divide" not in succeeded


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

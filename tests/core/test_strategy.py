"""Strategies: which tools come first, what is left out, and which prompt asks."""

import pytest

from config.schema import StrategyProfile
from core.catalog import ToolCatalog, ToolSpec
from core.memory_item import MemoryItem
from core.ports import DecisionInputs, PlanReply
from core.strategy import (
    TOOL_PROMPT_CHARACTERS,
    Decision,
    Situation,
    decide,
    find_recent_successful_tools,
    select_decision_prompt_path,
)
from core.turn import PerceptionResult, Plan
from tests.doubles import tool

EXPLORATORY = StrategyProfile(planning_mode="exploratory", exploration_mode="parallel")


async def generate(inputs: DecisionInputs, prompt_path: str) -> PlanReply:
    return Plan("async def solve(): ...")


def output(name: str, *, success: bool = True) -> MemoryItem:
    return MemoryItem(timestamp=1, type="tool_output", text="", tool_name=name, success=success)


def situation(
    tools: list[ToolSpec],
    perception: PerceptionResult | None = None,
    *,
    memory: list[MemoryItem] | None = None,
    basic: frozenset[str] = frozenset(),
    force_replan: bool = False,
) -> Situation:
    inputs = DecisionInputs("q", ToolCatalog(tools), perception or PerceptionResult())
    return Situation(inputs, memory or [], basic, lambda t, _: t.description, force_replan)


def names(decision: Decision) -> list[str]:
    return [spec.qualified_name for spec in decision.tools]


TOOLS = [tool("add"), tool("sin"), tool("search", "web"), tool("fetch", "web")]


@pytest.mark.parametrize(
    ("mode", "exploration", "file"),
    [
        ("conservative", None, "decision_prompt_conservative.txt"),
        ("conservative", "parallel", "decision_prompt_conservative.txt"),
        ("exploratory", "parallel", "decision_prompt_exploratory_parallel.txt"),
        ("exploratory", "sequential", "decision_prompt_exploratory_sequential.txt"),
    ],
)
def test_each_mode_has_its_prompt(mode: str, exploration: str | None, file: str) -> None:
    assert select_decision_prompt_path(mode, exploration) == f"prompts/{file}"


@pytest.mark.parametrize(("mode", "exploration"), [("bold", None), ("exploratory", "sideways")])
def test_an_unknown_mode_is_an_error(mode: str, exploration: str | None) -> None:
    with pytest.raises(ValueError, match="allowed: conservative"):
        select_decision_prompt_path(mode, exploration)


def test_recent_successes_come_newest_first_and_once() -> None:
    items = [output("a"), output("b"), output("c", success=False), output("a"), output("d")]
    assert find_recent_successful_tools(items) == ["d", "a", "b"]
    assert find_recent_successful_tools(items, limit=2) == ["d", "a"]
    assert find_recent_successful_tools([]) == []


async def test_perceptions_choice_ranks_and_hides_nothing() -> None:
    perception = PerceptionResult(selected_servers=["web"], tool_hint="FETCH")
    decision = await decide(StrategyProfile(), situation(TOOLS, perception), generate)
    assert names(decision) == ["web.fetch", "web.search", "math.add", "math.sin"]
    assert decision.prompt_path == "prompts/decision_prompt_conservative.txt"


async def test_basic_tools_come_before_the_unselected_rest() -> None:
    decision = await decide(
        StrategyProfile(),
        situation(TOOLS, PerceptionResult(selected_servers=["web"]), basic=frozenset({"math.sin"})),
        generate,
    )
    assert names(decision) == ["web.search", "web.fetch", "math.sin", "math.add"]


async def test_a_conservative_replan_ranks_all_alike() -> None:
    perception = PerceptionResult(selected_servers=["web"])
    decision = await decide(
        StrategyProfile(), situation(TOOLS, perception, force_replan=True), generate
    )
    assert names(decision) == ["math.add", "math.sin", "web.search", "web.fetch"]


async def test_an_exploratory_replan_falls_back_on_what_worked_before() -> None:
    memory = [output("sin"), output("web.fetch"), output("solve_sandbox"), output("gone")]
    decision = await decide(
        EXPLORATORY, situation(TOOLS, memory=memory, force_replan=True), generate
    )
    assert names(decision)[:2] == ["web.fetch", "math.sin"]
    assert len(decision.tools) == len(TOOLS)
    assert decision.prompt_path == "prompts/decision_prompt_exploratory_parallel.txt"


async def test_the_memory_fallback_can_be_switched_off() -> None:
    off = EXPLORATORY.model_copy(update={"memory_fallback_enabled": False})
    decision = await decide(
        off, situation(TOOLS, memory=[output("fetch")], force_replan=True), generate
    )
    assert names(decision)[0] == "math.add"


async def test_tools_beyond_the_prompts_budget_are_left_out_lowest_rank_first() -> None:
    long = "x" * (TOOL_PROMPT_CHARACTERS // 2)
    tools = [tool("a", description=long), tool("b", description=long), tool("c", description="x")]
    perception = PerceptionResult(tool_hint="c")
    decision = await decide(StrategyProfile(), situation(tools, perception), generate)
    assert names(decision) == ["math.c", "math.a"]


async def test_one_tool_larger_than_the_budget_is_still_offered() -> None:
    huge = tool("a", description="x" * (TOOL_PROMPT_CHARACTERS + 1))
    decision = await decide(StrategyProfile(), situation([huge]), generate)
    assert names(decision) == ["math.a"]

"""Planning strategies: which tools a plan sees, in which order, and which prompt asks for it.

Perception's choice of servers is right in nine of ten requests only (see the design page), so
it ranks tools and hides none while they fit the prompt.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, assert_never

from config.schema import StrategyProfile
from core.catalog import ToolCatalog, ToolSpec
from core.memory_item import SANDBOX_STEP, MemoryItem
from core.ports import DecisionInputs, GeneratePlan, PlanReply

TOOL_PROMPT_CHARACTERS = 24_000
"""Budget for tool descriptions in a prompt, about 6,000 tokens; the lowest ranked are left out."""

PROMPT_PATHS: dict[Literal["conservative", "parallel", "sequential"], str] = {
    "conservative": "prompts/decision_prompt_conservative.txt",
    "parallel": "prompts/decision_prompt_exploratory_parallel.txt",
    "sequential": "prompts/decision_prompt_exploratory_sequential.txt",
}


@dataclass(frozen=True, slots=True)
class Situation:
    """What a strategy decides from.

    `inputs.tools` holds every tool; `basic_tools` are qualified names that rank high always;
    `describe` renders one tool as it stands in the prompt. `force_replan` is set when an
    earlier plan of this step failed.
    """

    inputs: DecisionInputs
    memory_items: Sequence[MemoryItem]
    basic_tools: frozenset[str]
    describe: Callable[[ToolSpec, ToolCatalog], str]
    force_replan: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """The model's reply, the tools that its plan may call, and the prompt that asked for it."""

    reply: PlanReply
    tools: ToolCatalog
    prompt_path: str


def select_decision_prompt_path(planning_mode: str, exploration_mode: str | None) -> str:
    """The template for a planning mode, relative to the checkout.

    Raises:
        ValueError: an unknown mode; the profile's schema refuses these before a run starts.
    """
    if planning_mode == "conservative":
        return PROMPT_PATHS["conservative"]
    if planning_mode == "exploratory" and exploration_mode in ("parallel", "sequential"):
        return PROMPT_PATHS[exploration_mode]
    raise ValueError(
        f"unknown planning mode {planning_mode!r} with exploration mode {exploration_mode!r}; "
        "allowed: conservative; exploratory with parallel or sequential"
    )


def find_recent_successful_tools(memory_items: Sequence[MemoryItem], limit: int = 5) -> list[str]:
    """Names of the tools that worked last in this session: newest first, each once."""
    names: list[str] = []
    for item in reversed(memory_items):
        if len(names) >= limit:
            break
        name = item.tool_name if item.type == "tool_output" and item.success else None
        if name and name != SANDBOX_STEP and name not in names:
            names.append(name)
    return names


async def decide(
    strategy: StrategyProfile, situation: Situation, generate: GeneratePlan
) -> Decision:
    """Plan with the profile's strategy."""
    match strategy.planning_mode:
        case "conservative":
            return await conservative_plan(situation, generate)
        case "exploratory":
            return await exploratory_plan(strategy, situation, generate)
        case _:
            assert_never(strategy.planning_mode)


async def conservative_plan(situation: Situation, generate: GeneratePlan) -> Decision:
    """Ask for a one-call plan: perception's tools first; a replan ranks all tools alike."""
    first: Sequence[ToolSpec] = () if situation.force_replan else _perceived_tools(situation)
    inputs = _within_budget(situation, first)
    path = select_decision_prompt_path("conservative", None)
    return Decision(await generate(inputs, path), inputs.tools, path)


async def exploratory_plan(
    strategy: StrategyProfile, situation: Situation, generate: GeneratePlan
) -> Decision:
    """Ask for a parallel plan or a fallback chain.

    A replan puts first the tools that worked in this session, when the profile allows it and
    there are any; else all tools rank alike.
    """
    if not situation.force_replan:
        first = _perceived_tools(situation)
    elif strategy.memory_fallback_enabled:
        first = _remembered_tools(situation)
    else:
        first = []
    inputs = _within_budget(situation, first)
    path = select_decision_prompt_path(strategy.planning_mode, strategy.exploration_mode)
    return Decision(await generate(inputs, path), inputs.tools, path)


def _remembered_tools(situation: Situation) -> list[ToolSpec]:
    names = find_recent_successful_tools(situation.memory_items)
    return [tool for name in names if (tool := situation.inputs.tools.get(name)) is not None]


def _perceived_tools(situation: Situation) -> list[ToolSpec]:
    """The hinted tools, then those of the selected servers."""
    perception = situation.inputs.perception
    hint = (perception.tool_hint or "").lower()
    hinted = [t for t in situation.inputs.tools if hint and hint in t.name.lower()]
    selected = [t for t in situation.inputs.tools if t.server in perception.selected_servers]
    return [*hinted, *selected]


def _within_budget(situation: Situation, first: Sequence[ToolSpec]) -> DecisionInputs:
    """`first`, the basic tools, then all others, as many as the prompt holds, each once."""
    catalog = situation.inputs.tools
    basic = [tool for tool in catalog if tool.qualified_name in situation.basic_tools]
    ranked = {tool.qualified_name: tool for tool in [*first, *basic, *catalog]}
    kept: list[ToolSpec] = []
    room = TOOL_PROMPT_CHARACTERS
    for tool in ranked.values():
        room -= len(situation.describe(tool, catalog))
        if room < 0 and kept:
            break
        kept.append(tool)
    return replace(situation.inputs, tools=ToolCatalog(kept))

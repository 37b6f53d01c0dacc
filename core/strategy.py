"""Planning strategies: which tools a plan sees, in which order, and which prompt asks for it.

While all tools fit the prompt, they stand there in the same order for every request: providers
charge little for a beginning that they have seen before, and local models need not read it again.
What perception makes of the request stands further below. When there are more tools, those that
the request's words and perception's hint fit best are offered (`core.tools.ranking`), and a plan
may search for the others. Perception's choice of servers is right in nine of ten requests only (see
the design page), so that it ranks, and hides nothing by itself.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Literal, assert_never

from config.schema import StrategyProfile
from core.base.frozen import frozen
from core.ports import DecisionInputs, GeneratePlan, PlanReply
from core.tools.catalog import ToolCatalog
from core.tools.spec import ToolSpec
from core.turn import SANDBOX_STEP, MemoryItem

CHARACTERS_PER_TOKEN = 4
"""What a token is taken for: close enough for English and code, and no tokeniser is needed."""

DETAILS_SHARE = 0.25
"""The part of the budget that is left to the parameters of the first tools when not all fit."""

FOUND_SHARE = 0.5
"""The part of the rest that tools which a plan has found may take before the basic tools."""

HINTED_TOOL_WEIGHT = 0.4
"""What perception's hint adds to a tool's score, where the best fit of words alone has 1."""

SELECTED_SERVER_WEIGHT = 0.25
"""What perception's choice of a server adds to the score of each of its tools."""

LAST_TRY_TOOLS = 8
"""How many tools the last plan of a step is pointed to: a short list is another view of it all."""

UNREAD_TOOLS_MAX = 250
"""How many tools a planner that reads no prompt is offered: it weighs each, on the event loop."""

PROMPT_PATHS: dict[Literal["conservative", "parallel", "sequential"], str] = {
    "conservative": "prompts/decision_prompt_conservative.txt",
    "parallel": "prompts/decision_prompt_exploratory_parallel.txt",
    "sequential": "prompts/decision_prompt_exploratory_sequential.txt",
}


@frozen
class Situation:
    """What a strategy decides from.

    `inputs.tools` holds every tool; `basic_tools` are qualified names that rank high always, and
    `found_tools` those of tools that plans of this run have searched for; `describe` renders one
    tool as it stands in the prompt, None for a planner that reads no prompt. `force_replan` is set
    when an earlier plan of this step failed. Where not all tools fit into `tool_prompt_tokens`,
    `request` ranks them: the user's, without what steps have added to it.
    """

    inputs: DecisionInputs
    memory_items: Sequence[MemoryItem]
    basic_tools: frozenset[str]
    describe: Callable[[ToolSpec, ToolCatalog], str] | None
    force_replan: bool = False
    found_tools: Sequence[str] = ()
    request: str = ""
    tool_prompt_tokens: int = 6_000


@frozen
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
    """Ask for a one-call plan."""
    inputs = _within_budget(situation)
    path = select_decision_prompt_path("conservative", None)
    return Decision(await generate(inputs, path), inputs.tools, path)


async def exploratory_plan(
    strategy: StrategyProfile, situation: Situation, generate: GeneratePlan
) -> Decision:
    """Ask for a parallel plan or a fallback chain.

    A replan puts first the tools that worked in this session, when the profile allows it and
    there are any.
    """
    remembered: Sequence[ToolSpec] = ()
    if situation.force_replan and strategy.memory_fallback_enabled:
        remembered = _remembered_tools(situation)
    inputs = _within_budget(situation, remembered)
    path = select_decision_prompt_path(strategy.planning_mode, strategy.exploration_mode)
    return Decision(await generate(inputs, path), inputs.tools, path)


def _remembered_tools(situation: Situation) -> list[ToolSpec]:
    names = find_recent_successful_tools(situation.memory_items)
    return [tool for name in names if (tool := situation.inputs.tools.get(name)) is not None]


def _within_budget(situation: Situation, remembered: Sequence[ToolSpec] = ()) -> DecisionInputs:
    """The inputs with the tools that the prompt offers, in its order.

    While all fit: the remembered, the basic tools, then all others. Else those that were found,
    because a plan asked for them, the basic tools, then by how well they fit the request, as many
    as there is room for. The last try of a step is pointed to the best few.
    """
    catalog = situation.inputs.tools
    room: float = situation.tool_prompt_tokens * CHARACTERS_PER_TOKEN
    found = [tool for name in situation.found_tools if (tool := catalog.get(name)) is not None]
    basic = [tool for tool in catalog if tool.qualified_name in situation.basic_tools]
    everything = catalog.offering([*remembered, *basic, *catalog])
    if len(_first_that_fit(everything, situation, room)) == len(everything):
        return replace(
            situation.inputs, tools=everything, shortlist=_shortlist(situation, everything)
        )
    room *= 1 - DETAILS_SHARE
    asked_for = _first_that_fit(catalog.offering(found), situation, room * FOUND_SHARE)
    ranked = catalog.offering([*asked_for, *basic, *found, *remembered, *_by_fit(situation)])
    kept = _first_that_fit(ranked, situation, room)
    offered = catalog.offering(kept or [*ranked][:1])
    return replace(situation.inputs, tools=offered, shortlist=_shortlist(situation, offered))


def _shortlist(situation: Situation, offered: ToolCatalog) -> tuple[str, ...]:
    """The tools that the last try is pointed to, as plans name them.

    They stand in the prompt beside all others, not instead of them: what stays the same in it
    need not be read again.
    """
    catalog = situation.inputs.tools
    if not situation.inputs.last_try or len(offered) <= LAST_TRY_TOOLS:
        return ()
    shown = {tool.qualified_name for tool in offered}
    best = [tool for tool in _by_fit(situation) if tool.qualified_name in shown]
    return tuple(catalog.plan_name(tool) for tool in best[:LAST_TRY_TOOLS])


def _first_that_fit(tools: ToolCatalog, situation: Situation, room: float) -> list[ToolSpec]:
    """The first tools, up to the one whose line is too long for what is left of `room`.

    No more of them are described than that: it takes a tenth of a millisecond each.
    """
    if situation.describe is None:
        return [*islice(tools, UNREAD_TOOLS_MAX)]
    kept: list[ToolSpec] = []
    for tool in tools:
        room -= len(situation.describe(tool, tools)) + 1
        if room < 0:
            break
        kept.append(tool)
    return kept


def _by_fit(situation: Situation) -> list[ToolSpec]:
    """All tools by the request's words, with perception's hint and servers unless those failed."""
    catalog, perception = situation.inputs.tools, situation.inputs.perception
    scores = catalog.rank(situation.request or situation.inputs.user_input)
    best = max(scores.values(), default=1.0)
    fit = {name: score / best for name, score in scores.items()}
    if not situation.force_replan:
        hint = (perception.tool_hint or "").lower()
        for tool in catalog:
            hinted = HINTED_TOOL_WEIGHT if hint and hint in tool.name.lower() else 0.0
            chosen = SELECTED_SERVER_WEIGHT if tool.server in perception.selected_servers else 0.0
            fit[tool.qualified_name] = fit.get(tool.qualified_name, 0.0) + hinted + chosen
    return sorted(catalog, key=lambda tool: -fit.get(tool.qualified_name, 0.0))

"""Planning strategies: which tools a plan sees, in which order, and which prompt asks for it.

While all tools fit the prompt, they stand there in the same order for every request: providers
charge little for a beginning that they have seen before, and local models need not read it again.
What perception makes of the request stands further below. When there are more tools, those that
the request's words and perception's hint fit best are offered (`core.tools.ranking`), and a plan
may search for the others. Perception's choice of servers is right in nine of ten requests only (see
the design page), so that it ranks, and hides nothing by itself.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from itertools import islice
from typing import Literal, assert_never

from config.schema import StrategyProfile
from core.base.frozen import frozen
from core.ports import DecisionInputs, GeneratePlan, PlanReply
from core.tools.catalog import ToolCatalog
from core.tools.record import UNKNOWN_RATE, ToolRecord
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

FIT_LEVELS = 4
"""Tools whose fit is in the same quarter of the best are told apart by how they did before."""

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
    `request` ranks them: the user's, without what steps have added to it. `tool_records` tell, by
    qualified names, how tools did over sessions.
    """

    inputs: DecisionInputs
    memory_items: Sequence[MemoryItem]
    basic_tools: frozenset[str]
    describe: Callable[[ToolSpec, ToolCatalog], str] | None
    force_replan: bool = False
    found_tools: Sequence[str] = ()
    request: str = ""
    tool_prompt_tokens: int = 6_000
    tool_records: Mapping[str, ToolRecord] = field(default_factory=dict[str, ToolRecord])


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
    """Plan with the profile's strategy; what worked before counts if the profile allows it."""
    if not strategy.memory_fallback_enabled:
        situation = replace(situation, memory_items=(), tool_records={})
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

    A replan puts first the tools that worked in this session.
    """
    remembered = _remembered_tools(situation) if situation.force_replan else ()
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
        return _offering(everything, situation)
    room *= 1 - DETAILS_SHARE
    asked_for = _first_that_fit(catalog.offering(found), situation, room * FOUND_SHARE)
    ranked = catalog.offering([*asked_for, *basic, *found, *remembered, *_by_fit(situation)])
    kept = _first_that_fit(ranked, situation, room)
    return _offering(catalog.offering(kept or [*ranked][:1]), situation)


def _offering(tools: ToolCatalog, situation: Situation) -> DecisionInputs:
    """The inputs with these tools, and what is told of tools after a failed plan."""
    shortlist = _shortlist(situation, tools)
    return replace(situation.inputs, tools=tools, shortlist=shortlist, failing=_failing(situation))


def _failing(situation: Situation) -> tuple[ToolRecord, ...]:
    """The records of tools that failed in plans of this step, and that mostly fail."""
    calls = (call for attempt in situation.inputs.failed for call in attempt.calls)
    names = dict.fromkeys(call.tool for call in calls if not call.ok and not call.refused)
    records = (situation.tool_records.get(name) for name in names)
    return tuple(record for record in records if record is not None and record.fails_mostly)


def _shortlist(situation: Situation, offered: ToolCatalog) -> tuple[str, ...]:
    """The tools that the last try is pointed to, as plans name them.

    They stand in the prompt beside all others, not instead of them: what stays the same in it
    need not be read again. Those that fit about as well stand in the order of what worked last in
    this session, then of how often they worked over sessions.
    """
    catalog = situation.inputs.tools
    if not situation.inputs.last_try or len(offered) <= LAST_TRY_TOOLS:
        return ()
    shown = {tool.qualified_name for tool in offered}
    fit = _fit(situation)
    remembered = [tool.qualified_name for tool in _remembered_tools(situation)]
    worked = {name: place for place, name in enumerate(remembered)}

    def order(tool: ToolSpec) -> tuple[float, ...]:
        name = tool.qualified_name
        record = situation.tool_records.get(name)
        rate = UNKNOWN_RATE if record is None else record.success_rate
        own = fit.get(name, 0.0)
        return -int(own * FIT_LEVELS), worked.get(name, len(worked)), -rate, -own

    best = sorted((tool for tool in catalog if tool.qualified_name in shown), key=order)
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
    """All tools, those that fit best first."""
    fit = _fit(situation)
    return sorted(situation.inputs.tools, key=lambda tool: -fit.get(tool.qualified_name, 0.0))


def _fit(situation: Situation) -> dict[str, float]:
    """How well tools fit the request's words, 1 at best, by qualified names; 0 is left out.

    Perception's hint and servers add to that, unless a plan failed that they may have misled.
    """
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
    return fit

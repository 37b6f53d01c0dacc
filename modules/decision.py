"""Decision: ask a model for a `solve()` plan, and find the plan in what it wrote."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from config.schema import AgentProfile
from core.catalog import ToolCatalog
from core.json_preview import json_start
from core.memory_item import MemoryItem
from core.ports import DecisionInputs, ModelRequest, PlanReply, TextModel
from core.strategy import CHARACTERS_PER_TOKEN
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
from modules.memory import exchanges
from modules.sandbox.prelude import PLAN_LANGUAGE_NOTES
from modules.tools import fill_prompt, load_prompt, summarize_tools

RESULT_CHARACTERS = 400
"""How much of an earlier call's result or answer a prompt repeats."""

FAILED_PLAN_CHARACTERS = 12 * 1024
"""How much of a plan that failed a prompt repeats; a reply without a plan may be longer."""

FAILED_CALLS_SHOWN = 50
"""How many calls a retry is told of each kind: kept, done, and neither; the newest."""

KEPT_CALLS = "These calls succeeded and are kept: repeating one gives this result at no cost:"
"""Heads the calls whose results a retry gets without anything being sent."""

DONE_CALLS = (
    "These calls are done, they may have changed something: don't call again, use the results:"
)
"""Heads the calls that succeeded and must not be made twice."""

UNSURE_CALLS = (
    "These calls succeeded, but may give something else by now; repeat one if you need it:"
)
"""Heads harmless calls whose results are not kept any more."""

_FENCE = re.compile(r"```[ \t]*\w*[ \t]*\n(.*?)(?:\n```|\Z)", re.DOTALL)
_SOLVE = re.compile(r"^[ \t]*(?:async[ \t]+)?def[ \t]+solve[ \t]*\(", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class PlanWriter:
    """Writes plans for one profile with one model; `core.ports.GeneratePlan`."""

    model: TextModel
    profile: AgentProfile

    async def __call__(self, inputs: DecisionInputs, prompt_path: str) -> PlanReply:
        """Fill the template at `prompt_path` with `inputs`, ask the model, find the plan.

        Raises:
            ModelUnavailable: the model can't be reached or refused.
        """
        prompt = decision_prompt(inputs, prompt_path, self.profile)
        reply = await self.model.generate(ModelRequest("decision", prompt, inputs))
        return Declined(reply.text) if reply.declined else find_plan(reply.text)


async def generate_plan(
    user_input: str,
    perception: PerceptionResult,
    memory_items: Sequence[MemoryItem],
    tool_descriptions: ToolCatalog,
    prompt_path: str,
    step_num: int = 1,
    max_steps: int = 3,
    *,
    model: TextModel,
    profile: AgentProfile,
) -> PlanReply:
    """One plan from loose values, the mission's form of the decision step.

    `memory_items` reach the prompt as the session's earlier exchanges; `tool_descriptions` is
    the catalogue of the tools that the plan may call.

    Raises:
        ModelUnavailable: the model can't be reached or refused.
    """
    inputs = DecisionInputs(
        user_input=user_input,
        tools=tool_descriptions,
        perception=perception,
        history=exchanges(memory_items),
        plan_style=profile.strategy.plan_style,
        planning_mode=profile.strategy.planning_mode,
        exploration_mode=profile.strategy.exploration_mode,
        max_tool_calls=profile.sandbox.tool_calls,
        step=step_num,
        max_steps=max_steps,
    )
    return await PlanWriter(model, profile)(inputs, prompt_path)


def decision_prompt(inputs: DecisionInputs, prompt_path: str, profile: AgentProfile) -> str:
    """The prompt that is sent: what never changes first, so that provider caches hold."""
    persona = profile.persona
    values = {
        "agent": f"{profile.agent.name} ({profile.agent.id}). {profile.agent.description.strip()}",
        "persona": f"Tone: {persona.tone}. Verbosity: {persona.verbosity}. "
        f"Behaviour: {', '.join(persona.behavior_tags) or 'as you see fit'}.",
        "language_notes": PLAN_LANGUAGE_NOTES,
        "examples": load_prompt(f"prompts/plan_examples_{inputs.plan_style}.txt").strip(),
        "tool_descriptions": summarize_tools(
            inputs.tools, profile.strategy.tool_prompt_tokens * CHARACTERS_PER_TOKEN
        )
        or "(no tools are available)",
        "max_tool_calls": str(inputs.max_tool_calls),
        "history": _history_text(inputs.history),
        "perception": _perception_text(inputs.perception),
        "user_input": inputs.user_input,
        "step": f"{inputs.step} of {inputs.max_steps}",
        "failures": _failures_text(inputs.failed, inputs.tools),
    }
    return fill_prompt(load_prompt(prompt_path), values)


def find_plan(text: str) -> Plan | NoPlan:
    """The plan in a model's reply: the first fenced block with a `solve()`, else the text."""
    candidates = [*_FENCE.findall(text), text.strip().strip("`")]
    for candidate in candidates:
        if _SOLVE.search(candidate):
            return Plan(candidate.strip("\n"))
    shown = text.strip()[:RESULT_CHARACTERS] or "(an empty reply)"
    return NoPlan(
        text, PlanFailure("no_plan", f"the reply held no `async def solve():` but: {shown}")
    )


def _perception_text(perception: PerceptionResult) -> str:
    hint = f"; a tool that may fit: {perception.tool_hint}" if perception.tool_hint else ""
    entities = f"; about: {', '.join(perception.entities)}" if perception.entities else ""
    return f"{perception.intent}{entities}{hint}"


def _history_text(history: Sequence[Exchange]) -> str:
    if not history:
        return "(this is the first request)"
    return "\n".join(f"User: {e.request}\nAnswer: {_short(e.answer)}" for e in history)


def _failures_text(failed: Sequence[Attempt], tools: ToolCatalog) -> str:
    """What went wrong before in this step, and what of it need not or must not be done again."""
    if not failed:
        return ""
    parts = [
        f"Plan {number} failed:\n{_short(attempt.plan.source, FAILED_PLAN_CHARACTERS)}\n"
        f"→ {attempt.failure}"
        for number, attempt in enumerate(failed, start=1)
    ]
    parts += _calls_so_far(failed, tools)
    parts.append("Write a plan that differs from these and avoids their errors.")
    return "\n\n".join(parts)


def _calls_so_far(failed: Sequence[Attempt], tools: ToolCatalog) -> list[str]:
    """The calls that succeeded, by what another plan may do with them; a paragraph a kind."""
    kept = dict.fromkeys(map(_call_text, failed[-1].kept))
    done: dict[str, None] = {}
    unsure: dict[str, None] = {}
    for call in (call for attempt in failed for call in attempt.calls if call.ok):
        if (text := _call_text(call)) not in kept:
            (unsure if _is_harmless(call, tools) else done)[text] = None
    paragraphs = {KEPT_CALLS: kept, DONE_CALLS: done, UNSURE_CALLS: unsure}
    return [f"{head}\n{_newest(lines)}" for head, lines in paragraphs.items() if lines]


def _is_harmless(call: ToolCall, tools: ToolCatalog) -> bool:
    tool = tools.lookup(call.tool)
    return tool is not None and (tool.read_only or tool.idempotent)


def _newest(lines: Iterable[str]) -> str:
    """The lines that a prompt has room for, and how many are missing before them."""
    lines = list(lines)
    left_out = len(lines) - FAILED_CALLS_SHOWN
    head = [f"- ({left_out} earlier ones are left out here)"] if left_out > 0 else []
    return "\n".join([*head, *lines[-FAILED_CALLS_SHOWN:]])


def _call_text(call: ToolCall) -> str:
    arguments = json_start(call.arguments, RESULT_CHARACTERS)
    return f"- {call.tool} {arguments} → {json_start(call.result, RESULT_CHARACTERS)}"


def _short(text: str, characters: int = RESULT_CHARACTERS) -> str:
    return text if len(text) <= characters else f"{text[:characters]}…"

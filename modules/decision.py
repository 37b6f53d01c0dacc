"""Decision: ask a model for a `solve()` plan, and find the plan in what it wrote."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from config.schema import AgentProfile
from core.catalog import ToolCatalog
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
        "failures": _failures_text(inputs.failed),
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


def _failures_text(failed: Sequence[Attempt]) -> str:
    """What went wrong before in this step, and what need not be done again."""
    if not failed:
        return ""
    parts = [
        f"Plan {number} failed:\n{attempt.plan.source}\n→ {attempt.failure}"
        for number, attempt in enumerate(failed, start=1)
    ]
    done = {_call_text(call) for attempt in failed for call in attempt.calls if call.ok}
    if done:
        parts.append(
            "These calls succeeded; use their results, don't repeat them:\n"
            + "\n".join(sorted(done))
        )
    parts.append("Write a plan that differs from these and avoids their errors.")
    return "\n\n".join(parts)


def _call_text(call: ToolCall) -> str:
    arguments = json.dumps(call.arguments, ensure_ascii=False)
    return (
        f"- {call.tool} {_short(arguments)} → {_short(json.dumps(call.result, ensure_ascii=False))}"
    )


def _short(text: str) -> str:
    return text if len(text) <= RESULT_CHARACTERS else f"{text[:RESULT_CHARACTERS]}…"

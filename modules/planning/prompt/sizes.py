"""How large a prompt is, part by part."""

from dataclasses import replace

from config.schema import AgentProfile
from core.base.frozen import frozen
from core.context import Parts
from core.ports import DecisionInputs, PlanReply
from core.run.observation import observation_room
from core.strategy import CHARACTERS_PER_TOKEN
from core.turn import Plan
from modules.decision import PlanWriter, within_context
from modules.memory.past import Past, exchange_characters
from modules.memory.recollection import Remembering
from modules.planning.by_hand import NOT_RUN, WrittenPlan
from modules.planning.prompt.stubs import summarize_tools
from modules.session.attached.attachments import texts_note


@frozen
class PromptSizes:
    """Characters by part, in the order in which they are told; `images` is how many go along.

    `characters_per_token` is as the model's own tokenizer counted, None before its first prompt;
    `context_tokens` None where nobody says.
    """

    parts: dict[str, int]
    images: int
    context_tokens: int | None
    characters_per_token: float | None

    def tokens(self, characters: int) -> int:
        """About so many tokens."""
        return round(characters / (self.characters_per_token or CHARACTERS_PER_TOKEN))


class MeasuredPrompt(WrittenPlan):
    """Measures the first prompt of a run as `sizes`; no model is asked, and nobody is told.

    They stay None for a planner that reads no prompt.
    """

    is_told = False

    def __init__(self) -> None:
        super().__init__()
        self.sizes: PromptSizes | None = None

    def profile(self, profile: AgentProfile) -> AgentProfile:
        """One in which words alone perceive."""
        return profile.with_strategy(perception="never")

    def parts(self, parts: Parts) -> Parts:
        """Those that come before a plan is asked for."""
        writer = parts.generate_plan

        async def measure(inputs: DecisionInputs, prompt_path: str) -> PlanReply:
            if isinstance(writer, PlanWriter) and isinstance(writer.remember, Remembering):
                past = writer.remember.told(inputs.history)
                self.sizes = _sizes(writer, inputs, prompt_path, past)
            return Plan(NOT_RUN)

        return replace(super().parts(parts), generate_plan=measure)


def _sizes(writer: PlanWriter, inputs: DecisionInputs, prompt_path: str, past: Past) -> PromptSizes:
    """The parts of the prompt that would be written."""
    request, traits = writer.request(inputs, prompt_path, past), writer.model.traits
    inputs, profile = within_context(traits.context_tokens, inputs, writer.profile)
    tools_room = profile.strategy.tool_prompt_tokens * CHARACTERS_PER_TOKEN
    text_room = observation_room(traits.context_tokens)
    parts = {
        "tools": len(summarize_tools(inputs.tools, tools_room)),
        "your texts and the project's": len(writer.guided.section) + len(writer.guided.note),
        "what you stated": sum(map(len, past.facts)),
        "earlier sessions": sum(map(len, past.memories)),
        "notes on this session": len(past.summary),
        "requests and answers": sum(map(exchange_characters, past.turns)),
        "attached": len(texts_note(inputs.texts, text_room, inputs.borders)),
        "the request": len(inputs.user_input),
    }
    system = len(request.prompt) - sum(parts.values())
    return PromptSizes(
        {"instructions": system, **parts},
        len(request.images),
        traits.context_tokens,
        traits.characters_per_token,
    )

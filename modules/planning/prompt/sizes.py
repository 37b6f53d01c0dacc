"""How large a prompt is, part by part."""

from config.schema import AgentProfile
from core.base.frozen import frozen
from core.ports import DecisionInputs, ModelRequest, ModelTraits
from core.run.observation import observation_room
from core.strategy import CHARACTERS_PER_TOKEN
from modules.memory.past import Past, exchange_characters
from modules.planning.prompt.stubs import summarize_tools
from modules.session.attachments import texts_note


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


def prompt_sizes(
    request: ModelRequest,
    inputs: DecisionInputs,
    past: Past,
    profile: AgentProfile,
    traits: ModelTraits,
) -> PromptSizes:
    """The parts of the prompt that was written from `inputs` and `past`."""
    tools_room = profile.strategy.tool_prompt_tokens * CHARACTERS_PER_TOKEN
    text_room = observation_room(traits.context_tokens)
    parts = {
        "tools": len(summarize_tools(inputs.tools, tools_room)),
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

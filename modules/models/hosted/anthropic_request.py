"""The body of a request to Anthropic's Messages API.

Follows platform.claude.com, "Create a Message" of API version 2026-10-21, which knows no
temperature: a request that names one is refused. Heavy: imports anthropic (1.3 s).
"""

import base64
from dataclasses import dataclass
from typing import Final, cast

from anthropic.types.image_block_param import ImageBlockParam
from anthropic.types.message_create_params import MessageCreateParamsStreaming
from anthropic.types.output_config_param import OutputConfigParam
from anthropic.types.text_block_param import TextBlockParam
from anthropic.types.thinking_config_param import ThinkingConfigParam

from config.models_file import ModelEntry, ThinkingEffort
from core.ports import ImageInput, ModelRequest
from core.values import Json, JsonObject
from modules.models.serving.budget import output_limit

OUTPUT_TOKENS = 32_000
"""`max_tokens` unless an entry says: every model since Claude 4 takes it, thinking included."""

LEAST_OUTPUT_TOKENS = 4096
"""The same where the service does not say, such as with others who speak this protocol."""

LEAST_BUDGET_TOKENS = 1024
"""The least that a model may be given to think, where it is given a number."""

CACHED_CHARACTERS_MIN = 2000
"""A shorter prefix is below the 512 tokens that the least demanding model caches."""

THINKING_ROOM_TOKENS = 16_384
"""What a model that thinks gets on top of what a request allows for its reply."""

_BUDGETS: Final[dict[ThinkingEffort, int]] = {"low": 2048, "medium": 8192, "high": 16_384}

_OFF: Final = ("disabled", "between_tools")
"""The values of `thinking.type` that turn it off, the better one first."""


@dataclass(frozen=True, slots=True)
class ClaudeFacts:
    """What a model takes: `output_tokens` at most, schemas, and how its thinking is set.

    `adaptive`: by an effort; `budget`: by a number of tokens; `off`: the `thinking.type` that
    turns it off, None where nothing does. What is said here by default holds of the newest.
    """

    output_tokens: int | None = None
    schemas: bool = True
    adaptive: bool = True
    budget: bool = False
    off: str | None = "disabled"


LEAST = ClaudeFacts(LEAST_OUTPUT_TOKENS, schemas=False, adaptive=False)
"""What every model takes, also of others who speak this protocol."""


def facts_in(document: JsonObject) -> ClaudeFacts:
    """The facts in an answer of the Models API ("Get a model"); what is missing is not taken."""
    most, capabilities = document.get("max_tokens"), document.get("capabilities")
    return ClaudeFacts(
        most if isinstance(most, int) and most > 0 else LEAST_OUTPUT_TOKENS,
        schemas=_can(capabilities, "structured_outputs"),
        adaptive=_can(capabilities, "thinking", "types", "adaptive"),
        budget=_can(capabilities, "thinking", "types", "enabled"),
        off=next((t for t in _OFF if _can(capabilities, "thinking", "types", t)), None),
    )


def _can(value: Json, *keys: str) -> bool:
    for key in (*keys, "supported"):
        value = value.get(key) if isinstance(value, dict) else None
    return value is True


def message_params(
    facts: ClaudeFacts, entry: ModelEntry, request: ModelRequest
) -> MessageCreateParamsStreaming:
    """The body. Encodes images, a millisecond a megabyte: call it in a thread if there are any.

    The prefix of the prompt goes as the system message, with a mark behind it up to which the
    service keeps it for five minutes.
    """
    has_user_text = bool(request.user.strip())
    limit = _output_limit(facts, entry, request)
    text: TextBlockParam = {
        "type": "text",
        "text": request.user if has_user_text else request.prompt,
    }
    params: MessageCreateParamsStreaming = {
        "model": entry.model or "",
        "max_tokens": limit,
        "messages": [
            {"role": "user", "content": [*(_image(image) for image in request.images), text]}
        ],
        "stream": True,
    }
    if has_user_text and request.system.strip():
        params["system"] = [_system(request.system)]
    if (thinking := _thinking(facts, entry.thinking, limit)) is not None:
        params["thinking"] = cast("ThinkingConfigParam", thinking)
    if output := _output_config(facts, entry, request):
        params["output_config"] = output
    return params


def _output_limit(facts: ClaudeFacts, entry: ModelEntry, request: ModelRequest) -> int:
    """`max_tokens`: what the entry says is for all that is written, as it is billed."""
    most = entry.max_output_tokens or OUTPUT_TOKENS
    most = min(most, facts.output_tokens or most)
    room = 0 if entry.thinking == "off" and facts.off is not None else THINKING_ROOM_TOKENS
    return output_limit(request, most, room) or most


def _thinking(
    facts: ClaudeFacts, effort: ThinkingEffort | None, room_tokens: int
) -> JsonObject | None:
    """The value of `thinking`; None leaves it out. `room_tokens` is the output's limit."""
    if effort is None:
        return None
    if effort == "off":
        return {"type": facts.off} if facts.off is not None else None
    if facts.adaptive:
        # By default the newest send their thoughts without a word of text.
        return {"type": "adaptive", "display": "summarized"}
    budget = min(_BUDGETS[effort], room_tokens // 2)
    if not facts.budget or budget < LEAST_BUDGET_TOKENS:
        return None
    return {"type": "enabled", "budget_tokens": budget}


def _output_config(
    facts: ClaudeFacts, entry: ModelEntry, request: ModelRequest
) -> OutputConfigParam:
    config: JsonObject = {}
    if entry.thinking == "off":
        if facts.off is None:
            config["effort"] = "low"
    elif entry.thinking is not None and facts.adaptive:
        config["effort"] = entry.thinking
    if request.schema is not None and facts.schemas:
        config["format"] = {"type": "json_schema", "schema": request.schema}
    return cast("OutputConfigParam", config)


def _system(text: str) -> TextBlockParam:
    block: TextBlockParam = {"type": "text", "text": text}
    if len(text) >= CACHED_CHARACTERS_MIN:
        block["cache_control"] = {"type": "ephemeral"}
    return block


def _image(image: ImageInput) -> ImageBlockParam:
    data = base64.standard_b64encode(image.data).decode("ascii")
    return {
        "type": "image",
        "source": {"type": "base64", "media_type": image.media_type, "data": data},
    }

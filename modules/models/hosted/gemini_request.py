"""What the Gemini API is asked, made of a request and what the model takes of it.

Follows ai.google.dev of November 2026, "Gemini thinking": generations up to 2.5 think by a budget
in tokens, later ones by a level, and are not to be given a temperature. Which level or budget is
the least that a model takes, its refusals say. Heavy: imports google.genai (0.6 s).
"""

import re
from dataclasses import dataclass
from typing import Final

from google.genai.types import (
    AutomaticFunctionCallingConfig,
    Content,
    GenerateContentConfig,
    Part,
    ThinkingConfig,
    ThinkingLevel,
)

from config.models_file import ModelEntry, ThinkingEffort
from core.ports import ModelRequest
from modules.models.serving.budget import output_limit

JSON_TYPE = "application/json"

THINKING_ROOM_TOKENS = 16_384
"""What a model that thinks gets on top of what a request allows for its reply."""

_LEVELS: Final[dict[ThinkingEffort, tuple[ThinkingLevel, ...]]] = {
    "off": (ThinkingLevel.MINIMAL, ThinkingLevel.LOW),
    "low": (ThinkingLevel.LOW,),
    "medium": (ThinkingLevel.MEDIUM, ThinkingLevel.HIGH),
    "high": (ThinkingLevel.HIGH,),
}
"""The best value first, then those for models that refuse it."""

_BUDGETS: Final[dict[ThinkingEffort, tuple[int, ...]]] = {
    "off": (0, 128),
    "low": (1024,),
    "medium": (8192,),
    "high": (24_576,),
}

_BY_BUDGET: Final = re.compile(r"gemini-[12](?![0-9])")


@dataclass(frozen=True, slots=True)
class GeminiSettings:
    """What an entry says of its model, and what of it the model has not refused.

    `thinking` are the values for its effort, of which the first is sent, none where it is empty.
    """

    entry: ModelEntry
    thinking: tuple[ThinkingConfig, ...]
    room_tokens: int
    temperature: bool
    schemas: bool


def settings_of(entry: ModelEntry) -> GeminiSettings:
    """The settings to begin with."""
    model, effort = entry.model or "", entry.thinking
    by_budget = _BY_BUDGET.search(model) is not None
    return GeminiSettings(
        entry,
        () if effort is None else tuple(_thinking(effort, by_budget=by_budget)),
        room_tokens=0 if by_budget and effort == "off" else THINKING_ROOM_TOKENS,
        temperature=by_budget or "gemini" not in model,
        schemas="gemini" in model,
    )


def _thinking(effort: ThinkingEffort, *, by_budget: bool) -> list[ThinkingConfig]:
    """How long to think, with a summary of the thoughts."""
    shown = True if effort != "off" else None
    if by_budget:
        budgets = _BUDGETS[effort]
        return [
            ThinkingConfig(thinking_budget=tokens, include_thoughts=shown) for tokens in budgets
        ]
    return [
        ThinkingConfig(thinking_level=level, include_thoughts=shown) for level in _LEVELS[effort]
    ]


def contents(request: ModelRequest) -> Content:
    """The user's turn: images first, as Google advises, then the text.

    A prompt that is all prefix goes here too, because an empty turn is refused.
    """
    images = [
        Part.from_bytes(data=image.data, mime_type=image.media_type) for image in request.images
    ]
    text = request.user if request.user.strip() else request.prompt
    return Content(role="user", parts=[*images, Part.from_text(text=text)])


def generation_config(settings: GeminiSettings, request: ModelRequest) -> GenerateContentConfig:
    """Everything but the user's turn."""
    has_user_text = bool(request.user.strip())
    schema = request.schema if settings.schemas else None
    return GenerateContentConfig(
        system_instruction=request.system if has_user_text and request.system else None,
        temperature=request.temperature if settings.temperature else None,
        max_output_tokens=output_limit(
            request, settings.entry.max_output_tokens, settings.room_tokens
        ),
        response_mime_type=JSON_TYPE if schema is not None else None,
        response_json_schema=schema,
        thinking_config=settings.thinking[0] if settings.thinking else None,
        # Requests of its own are nothing that an SDK should send.
        automatic_function_calling=AutomaticFunctionCallingConfig(disable=True),
        automatic_continuation=False,
    )

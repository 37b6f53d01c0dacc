"""What the Gemini API is asked, made of a request and what is known of the model's family.

Heavy: imports google.genai (0.6 s).
"""

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
from modules.models.hosted.google.family import GeminiFamily
from modules.models.serving.budget import output_limit

JSON_TYPE = "application/json"


def contents(request: ModelRequest) -> Content:
    """The user's turn: images first, as Google advises, then the text.

    A prompt that is all prefix goes here too, because an empty turn is refused.
    """
    images = [
        Part.from_bytes(data=image.data, mime_type=image.media_type) for image in request.images
    ]
    text = request.user if request.user.strip() else request.prompt
    return Content(role="user", parts=[*images, Part.from_text(text=text)])


def generation_config(
    family: GeminiFamily, entry: ModelEntry, request: ModelRequest
) -> GenerateContentConfig:
    """Everything but the user's turn."""
    has_user_text = bool(request.user.strip())
    schema = request.schema if family.is_gemini else None
    return GenerateContentConfig(
        system_instruction=request.system if has_user_text and request.system else None,
        temperature=request.temperature if family.takes_temperature else None,
        max_output_tokens=output_limit(
            request, entry.max_output_tokens, family.room_tokens(entry.thinking)
        ),
        response_mime_type=JSON_TYPE if schema is not None else None,
        response_json_schema=schema,
        thinking_config=thinking_config(family, entry.thinking),
        # Requests of its own are nothing that an SDK should send.
        automatic_function_calling=AutomaticFunctionCallingConfig(disable=True),
        automatic_continuation=False,
    )


def thinking_config(family: GeminiFamily, effort: ThinkingEffort | None) -> ThinkingConfig | None:
    """How long to think, with a summary of the thoughts; None leaves it to the service."""
    if effort is None:
        return None
    shown = True if effort != "off" else None
    if family.thinks_in_levels:
        level = ThinkingLevel(family.thinking_level(effort).upper())
        return ThinkingConfig(thinking_level=level, include_thoughts=shown)
    return ThinkingConfig(thinking_budget=family.thinking_budget(effort), include_thoughts=shown)

"""The body of a request to Anthropic's Messages API.

Follows platform.claude.com, "Create a Message" of API version 2026-10-21, which knows no
temperature: a request that names one is refused. Heavy: imports anthropic (1.3 s).
"""

import base64
from typing import cast

from anthropic import transform_schema
from anthropic.types.image_block_param import ImageBlockParam
from anthropic.types.message_create_params import MessageCreateParamsStreaming
from anthropic.types.output_config_param import OutputConfigParam
from anthropic.types.text_block_param import TextBlockParam
from anthropic.types.thinking_config_param import ThinkingConfigParam

from config.models_file import ModelEntry
from core.ports import ImageInput, ModelRequest
from core.values import Json, JsonObject
from modules.models.hosted.claude.family import ClaudeFamily
from modules.models.serving.budget import output_limit

CACHED_CHARACTERS_MIN = 2000
"""A shorter prefix is below the 512 tokens that the least demanding model caches."""

THINKING_ROOM_TOKENS = 16_384
"""What a model that thinks gets on top of what a request allows for its reply."""


def message_params(
    family: ClaudeFamily, entry: ModelEntry, request: ModelRequest
) -> MessageCreateParamsStreaming:
    """The body. Encodes images, a millisecond a megabyte: call it in a thread if there are any.

    The prefix of the prompt goes as the system message, with a mark behind it up to which the
    service keeps it for five minutes.
    """
    has_user_text = bool(request.user.strip())
    limit = _output_limit(family, entry, request)
    text: TextBlockParam = {
        "type": "text",
        "text": request.user if has_user_text else request.prompt,
    }
    params: MessageCreateParamsStreaming = {
        "model": family.model,
        "max_tokens": limit,
        "messages": [
            {"role": "user", "content": [*(_image(image) for image in request.images), text]}
        ],
        "stream": True,
    }
    if has_user_text and request.system.strip():
        params["system"] = [_system(request.system)]
    if entry.thinking is not None:
        thinking = family.thinking(entry.thinking, limit)
        if thinking is not None:
            params["thinking"] = cast("ThinkingConfigParam", thinking)
    if output := _output_config(family, entry, request):
        params["output_config"] = output
    return params


def _output_limit(family: ClaudeFamily, entry: ModelEntry, request: ModelRequest) -> int:
    """`max_tokens`: what the entry says is for all that is written, as it is billed."""
    most = entry.max_output_tokens or family.output_tokens
    room = THINKING_ROOM_TOKENS if family.thinks(entry.thinking) else 0
    return output_limit(request, most, room) or most


def _output_config(
    family: ClaudeFamily, entry: ModelEntry, request: ModelRequest
) -> OutputConfigParam:
    config: JsonObject = {}
    if entry.thinking is not None and (effort := family.effort(entry.thinking)) is not None:
        config["effort"] = effort
    if request.schema is not None and family.takes_schemas and can_be_held_to(request.schema):
        try:
            schema = cast("JsonObject", transform_schema(request.schema))
        except (ValueError, RecursionError):
            pass  # the service would refuse it; without it the model is only asked
        else:
            config["format"] = {"type": "json_schema", "schema": schema}
    return cast("OutputConfigParam", config)


def can_be_held_to(schema: Json) -> bool:
    """Whether the service can hold a model to a schema: its objects must name all their keys."""
    if isinstance(schema, list):
        return all(can_be_held_to(inner) for inner in schema)
    if not isinstance(schema, dict):
        return True
    is_open = schema.get("additionalProperties") not in (None, False)
    is_bare = schema.get("type") == "object" and not schema.get("properties")
    return not is_open and not is_bare and all(can_be_held_to(inner) for inner in schema.values())


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

"""Which models see images, by their names: services that speak OpenAI's protocol don't say."""

import re

_SEES = r"""
      gpt-(?:4o|4\.1|4\.5|4-turbo|4-vision|[5-9]) | chatgpt-4o
    | (?<![a-z0-9])o1(?!-(?:mini|preview)) | (?<![a-z0-9])o3(?!-mini|[a-z0-9])
    | (?<![a-z0-9])o4(?![a-z0-9])
    | claude-(?!instant|[12](?![0-9])) | gemini- | gemma-?(?:3n?|4)(?!.*(?:270m|[-:]1b))
    | llama-?4 | pixtral | mistral-(?:small-?3\.[1-9]|small-?4|medium-?3|large-?3) | ministral-?3
    | qwen[0-9.]*-?vl | qwen3\.[5-9] | qvq | glm-[0-9.]+v | grok-(?:[2-9].*vision|[4-9])
    | llava | bakllava | moondream | minicpm-?[vo] | internvl | molmo | smolvlm | idefics
    | phi-?[0-9.]+-(?:vision|multimodal) | deepseek-(?:vl|ocr) | kimi-(?:vl|k2\.5)
    | nova-(?:lite|pro)
    | (?<![a-z])(?:vision|vlm?|multimodal|omni)(?![a-z])
"""

_BLIND = r"gpt-4o-(?:audio|mini-audio|transcribe|mini-tts)|embed|gpt-oss"

NAME_CHARACTERS_MAX = 200
"""So much of a name is looked at."""


def sees_images(model: str) -> bool:
    """Whether a model of this name is known to take images; an entry's `images` overrules it."""
    name = model[:NAME_CHARACTERS_MAX]
    return (
        re.search(_SEES, name, re.VERBOSE | re.IGNORECASE) is not None
        and re.search(_BLIND, name, re.IGNORECASE) is None
    )

"""One model behind HTTP: what can be said of it before its service is asked.

What speaks to the service is imported and opened at the first request, in a thread, while servers
start: httpx2 takes 0.1 s of CPU. The vendors' own SDKs take 0.55 s (openai), 0.6 s (google-genai)
and 1.35 s (anthropic) until the first reply on loopback, at the start of every run, where this
takes 0.08 s.
"""

import asyncio
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final, Protocol

from config.models_file import IDLE_SECONDS, ModelEntry
from core.ports import ModelRequest, ModelTraits, ReplyDelta
from modules.models.credentials import ADDRESS_VARIABLES, USUAL_VARIABLES, ApiKey
from modules.models.http.errors import Advice, ServiceErrors

BASE_URLS: Final = {
    "openai": "https://api.openai.com/v1",
    "gemini": "https://generativelanguage.googleapis.com/",
    "anthropic": "https://api.anthropic.com",
}

CONTEXT_TOKENS: Final = {"gemini": 1_048_576, "anthropic": 200_000}
"""What every model of the service can hold; who needs more of one says so in its entry."""

FAMILIES: Final = {"gemini": "gemini", "anthropic": "claude"}
"""What stands in the names of the service's own models, which all see images. The services serve
others too: Google its open weights, and whoever else speaks Anthropic's protocol."""


_SEES: Final = r"""
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

_BLIND: Final = r"gpt-4o-(?:audio|mini-audio|transcribe|mini-tts)|embed|gpt-oss"

NAME_CHARACTERS_MAX: Final = 200
"""So much of a name is looked at."""


def sees_images(model: str) -> bool:
    """Whether a model of this name is known to take images; an entry's `images` overrules it.

    Services that speak OpenAI's protocol don't say.
    """
    name = model[:NAME_CHARACTERS_MAX]
    return (
        re.search(_SEES, name, re.VERBOSE | re.IGNORECASE) is not None
        and re.search(_BLIND, name, re.IGNORECASE) is None
    )


class ModelService(Protocol):
    """A service that was opened for one model."""

    def stream(self, request: ModelRequest) -> AsyncGenerator[ReplyDelta, None]:
        """The reply as it is written."""
        ...

    async def aclose(self) -> None:
        """Close the connections."""
        ...


class RemoteModel(ABC):
    """A model whose service is opened at the first request."""

    def __init__(self, name: str, errors: ServiceErrors) -> None:
        self.name = name
        self.errors = errors
        self._opening = asyncio.Lock()
        self._service: ModelService | None = None

    def __repr__(self) -> str:
        """The model, without its key."""
        return f"{type(self).__name__}({self.name})"

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ReplyDelta, None]:
        """The reply as it is written.

        Raises:
            ModelUnavailable: no connection, nothing in time, a refused key or prompt, a used up
                quota, or a reply without text; the message says what to do.
        """
        async with self._opening:
            if self._service is None:
                self._service = await asyncio.to_thread(self._open)
            service = self._service
        async with aclosing(service.stream(request)) as deltas:
            async for delta in deltas:
                yield delta

    async def aclose(self) -> None:
        """Close the connections; safe to call twice, and the next request opens new ones."""
        service, self._service = self._service, None
        if service is not None:
            await service.aclose()

    @abstractmethod
    def _open(self) -> ModelService:
        """Import what speaks to the service, and open it; takes its time."""


def context_tokens_of(entry: ModelEntry) -> int | None:
    """How long prompt and reply may be together, as far as entry and name tell."""
    family = FAMILIES.get(entry.type)
    is_known = family is not None and family in (entry.model or "")
    return entry.context_tokens or (CONTEXT_TOKENS[entry.type] if is_known else None)


class HostedModel(RemoteModel):
    """A model of Google's, Anthropic's, or a server that speaks OpenAI's protocol."""

    def __init__(
        self,
        entry: ModelEntry,
        key: ApiKey | None,
        idle_seconds: float = IDLE_SECONDS,
        key_variable: str | None = None,
    ) -> None:
        """The entry's model; `entry.model` is filled in. Some servers want no key.

        `key_variable` is the one that was looked at for the key, None where the entry names none.
        """
        model = entry.model or ""
        errors = _errors(entry, key, idle_seconds, key_variable)
        super().__init__(f"{entry.type}:{model}", errors)
        family = FAMILIES.get(entry.type)
        sees = sees_images(model) if family is None else family in model
        context_tokens = context_tokens_of(entry)
        images = sees if entry.images is None else entry.images
        takes_seed = entry.type != "anthropic"
        self.traits = ModelTraits(images, context_tokens, takes_seed=takes_seed)
        self._entry = entry

    def _open(self) -> ModelService:
        match self._entry.type:
            case "gemini":
                from modules.models.hosted.gemini import GeminiService as Service
            case "anthropic":
                from modules.models.hosted.anthropic import AnthropicService as Service
            case _:
                from modules.models.hosted.openai import OpenAIService as Service
        return Service(self._entry, self.errors)


def _errors(
    entry: ModelEntry, key: ApiKey | None, idle_seconds: float, key_variable: str | None
) -> ServiceErrors:
    if key_variable is None:
        no_key = (
            "its entry names no variable for one: give it api_key_env in models.json, and set that"
        )
    else:
        is_usual = USUAL_VARIABLES[entry.type] == key_variable
        stored = entry.type if is_usual else key_variable
        no_key = f"set {key_variable}, or store a key with: agent.py auth set {stored}"
    if entry.base_url is None:
        advice = Advice(
            "check the network connection, or work without it: --model offline",
            f"name another with --model {entry.type}:MODEL or in config/models.json",
            no_key,
        )
    else:
        where = f"base_url in config/models.json, or {ADDRESS_VARIABLES[entry.type]}"
        advice = Advice(
            f"start the server, or check {where}",
            "name another model there, or check its address"
            + (", which mostly ends in /v1" if entry.type == "openai" else ""),
            no_key,
        )
    base_url = entry.base_url or BASE_URLS[entry.type]
    subject = f"model {entry.type}:{entry.model}"
    return ServiceErrors(subject, base_url, advice, key, entry.timeout_seconds, idle_seconds)

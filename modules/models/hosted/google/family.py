"""What Google documents of its models' families, by the model's name; light, without the SDK.

Follows ai.google.dev and docs.cloud.google.com of November 2026: "Gemini thinking" (budgets up to
2.5, levels from 3 on), "What's new in Gemini 3.6 Flash" (sampling parameters are ignored, and will
be refused), and the release notes of google-genai 3.0 (what only API version v1beta knows).
"""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

from config.models_file import ThinkingEffort

CONTEXT_TOKENS = 1_048_576
"""The context of every Gemini model since 2.0."""

ThinkingLevelName: TypeAlias = Literal["minimal", "low", "medium", "high"]

THINKING_ROOM_TOKENS = 16_384
"""What a model that thinks gets on top of what a request allows for its reply."""

_NEWEST = (99, 0)
"""The version of an alias such as `gemini-flash-latest`, which names the newest."""

_THINKS_SINCE = (2, 5)
_LEVELS_SINCE = (3, 0)
_LAST_MINIMAL_FLASH = (3, 6)

_BUDGETS: dict[ThinkingEffort, int] = {"off": 0, "low": 1024, "medium": 8192, "high": 24_576}
"""Tokens to think; the last is the most that 2.5 Flash takes."""

_PRO_LEAST_TOKENS = 128
"""2.5 Pro thinks always; this is the least."""

_OPEN_WEIGHTS = "gemma"
_ONLY_BETA = re.compile(r"latest|preview|exp")
_VERSION = re.compile(r"gemini-(\d{1,3})(?:\.(\d{1,3}))?")


@dataclass(frozen=True)
class GeminiFamily:
    """The family of one model, told by its name, such as `gemini-3.8-flash`."""

    model: str

    @cached_property
    def version(self) -> tuple[int, int]:
        """Generation, such as (2, 5); that of the newest where the name holds none."""
        if (found := _VERSION.search(self.model)) is None:
            return _NEWEST if "gemini" in self.model else (0, 0)
        return int(found[1]), int(found[2] or 0)

    @property
    def is_gemini(self) -> bool:
        """Whether it is Gemini at all: Google serves its open models, too."""
        return _OPEN_WEIGHTS not in self.model

    @property
    def api_version(self) -> str:
        """The version of the API that knows this model."""
        return "v1beta" if _ONLY_BETA.search(self.model) or not self.is_gemini else "v1"

    @property
    def takes_temperature(self) -> bool:
        """From generation 3 on Google says to leave it out."""
        return self.version < _LEVELS_SINCE

    @property
    def thinks_in_levels(self) -> bool:
        """Whether thinking is set by a level, else by a budget in tokens."""
        return self.version >= _LEVELS_SINCE

    def room_tokens(self, effort: ThinkingEffort | None) -> int:
        """What thinking may take of the output's tokens."""
        thinks = self.version >= _THINKS_SINCE and (effort != "off" or self.thinks_in_levels)
        return THINKING_ROOM_TOKENS if thinks else 0

    def thinking_budget(self, effort: ThinkingEffort) -> int:
        """Tokens for thinking, 0 for none, of models up to 2.5."""
        least = _PRO_LEAST_TOKENS if "pro" in self.model else 0
        return max(_BUDGETS[effort], least)

    def thinking_level(self, effort: ThinkingEffort) -> ThinkingLevelName:
        """The level that comes nearest to the effort; none of these models can be kept from it."""
        is_lite = "lite" in self.model
        if effort == "off":
            is_flash = "flash" in self.model
            has_minimal = is_lite or (is_flash and self.version <= _LAST_MINIMAL_FLASH)
            return "minimal" if has_minimal else "low"
        if effort == "medium" and "pro" in self.model and self.version == _LEVELS_SINCE:
            return "high"  # 3 Pro has nothing between low and high
        return effort

"""What Anthropic documents of Claude's families, by the model's name; light, without the SDK.

Follows platform.claude.com of November 2026: "Models overview", "Troubleshooting thinking" (which
`thinking.type` each model accepts), "Effort", "Structured outputs" and "Prompt caching".
"""

import re
from dataclasses import dataclass
from functools import cached_property

from config.models_file import ThinkingEffort
from core.values import JsonObject

LARGE_CONTEXT_TOKENS = 1_000_000
SMALL_CONTEXT_TOKENS = 200_000

OUTPUT_TOKENS = 32_000
"""`max_tokens` unless an entry says: every model since Claude 4 takes it, thinking included."""

OLD_OUTPUT_TOKENS = 4096
"""The same for earlier ones, and for what else may speak this protocol."""

LEAST_BUDGET_TOKENS = 1024
"""The least that a model may be given to think, where it is given a number."""

_BUDGETS: dict[ThinkingEffort, int] = {"low": 2048, "medium": 8192, "high": 16_384}

_ADAPTIVE_SINCE = (4, 6)
_SCHEMAS_SINCE = (4, 5)
_LARGE_SINCE = (4, 6)
_BETWEEN_TOOLS_SINCE = (5, 5)
_FRONTIER = ("fable", "mythos")

_TIER = re.compile(r"opus|sonnet|haiku|fable|mythos")
# Dates such as 20250514 may follow the version, and are none.
_VERSION = re.compile(r"-(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)")


@dataclass(frozen=True)
class ClaudeFamily:
    """The family of one model, told by its name, such as `claude-opus-5-5`."""

    model: str

    @cached_property
    def tier(self) -> str:
        """`opus`, `sonnet`, `haiku`, `fable`, `mythos`; empty where it is no Claude."""
        found = _TIER.search(self.model)
        return found[0] if found is not None and "claude" in self.model else ""

    @cached_property
    def version(self) -> tuple[int, int]:
        """Such as (5, 5); (0, 0) where the name holds none."""
        found = _VERSION.search(self.model)
        return (int(found[1]), int(found[2] or 0)) if found is not None else (0, 0)

    @property
    def is_claude(self) -> bool:
        """Whether it is Claude at all: other servers speak Anthropic's protocol, too."""
        return bool(self.tier)

    @property
    def is_adaptive(self) -> bool:
        """Whether it decides itself how much to think, by an effort, not by a budget."""
        return self._is_since(_ADAPTIVE_SINCE) or not self.is_claude

    @property
    def takes_schemas(self) -> bool:
        """Whether it can be held to a JSON Schema."""
        return self._is_since(_SCHEMAS_SINCE)

    @property
    def context_tokens(self) -> int | None:
        """Prompt and reply together; None where nobody says."""
        if not self.is_claude:
            return None
        return LARGE_CONTEXT_TOKENS if self._is_since(_LARGE_SINCE) else SMALL_CONTEXT_TOKENS

    @property
    def output_tokens(self) -> int:
        """What `max_tokens` is unless something says."""
        return OUTPUT_TOKENS if self._is_since((4, 0)) else OLD_OUTPUT_TOKENS

    def thinks(self, effort: ThinkingEffort | None) -> bool:
        """Whether thinking may take of the output's tokens."""
        if effort is None:
            return self._is_since((5, 0))
        return effort != "off" or self._always_thinks

    def thinking(self, effort: ThinkingEffort, room_tokens: int) -> JsonObject | None:
        """The value of `thinking`; None leaves it out. `room_tokens` is the output's limit."""
        if effort == "off":
            return self._off()
        if self.is_adaptive:
            # By default the newest send their thoughts without a word of text.
            return {"type": "adaptive", "display": "summarized"}
        budget = min(_BUDGETS[effort], room_tokens // 2)
        if budget < LEAST_BUDGET_TOKENS:
            return None
        return {"type": "enabled", "budget_tokens": budget}

    def effort(self, effort: ThinkingEffort) -> str | None:
        """The value of `output_config.effort`; None leaves it to the service."""
        if effort == "off":
            return "low" if self._always_thinks else None
        return effort if self.is_adaptive else None

    def _off(self) -> JsonObject | None:
        if self._always_thinks or (self.is_claude and not self.is_adaptive):
            return None  # it can't be turned off, or is off by default
        if self.tier == "sonnet" and self.version >= _BETWEEN_TOOLS_SINCE:
            return {"type": "between_tools"}
        return {"type": "disabled"}

    @property
    def _always_thinks(self) -> bool:
        return self.tier in _FRONTIER or (self.tier == "opus" and self.version >= (5, 5))

    def _is_since(self, version: tuple[int, int]) -> bool:
        return self.tier in _FRONTIER or (self.is_claude and self.version >= version)

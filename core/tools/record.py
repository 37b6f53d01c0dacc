"""How the calls of a tool went, over sessions (`modules.memory` reads it from their files)."""

from typing import Final

from core.base.frozen import frozen

EVIDENCE_CALLS: Final = 5
"""Of fewer calls nothing is concluded."""


@frozen
class ToolRecord:
    """The calls of one tool that were counted, and what became of them.

    `tool` is the qualified name, `last_used` Unix time in seconds. Of the wall seconds that calls
    took, None where none is known. `last_failure` is how the error of the last call that failed
    begins; empty if none did.
    """

    tool: str
    calls: int
    successes: int
    median_seconds: float | None = None
    p95_seconds: float | None = None
    last_used: float = 0.0
    last_failure: str = ""

    @property
    def failures(self) -> int:
        """How many of the calls failed."""
        return self.calls - self.successes

    @property
    def success_rate(self) -> float:
        """(successes + 1) / (calls + 2), Laplace's rule: few calls stay near one half."""
        return (self.successes + 1) / (self.calls + 2)

    @property
    def fails_mostly(self) -> bool:
        """Whether there is evidence that at most half of its calls work."""
        return self.calls >= EVIDENCE_CALLS and 2 * self.successes <= self.calls


UNKNOWN_RATE: Final = ToolRecord("", 0, 0).success_rate
"""The success rate of a tool that nobody has called."""

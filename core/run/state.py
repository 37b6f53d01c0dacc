"""All that one run has come to."""

from dataclasses import dataclass, field

from core.events import Retrying
from core.turn import Attempt, Step


@dataclass(slots=True)
class Run:
    """One run: what it works on, what has come of it so far, and where it stands.

    Attributes:
        request: the user's, with what the user said when a plan asked back.
        last_step: after so many steps it ends.
        lifelines_a_step: how many further plans a step may ask for after one that failed.
        number: the step that it is in, from 1.
        lifelines: those of this step that are left.
        failed: the plans of this step that failed, oldest first.
        steps: every plan that was run, or could not be.
        observation: what the last step found, for this one to read.
        read: the texts that steps were given to read, oldest first.
        done: what is told beside the next of them: calls that must not be made again.
        found_tools: qualified names of the tools that plans have searched for.
        has_asked: whether a plan has asked the user back.
        retrying: what is yet to be told of a further plan.
        seconds: wall time by phase.
    """

    request: str
    last_step: int
    lifelines_a_step: int
    number: int = 0
    lifelines: int = 0
    failed: list[Attempt] = field(default_factory=list[Attempt])
    steps: list[Step] = field(default_factory=list[Step])
    observation: str | None = None
    read: list[str] = field(default_factory=list[str])
    done: str = ""
    found_tools: dict[str, None] = field(default_factory=dict[str, None])
    has_asked: bool = False
    retrying: Retrying | None = None
    seconds: dict[str, float] = field(
        default_factory=lambda: {"perception": 0.0, "decision": 0.0, "action": 0.0}
    )

    @property
    def attempt(self) -> int:
        """Which plan of this step is the next, from 1."""
        return len(self.failed) + 1

    def begin_step(self) -> None:
        """Go on to the next step, with all its lifelines."""
        self.number += 1
        self.lifelines = self.lifelines_a_step
        self.failed = []

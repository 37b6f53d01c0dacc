"""What a way of answering gives back, before anybody has judged it."""

from dataclasses import dataclass, field
from typing import Protocol

from core.turn import Usage
from tests.evals.questions import Question

WROTE_CHARACTERS = 4_000
"""How much of each plan or round is kept for whoever looks into failures."""


@dataclass(frozen=True)
class Answered:
    """An answer, or the reason why there is none (`text` of a `status` other than "done").

    `failures` are the kinds of what failed on the way, `wrote` what the model wrote, in order;
    `parts` is the number of subtasks, 0 for one plan.
    """

    status: str
    text: str
    usage: Usage = field(default_factory=Usage)
    retries: int = 0
    steps: int = 1
    failures: tuple[str, ...] = ()
    tools_called: tuple[str, ...] = ()
    wrote: tuple[str, ...] = ()
    parts: int = 0


class Way(Protocol):
    """A way of answering requests."""

    @property
    def name(self) -> str:
        """What names it in results."""
        ...

    @property
    def model(self) -> str:
        """The name of the model that answers."""
        ...

    async def answer(self, question: Question, asked: str, before: tuple[str, ...]) -> Answered:
        """Answer `asked`, the question's words with all paths filled in, after those `before`."""
        ...

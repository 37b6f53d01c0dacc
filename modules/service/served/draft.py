"""The answer, told piece by piece while a model writes it, and what is told when it is there."""

from collections.abc import Iterator
from typing import TypeAlias

from core.events import (
    Answered,
    Event,
    ModelAsked,
    ModelFailed,
    ModelRetried,
    ModelWriting,
    Perceived,
    PlanWritten,
    Retrying,
    RunFinished,
)
from core.values import JsonObject
from modules.planning.reply.closing import answer_so_far

Chunk: TypeAlias = JsonObject
"""The fields of a `response.chunk`."""


class Draft:
    """Makes the pieces of one run's answer: those of a reply that says it, then the rest.

    A reply that does not become the answer is taken back by a piece with `restart`.
    """

    def __init__(self) -> None:
        """Begin with nothing told."""
        self._told = ""
        self._asked = 0  # how many models write a plan just now

    def pieces(self, event: Event) -> Iterator[Chunk]:
        """What an event adds to the answer."""
        match event:
            case Perceived() | PlanWritten() | Retrying():
                self._asked = 0
            case ModelAsked(purpose="decision"):
                self._asked += 1
            case ModelRetried() | ModelFailed(purpose="decision"):
                self._asked -= 1
            case ModelWriting(characters=characters, text=text):
                # Of several who write at once, nobody knows yet who will be heard.
                if self._asked == 1 and characters == len(text):
                    yield from self._written(answer_so_far(text))
            case Answered(text):
                yield self._piece(text)
            case RunFinished(outcome) if outcome.answer is None and self._told:
                yield self._piece("")
            case _:
                return

    def _written(self, answer: str) -> Iterator[Chunk]:
        if not self._told.startswith(answer):
            yield {**self._piece(answer), "more": True}

    def _piece(self, answer: str) -> Chunk:
        """What makes the answer of what was told before."""
        told, self._told = self._told, answer
        if answer.startswith(told):
            return {"content": answer[len(told) :]}
        return {"content": answer, "restart": True}

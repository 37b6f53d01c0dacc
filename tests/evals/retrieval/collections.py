"""A set of questions with what should be found for them, whatever file it came from."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

Part: TypeAlias = Literal["tuning", "report"]
"""What a question may be used for: settings are chosen on `tuning`, figures stated on `report`."""


@dataclass(frozen=True, slots=True)
class Item:
    """One text to be found, whole: an abstract, a paragraph, a passage of a paper."""

    key: str
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """A question; `grades` has the items that should be found, with how much they are worth."""

    key: str
    text: str
    grades: Mapping[str, int]
    part: Part = "report"


@dataclass(frozen=True, slots=True)
class Collection:
    """Items, and questions about them."""

    name: str
    items: tuple[Item, ...]
    questions: tuple[Question, ...]

    def of_part(self, part: Part) -> tuple[Question, ...]:
        """The questions of one part."""
        return tuple(question for question in self.questions if question.part == part)


@dataclass(frozen=True, slots=True)
class Span:
    """Characters `start` to `end` of a text, which read `text`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Paper:
    """A whole document with questions whose answers are spans of it; `answers` go by question."""

    key: str
    title: str
    text: str
    answers: tuple[tuple[str, Span], ...] = ()


class DataMissing(Exception):
    """A set is not on this machine; the message says where it was looked for."""

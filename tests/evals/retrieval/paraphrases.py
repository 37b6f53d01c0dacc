"""Paraphrases: notes as people keep them, and questions that say the same in other words.

Made for this project, in `paraphrases.json`, before anything was tuned on them. What a question
shares with the notes are incidental words, so that words alone mislead. The notes lie among
XQuAD's English paragraphs, for a stock in which such words are found by chance. Questions at odd
places are for tuning.
"""

import json
from pathlib import Path
from typing import TypedDict

from tests.evals.retrieval.collections import Collection, Item, Question
from tests.evals.retrieval.squad import load_paragraphs

FILE = Path(__file__).with_name("paraphrases.json")


class _Asked(TypedDict):
    text: str
    passage: str


class _Notes(TypedDict):
    passages: dict[str, str]
    questions: list[_Asked]


def load(data: Path) -> Collection:
    """The notes among the paragraphs, and the questions about the notes."""
    notes: _Notes = json.loads(FILE.read_text(encoding="utf-8"))
    others = load_paragraphs(data / "xquad" / "xquad.en.json", "XQuAD-en", "report").items
    items = tuple(Item(key, text) for key, text in notes["passages"].items())
    questions = tuple(
        Question(
            str(place), asked["text"], {asked["passage"]: 1}, "tuning" if place % 2 else "report"
        )
        for place, asked in enumerate(notes["questions"], start=1)
    )
    return Collection("Paraphrases", (*items, *others), questions)

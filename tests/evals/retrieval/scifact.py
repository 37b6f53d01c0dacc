"""SciFact: scientific claims, and the abstracts they cite (Wadden et al. 2020).

The abstracts stand in the table as numpy prints a list of strings: sentences in quotes, one a line,
without commas.
"""

import ast
import csv
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from pydantic import TypeAdapter

from tests.evals.retrieval.collections import Collection, Item, Part, Question

_BETWEEN = re.compile(r"(?<=['\"])\n (?=['\"])")
_SENTENCES = TypeAdapter(list[str])

CLAIM_FILES: tuple[tuple[str, Part], ...] = (
    ("claims_validation.csv", "report"),
    ("claims_train.csv", "tuning"),
)


def load(folder: Path) -> Collection:
    """All abstracts; validation claims to report on, training claims to tune on."""
    rows = _rows(folder / "corpus_train.csv")
    items = tuple(
        Item(row["doc_id"], f"{row['title']}\n\n{' '.join(sentences(row['abstract']))}")
        for row in rows
    )
    questions = tuple(
        question for name, part in CLAIM_FILES for question in _claims(folder / name, part)
    )
    return Collection("SciFact", items, questions)


def sentences(printed: str) -> list[str]:
    """The strings of a list that numpy printed.

    Raises:
        ValueError: it is no such list.
    """
    return _SENTENCES.validate_python(ast.literal_eval(_BETWEEN.sub(", ", printed.strip())))


def _claims(file: Path, part: Part) -> Iterator[Question]:
    """A claim has a line for each piece of evidence; the abstracts it cites are the same in all."""
    seen: dict[str, Question] = {}
    for row in _rows(file):
        cited = dict.fromkeys(row["cited_doc_ids"].strip("[]").split(), 1)
        if cited and row["id"] not in seen:
            seen[row["id"]] = Question(row["id"], row["claim"], cited, part)
    yield from seen.values()


def _rows(file: Path) -> list[Mapping[str, str]]:
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))

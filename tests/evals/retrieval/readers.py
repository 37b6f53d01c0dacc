"""Sets of questions about abstracts, read from their files: Cranfield, SciFact, PubMedQA."""

import ast
import csv
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field, TypeAdapter

from tests.evals.retrieval.collections import Collection, Item, Part, Question

_RECORD = re.compile(r"^\.I\s+(\d+)\s*$", re.MULTILINE)
_SECTION = re.compile(r"^\.([TABW])\s*$", re.MULTILINE)


def load_cranfield(folder: Path) -> Collection:
    """225 questions of aerodynamicists, judged for each of 1,400 abstracts (Cleverdon 1967).

    A file of marked sections: `.I` number, `.T` title, `.A` author, `.B` source, `.W` words (which
    begin with the title). Questions are judged by their place in the file, not by their number. Odd
    places are for tuning.
    """
    items = tuple(Item(key, words) for key, words in records(folder / "cran.all.1400"))
    grades: defaultdict[int, dict[str, int]] = defaultdict(dict)
    judgements = (folder / "QRelsCorrectedforTRECeval").read_text(encoding="utf-8")
    for line in judgements.splitlines():
        place, _, key, grade = line.split()
        grades[int(place)][key] = int(grade)
    questions = tuple(
        Question(str(place), text, grades[place], "tuning" if place % 2 else "report")
        for place, (_, text) in enumerate(records(folder / "cran.qry"), start=1)
    )
    return Collection("Cranfield", items, questions)


def records(file: Path) -> Iterator[tuple[str, str]]:
    """Number and words of each record."""
    numbered = _RECORD.split(file.read_text(encoding="utf-8"))[1:]
    for number, body in zip(numbered[::2], numbered[1::2], strict=True):
        sections = _SECTION.split(body)
        named = dict(zip(sections[1::2], sections[2::2], strict=True))
        yield number, named.get("W", "").strip()


_BETWEEN = re.compile(r"(?<=['\"])\n (?=['\"])")
_SENTENCES = TypeAdapter(list[str])

CLAIM_FILES: tuple[tuple[str, Part], ...] = (
    ("claims_validation.csv", "report"),
    ("claims_train.csv", "tuning"),
)


def load_scifact(folder: Path) -> Collection:
    """Scientific claims, and the abstracts they cite (Wadden et al. 2020).

    The abstracts stand in the table as numpy prints a list of strings: sentences in quotes, one a
    line, without commas. Validation claims are reported on, training claims are for tuning.
    """
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


class _Paper(BaseModel):
    question: Annotated[str, Field(alias="QUESTION")]
    contexts: Annotated[list[str], Field(alias="CONTEXTS")]


_PAPERS = TypeAdapter(dict[str, _Paper])


def load_pubmedqa(file: Path) -> Collection:
    """Titles of a thousand papers that ask, and the abstracts that answer them (Jin 2019).

    The abstracts come without their conclusions.
    """
    records = _PAPERS.validate_json(file.read_bytes())
    items = tuple(Item(key, "\n\n".join(each.contexts)) for key, each in records.items())
    questions = tuple(Question(key, each.question, {key: 1}) for key, each in records.items())
    return Collection("PubMedQA", items, questions)

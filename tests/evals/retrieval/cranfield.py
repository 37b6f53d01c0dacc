"""Cranfield: 225 questions of aerodynamicists, judged for each of 1,400 abstracts (Cleverdon 1967).

A file of marked sections: `.I` number, `.T` title, `.A` author, `.B` source, `.W` words. Questions
are judged by their place in the file, not by their number. Odd places are for tuning.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from tests.evals.retrieval.collections import Collection, Item, Question

_RECORD = re.compile(r"^\.I\s+(\d+)\s*$", re.MULTILINE)
_SECTION = re.compile(r"^\.([TABW])\s*$", re.MULTILINE)


def load(folder: Path) -> Collection:
    """The abstracts (their text begins with the title) and the questions with their grades."""
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

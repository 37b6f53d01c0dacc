"""How much of a known document stands in markdown: F1 of words, of cells, of headings."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from tests.evals.extraction.known import KnownDocument

_WORD = re.compile(r"[^\W_]+")
_ROW = re.compile(r"^\|(.*)\|\s*$", re.MULTILINE)
_RULE = re.compile(r"^[\s|:-]+$")
_BAR = re.compile(r"(?<!\\)\|")
_HEADING = re.compile(r"^#{1,6} +(.+?)\s*$", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_FENCED = re.compile(r"^```[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Scores:
    """Each from 0 to 1; None for what the format or the document does not hold."""

    words: float
    cells: float | None
    headings: float | None
    code: float | None


def scores_of(document: KnownDocument, markdown: str, parts: frozenset[str]) -> Scores:
    """How markdown compares; `parts` are those of `cells`, `headings`, `code` that count."""
    code = [line.rstrip() for block in _FENCED.findall(markdown) for line in block.split("\n")]
    expected_code = document.code_lines
    cells = "cells" in parts and document.cells
    has_code = "code" in parts and expected_code
    return Scores(
        words=f1(words_in(document.text), words_in(markdown)),
        cells=f1(document.cells, cells_in(markdown)) if cells else None,
        headings=f1(document.headings, headings_in(markdown)) if "headings" in parts else None,
        code=f1(expected_code, [line for line in code if line]) if has_code else None,
    )


def f1(expected: Iterable[str], found: Iterable[str]) -> float:
    """The harmonic mean of precision and recall over two bags; 1 if both are empty."""
    wanted, got = Counter(expected), Counter(found)
    if not wanted and not got:
        return 1.0
    return 2 * (wanted & got).total() / (wanted.total() + got.total())


def words_in(text: str) -> list[str]:
    """Letters and digits that stand together, in lower case."""
    return [word.lower() for word in _WORD.findall(text)]


def cells_in(markdown: str) -> list[str]:
    """The cells of all tables that are not empty."""
    rows = (row for row in _ROW.findall(markdown) if not _RULE.match(row))
    cells = (
        cell.replace("\\|", "|").strip().strip("*") for row in rows for cell in _BAR.split(row)
    )
    return [cell for cell in cells if cell]


def headings_in(markdown: str) -> list[str]:
    """The words of all headings."""
    texts = (_LINK.sub(r"\1", text) for text in _HEADING.findall(markdown))
    return [text.replace("*", "").strip(" ¶#") for text in texts]

"""What of a page's structure must not get lost: its markdown is held against the page itself."""

import re
from dataclasses import dataclass

from servers.reading.html.tree import HEADINGS, Element
from servers.reading.markdown import unwrapped

HEADINGS_KEPT = 0.8
HEADINGS_KEPT_ANYWHERE = 0.5
"""The same on a page that does not say which part is the main one: sidebars have headings too."""

CODE_KEPT = 0.9
CELLS_KEPT = 0.8
WORDS_KEPT = 0.5
"""Shares below which what trafilatura gives is not taken."""

_FENCED = re.compile(r"^(`{3,})[^\n]*\n(.*?)^\1", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\([^()\s]*\)")
_INLINE_CODE = re.compile(r"`[^`\n]+`")
_ROW = re.compile(r"^\|(.*)\|\s*$", re.MULTILINE)
_RULE = re.compile(r"^[\s|:-]+$")
_NO_WORDS = re.compile(r"\W+")


@dataclass(frozen=True, slots=True)
class Outline:
    """What of a page's structure has to be found again in its markdown."""

    headings: tuple[str, ...]
    code: tuple[str, ...]
    cells: int
    words: int


def outline_of(part: Element) -> Outline:
    """The structure of a part of a page."""
    headings = (unwrapped(each.text_content()) for each in part.iter(*HEADINGS))
    code = (each.text_content() for each in part.iter("pre"))
    return Outline(
        headings=tuple(text for text in headings if text),
        code=tuple(text for text in code if text.strip()),
        cells=sum(1 for each in part.iter("td", "th") if each.text_content().strip()),
        words=len(part.text_content().split()),
    )


def loses_structure(markdown: str, outline: Outline, *, is_main: bool) -> bool:
    """Whether headings, code, tables or most of the text are missing from the markdown.

    Its links may stand as their words or with where they lead.
    """
    markdown = without_targets(markdown)
    kept_words = len(markdown.split())
    if kept_words < (WORDS_KEPT if is_main else WORDS_KEPT / 2) * outline.words:
        return True
    enough = HEADINGS_KEPT if is_main else HEADINGS_KEPT_ANYWHERE
    return (
        _kept_headings(markdown, outline) < enough
        or _kept_code(markdown, outline) < CODE_KEPT
        or _kept_cells(markdown, outline) < (CELLS_KEPT if is_main else CELLS_KEPT / 2)
    )


def without_targets(markdown: str) -> str:
    """The markdown with its links as their words only."""
    return _LINK.sub(r"\1", markdown) if "](" in markdown else markdown


def _kept_headings(markdown: str, outline: Outline) -> float:
    if not outline.headings:
        return 1.0
    lines = {_bare(line.lstrip("#")) for line in markdown.split("\n") if line.startswith("#")}
    return sum(_bare(text) in lines for text in outline.headings) / len(outline.headings)


def _kept_code(markdown: str, outline: Outline) -> float:
    """The share of lines of code that stand between fences as they are."""
    wanted = [line.rstrip() for text in outline.code for line in text.split("\n") if line.strip()]
    if not wanted:
        return 1.0
    fenced = {line.rstrip() for _, text in _FENCED.findall(markdown) for line in text.split("\n")}
    return sum(line in fenced for line in wanted) / len(wanted)


def _kept_cells(markdown: str, outline: Outline) -> float:
    """Tables that only arrange a page count too; so this asks for many of the cells only."""
    if not outline.cells:
        return 1.0
    rows = [row for row in _ROW.findall(markdown) if not _RULE.match(row)]
    return sum(bool(cell.strip()) for row in rows for cell in row.split("|")) / outline.cells


def _bare(text: str) -> str:
    """A heading by its letters and digits alone."""
    return _NO_WORDS.sub("", _INLINE_CODE.sub(lambda found: found[0].strip("`"), text)).lower()

"""Web pages: their content without what stands around it.

trafilatura finds the content best, but on pages of documentation it loses headings and code. So
what it gives is held against the page's own structure; where that got lost, all of the page's
main part is taken, by markitdown.
Source: A. Barbaresi, Trafilatura, ACL 2021 (demonstrations), pages 122-131.
"""

import re

from servers.rag.passages import Extracted
from servers.reading.encodings import declared_charset, decoded
from servers.reading.html.file_markdown import to_markdown
from servers.reading.html.tree import (
    Outline,
    main_part,
    outline_of,
    parsed,
    serialised,
    title_of,
    with_bars,
)
from servers.reading.markdown import as_title, cleaned, first_heading, tidied
from servers.reading.source import Reading, Source

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


def read_html(source: Source, reading: Reading) -> Extracted:
    """The content of a page."""
    html = decoded(source.data, source.charset or declared_charset(source.data))
    return read_page(html, reading)


def read_page(html: str, reading: Reading) -> Extracted:
    """The content of a page that is decoded already."""
    del reading  # nothing of a page takes long enough to be bounded here
    tree = parsed(cleaned(html))
    if tree is None:
        return Extracted("")
    title = title_of(tree)
    part = main_part(tree)
    outline = outline_of(tree if part is None else part)
    found = _main_content(serialised(tree))
    if loses_structure(found, outline, is_main=part is not None):
        found = to_markdown(serialised(tree if part is None else part))
    markdown = with_bars(tidied(cleaned(found)))
    return Extracted(markdown, as_title(title) or first_heading(markdown))


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


def _main_content(html: str) -> str:
    """What trafilatura takes for the content; empty if it finds none."""
    import trafilatura

    return (
        trafilatura.extract(
            html,
            output_format="markdown",
            include_comments=False,
            include_tables=True,
            include_formatting=True,
        )
        or ""
    )


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

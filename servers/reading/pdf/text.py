"""Text from a page's characters, as PyMuPDF gives them: powers as powers, cells of tables.

pymupdf4llm writes superscripts, underlines and highlights as HTML tags, which are no text of the
page, and drops superscripts in tables. Its tables repeat a merged cell in each place that it
covers, name columns `Col2` that have no name, and take a second for some hundred cells.
"""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from servers.reading.markdown import raised, table, without_hyphens

if TYPE_CHECKING:
    from pymupdf import Box, Line, Page, Span, TextDict
    from pymupdf.table import Table

TEXT_FLAGS = 195
"""`pymupdf.TEXTFLAGS_TEXT`: no pictures, blanks as they are."""

SUPERSCRIPT = 1
"""`pymupdf.TEXT_FONT_SUPERSCRIPT`."""

_STYLE_TAGS = ("u", "mark")
_SUPERSCRIPT = re.compile(r" ?<sup>(.*?)</sup>")
_EMPHASIS = "*_~`"


def page_text(page: "Page") -> str:
    """The text of a page as it is stored, line by line."""
    found = page.get_text("dict", flags=TEXT_FLAGS)
    return "\n".join(_line_text(line) for line in _lines(found))


def table_markdown(found: "Table", **_options: object) -> str:
    """A table as markdown; to stand in for `pymupdf.table.Table.to_markdown`."""
    lines = list(_lines(found.page.get_text("rawdict", flags=TEXT_FLAGS)))
    rows = [list(row.cells) for row in found.rows]
    if found.header.external:
        rows.insert(0, list(found.header.cells))
    texts = [[_cell_text(lines, cell) if cell else "" for cell in row] for row in rows]
    return f"{table(texts)}\n\n"


def without_tags(markdown: str, plain: str) -> str:
    """The markdown without the tags that pymupdf4llm wrote; those in the `plain` text stay."""
    for tag in _STYLE_TAGS:
        if f"<{tag}>" not in plain:
            markdown = markdown.replace(f"<{tag}>", "").replace(f"</{tag}>", "")
    return markdown if "<sup>" in plain else _SUPERSCRIPT.sub(_raised, markdown)


def _raised(found: re.Match[str]) -> str:
    before = found.string[max(0, found.start() - 9) : found.start()].rstrip(_EMPHASIS)
    words = found[1].strip(_EMPHASIS)
    shown = raised(before, words)
    is_apart = shown == words and not before[-1:].isdigit()
    return f" {words}" if is_apart and found[0].startswith(" ") else shown


def _lines(found: "TextDict") -> "Iterator[Line]":
    for block in found["blocks"]:
        yield from block.get("lines", ())


def _line_text(line: "Line") -> str:
    text = ""
    for span in line["spans"]:
        text += raised(text, span["text"]) if _is_raised(span) else span["text"]
    return text


def _cell_text(lines: "Sequence[Line]", cell: "Box") -> str:
    """The text of all characters whose middle lies in a cell."""
    text = ""
    for line in lines:
        if line["bbox"][3] < cell[1] or line["bbox"][1] > cell[3]:
            continue
        is_new = bool(text)
        for span in line["spans"]:
            inside = "".join(char["c"] for char in span["chars"] if _is_in(char["bbox"], cell))
            if not inside:
                continue
            if _is_raised(span):
                text += raised(text, inside)
            else:
                text += f"\n{inside}" if is_new else inside
            is_new = False
    return without_hyphens(text)


def _is_raised(span: "Span") -> bool:
    return bool(span["flags"] & SUPERSCRIPT)


def _is_in(box: "Box", cell: "Box") -> bool:
    across, down = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    return cell[0] <= across <= cell[2] and cell[1] <= down <= cell[3]

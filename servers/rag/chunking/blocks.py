"""The blocks of a markdown text: headings, paragraphs, lists, tables, code, quotes.

Follows CommonMark 0.31 and the tables of GitHub's flavour in what is one block, line by line, so
that a text of any size or nesting is read once. It is lenient where extracted text is: a long
paragraph above a line of dashes is no heading, and a code fence that is never closed ends with
the text. Nesting is not resolved: a list is one block with all that is in it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from core.base.frozen import frozen

BlockKind: TypeAlias = Literal["heading", "paragraph", "list", "table", "code", "quote"]

HEADING_CHARACTERS_MAX = 200
"""What is kept of a heading's title; the text keeps all of it."""

_FRONT_MATTER_CHARACTERS_MAX = 10_000
_UNDERLINED_CHARACTERS_MAX = 400
_DELIMITER_CHARACTERS_MAX = 10_000

_LINE = re.compile(r"[^\r\n]*(\r\n|\r|\n|\Z)")
_MARK = re.compile(
    r" {0,3}(?:(?P<heading>#{1,6})(?!\S)|(?P<code>`{3,}(?=[^`]*\Z)|~{3,})|(?P<quote>>)"
    r"|(?P<list>(?:[-+*]|1[.)])(?!\S))|(?P<table>\|))"
)
_ITEM = re.compile(r"[ \t]*(?:[-+*]|\d{1,9}[.)])(?!\S)")
_INDENTED = re.compile(r" {2}|\t")
_RULE = re.compile(r" {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})\Z")
_UNDERLINE = re.compile(r" {0,3}(?:(={2,})|-{2,})[ \t]*\Z")
_FRONT_MATTER = re.compile(r"---[ \t]*\r?\n(?:.*\n)*?---[ \t]*(?=\r?\n)")
_NOT_BLANK = re.compile(r"\S")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_EMPHASIS = re.compile(r"[*`]+|(?<!\w)_+|_+(?!\w)")
_CLOSING = re.compile(r"(?:^|[ \t]+)#+[ \t]*$")


@frozen
class Block:
    """`text[start:end]`; `level` and `title` are a heading's."""

    kind: BlockKind
    start: int
    end: int
    level: int = 0
    title: str = ""


@dataclass(slots=True)
class _Open:
    """The block that is being read; `last` is where its last line begins."""

    kind: BlockKind
    start: int
    end: int
    last: int
    fence: str = ""
    blank_after: bool = False


def markdown_blocks(text: str) -> Iterator[Block]:
    """The blocks of a text in order; what lies between them is white space."""
    matter = _FRONT_MATTER.match(text, 0, _FRONT_MATTER_CHARACTERS_MAX)
    if matter:
        yield Block("code", 0, matter.end())
    yield from _Reader(text).read(matter.end() if matter else 0)


class _Reader:
    """Reads line by line; `_done` are blocks that ended with the line."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._open: _Open | None = None
        self._done: list[Block] = []

    def read(self, begin: int) -> Iterator[Block]:
        for line in _LINE.finditer(self._text, begin):
            self._take(line.start(), line.start(1))
            if self._done:
                yield from self._done
                self._done.clear()
        self._close()
        yield from self._done

    def _take(self, start: int, end: int) -> None:
        """One line, `text[start:end]`."""
        if self._open and self._open.fence:
            self._take_code(self._open, start, end)
        elif _is_blank(self._text, start, end):
            self._take_blank()
        elif self._open and self._open.kind == "paragraph" and self._remakes(start, end):
            return
        elif end - start <= _UNDERLINED_CHARACTERS_MAX and _RULE.match(self._text, start, end):
            self._close()
            self._done.append(Block("paragraph", start, end))
        else:
            self._take_text(start, end)

    def _take_text(self, start: int, end: int) -> None:
        mark = _MARK.match(self._text, start, end)
        kind = mark.lastgroup if mark else None
        if mark and kind == "heading":
            self._close()
            title = _title(self._text[mark.end() : end])
            self._done.append(Block("heading", start, end, len(mark["heading"]), title))
        elif mark and kind == "code":
            self._begin("code", start, end, fence=mark["code"])
        elif self._open and self._goes_on(self._open, kind, start, end):
            self._open.end, self._open.last, self._open.blank_after = end, start, False
        elif kind == "quote" or kind == "table":
            self._begin(kind, start, end)
        elif _ITEM.match(self._text, start, end):
            self._begin("list", start, end)
        else:
            self._begin("paragraph", start, end)

    def _goes_on(self, block: _Open, kind: str | None, start: int, end: int) -> bool:
        """Whether a line belongs to the block before it."""
        if block.kind == "list":
            return (
                not block.blank_after
                or _INDENTED.match(self._text, start, end) is not None
                or _ITEM.match(self._text, start, end) is not None
            )
        if block.kind == "table":
            return kind == "table" or (kind is None and self._text.find("|", start, end) >= 0)
        return kind == ("quote" if block.kind == "quote" else None)

    def _take_code(self, block: _Open, start: int, end: int) -> None:
        block.end = end
        found = _MARK.match(self._text, start, end)
        closing = found and found.lastgroup == "code" and found["code"].startswith(block.fence)
        if found and closing and _is_blank(self._text, found.end(), end):
            self._close()

    def _take_blank(self) -> None:
        if self._open and self._open.kind == "list":
            self._open.blank_after = True
        else:
            self._close()

    def _remakes(self, start: int, end: int) -> bool:
        """Whether a line makes something else of the paragraph above: a heading, or a table."""
        above, text = self._open, self._text
        if above is None:
            return False
        underline = _UNDERLINE.match(text, start, end)
        if underline and end - above.start <= _UNDERLINED_CHARACTERS_MAX:
            title = _title(text[above.start : above.end])
            level = 1 if underline[1] else 2
            self._done.append(Block("heading", above.start, end, level, title))
            self._open = None
            return True
        if text.find("|", above.last, above.end) >= 0 and _is_delimiter(text, start, end):
            if above.last > above.start:
                self._done.append(Block("paragraph", above.start, above.last))
            self._open = _Open("table", above.last, end, start)
            return True
        return False

    def _begin(self, kind: BlockKind, start: int, end: int, fence: str = "") -> None:
        self._close()
        self._open = _Open(kind, start, end, start, fence)

    def _close(self) -> None:
        if self._open:
            self._done.append(Block(self._open.kind, self._open.start, self._open.end))
            self._open = None


def _is_blank(text: str, start: int, end: int) -> bool:
    return _NOT_BLANK.search(text, start, end) is None


def _is_delimiter(text: str, start: int, end: int) -> bool:
    """The row of dashes below a table's head."""
    if end - start > _DELIMITER_CHARACTERS_MAX:
        return False
    row = text[start:end]
    return "|" in row and "-" in row and not row.strip("|:- \t")


def _title(raw: str) -> str:
    """A heading's title without its marks, on one line."""
    plain = _CLOSING.sub("", raw[: 2 * HEADING_CHARACTERS_MAX].strip())
    plain = _EMPHASIS.sub("", _LINK.sub(r"\1", plain))
    return " ".join(plain.split())[:HEADING_CHARACTERS_MAX].rstrip()

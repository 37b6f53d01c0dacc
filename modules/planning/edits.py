"""Edits of a plan's text, and where in it the nodes of its syntax tree stand."""

import ast
import sys
from collections.abc import Iterable, Iterator

from core.base.frozen import frozen

FORMATTED_ARE_MISPLACED = sys.version_info < (3, 12)
"""Whether syntax trees say wrongly where the expressions in f-strings are (PEP 701)."""


@frozen
class Edit:
    """Replace bytes `start` to `end` of a text (UTF-8).

    The lines that the new text begins stand for `line` of the old one, 1-based. Without it the new
    text has as many lines as what it replaces, and each stands for the one in its place.
    """

    start: int
    end: int
    text: str
    line: int | None = None


class PlanText:
    r"""A text whose lines end with `\n`, addressed as Python's syntax tree does."""

    def __init__(self, text: str) -> None:
        """Find where each line starts."""
        self._encoded = text.encode()
        self._lines = self._encoded.split(b"\n")
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line) + 1)

    @property
    def whole(self) -> str:
        """All of it."""
        return self._encoded.decode()

    def line(self, number: int) -> str:
        """A line by its 1-based number, without its end; "" for number 0."""
        return self._lines[number - 1].decode() if number else ""

    def offset(self, line: int, column_bytes: int) -> int:
        """Where a place is, in bytes from the start of the text."""
        return self._starts[min(line, len(self._starts)) - 1] + column_bytes

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """Where a node starts and ends, in bytes from the start of the text."""
        end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or 0
        return self.offset(node.lineno, node.col_offset), self.offset(end_line, end_column)

    def between(self, start: int, end: int) -> bytes:
        """The text from byte to byte."""
        return self._encoded[start:end]

    def around(self, node: ast.expr | ast.stmt, before: str, after: str = "") -> tuple[Edit, ...]:
        """Text put before and behind a node."""
        start, end = self.span(node)
        opening = Edit(start, start, before)
        return (opening, Edit(end, end, after)) if after else (opening,)

    def instead(self, node: ast.expr | ast.stmt, text: str) -> tuple[Edit, ...]:
        """Other text in a node's place; as many lines as before."""
        start, end = self.span(node)
        breaks = self.between(start, end).count(b"\n") - text.count("\n")
        return (Edit(start, end, text + "\n" * breaks),)

    def behind(self, text: str) -> Edit:
        """Text added at the end."""
        return Edit(len(self._encoded), len(self._encoded), text)

    def edited(self, edits: Iterable[Edit]) -> tuple[str, tuple[int, ...]]:
        """The text with the edits made, and for each of its lines the old one it stands for.

        Edits must not overlap; at one place insertions come first.
        """
        pieces: list[bytes] = []
        lines, old_line, at_start = [1], 1, True
        for piece, line in self._pieces(edits):
            breaks = piece.count(b"\n")
            if line is None:
                lines += range(old_line + 1, old_line + 1 + breaks)
                old_line += breaks
            elif breaks:
                if at_start:
                    lines[-1] = line
                lines += [line] * (breaks - 1) + [old_line]
            at_start = piece.endswith(b"\n") if piece else at_start
            pieces.append(piece)
        return b"".join(pieces).decode(), tuple(lines)

    def _pieces(self, edits: Iterable[Edit]) -> Iterator[tuple[bytes, int | None]]:
        done = 0
        for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
            yield self._encoded[done : edit.start], None
            yield edit.text.encode(), edit.line
            done = edit.end
        yield self._encoded[done:], None

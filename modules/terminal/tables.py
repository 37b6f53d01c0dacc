"""Rows of cells as columns: fitted to a terminal, a line a row elsewhere."""

import sys
from collections.abc import Sequence
from io import StringIO
from typing import TextIO

from modules.terminal.display.region import FREE_COLUMNS
from modules.terminal.streams import printable, write

COLUMN_GAP = "  "


def print_table(rows: Sequence[Sequence[str]], stream: TextIO) -> None:
    """Write rows of cells as columns; the first row has their heads, all have as many cells.

    On a terminal they fit its width, and no cell can drive it. A pipe or file gets a line a row,
    of any length.

    Raises:
        BrokenPipeError: the reader has gone.
    """
    write(f"{table_for(rows, stream)}\n", stream)


def table_for(rows: Sequence[Sequence[str]], stream: TextIO | None = None) -> str:
    """The table as `print_table` writes it to a stream.

    Without one it is a part of what is told on stderr: without styles, and as wide as lines there.
    """
    target = sys.stderr if stream is None else stream
    if not target.isatty():
        return table(rows)
    from modules.terminal.screen import screen_on, table_text  # late: rich takes 0.06 s

    screen = screen_on(target)
    if stream is None:
        screen = screen_on(StringIO(), screen.width - FREE_COLUMNS)
    lines = table_text([[printable(cell) for cell in row] for row in rows], screen).splitlines()
    return "\n".join(line.rstrip() for line in lines)


def table(rows: Sequence[Sequence[str]]) -> str:
    """Rows of cells as aligned columns; all rows have as many cells as the first."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        COLUMN_GAP.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )

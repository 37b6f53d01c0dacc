"""The one Console of rich, and what is laid out with it; imported for a terminal only.

Markup, emoji codes and highlighting are off: most of what is shown was written by others.
"""

from collections.abc import Sequence
from typing import IO, Final, cast

from rich.cells import cell_len, split_text
from rich.console import Console
from rich.table import Table
from rich.text import Text

from modules.terminal.streams import TextSink

COLUMN_GAP: Final = 2
"""Spaces between two columns of a table."""

TAB_COLUMNS: Final = 4

WORD_COLUMNS: Final = (20, 12)
"""What is longer is a path, an id or an address, and may be broken anywhere: with less room, more
of them."""

NO_CELL: Final = "-"
"""Stands in a table where there is nothing to tell."""

CODES_OF_A_COLUMN_MAX: Final = 8
"""Emoji are made of some code points, letters of a few; of more than that the rest is cut."""


def screen_on(stream: TextSink, columns: int | None = None) -> Console:
    """The Console that writes to a stream; as wide as its terminal, unless `columns` is given.

    NO_COLOR and TERM=dumb take the colours away; rich looks at both.
    """
    return Console(
        file=cast("IO[str]", stream),
        width=columns,
        markup=False,
        emoji=False,
        highlight=False,
        legacy_windows=False,
    )


def table_text(rows: Sequence[Sequence[str]], screen: Console) -> str:
    """Rows of cells as columns that fit the screen, the first row as their heads.

    Cells are printable; what is too wide for its column goes on below, broken at words. Where the
    words have no room beside each other, each cell has a line of its own behind its head.
    """
    head, *body = rows
    laid_out = Table(box=None, pad_edge=False, padding=(0, COLUMN_GAP, 0, 0), header_style="bold")
    columns = _columns_wide([*zip(*rows, strict=True)], screen.width)
    if not columns:
        laid_out.show_header = False
        columns = [max(map(columns_of, head)), screen.width]
        laid_out.add_column(style="bold", width=columns[0])
        laid_out.add_column(overflow="fold")
        for row in body:
            mark = ""
            for title, cell in zip(head, row, strict=True):
                if title and cell not in ("", NO_CELL):
                    laid_out.add_row(Text(title), Text(f"{mark} {cell}" if mark else cell))
                mark = "" if title else cell
            laid_out.add_row()
    else:
        for title, wide in zip(head, columns, strict=True):
            laid_out.add_column(Text(title), overflow="fold", width=wide)
        for row in body:
            laid_out.add_row(*map(Text, row))
    with screen.capture() as shown:
        screen.print(laid_out)
    return shown.get()


def _columns_wide(cells: Sequence[Sequence[str]], room: int) -> list[int]:
    """How wide each column is, so that no word is broken in it; none where that can't be."""
    words = [[columns_of(word) for cell in column for word in cell.split()] for column in cells]
    longest = [max(column, default=0) for column in words]
    room -= COLUMN_GAP * (len(cells) - 1)
    narrowest = ([min(word, most) for word in longest] for most in WORD_COLUMNS)
    wide = next((each for each in narrowest if sum(each) <= room), list[int]())
    room -= sum(wide)
    for goal in (longest, [max(map(columns_of, column)) for column in cells]):
        needs = sorted(
            (want - has, at) for at, (want, has) in enumerate(zip(goal, wide, strict=False))
        )
        for need, at in needs:
            wide[at] += (more := min(need, room))
            room -= more
    return wide


def columns_of(text: str) -> int:
    """How many columns a text takes: two for most emoji, one for all that makes up a letter."""
    return cell_len(text)


def fitting(text: str, columns: int) -> str:
    """As much of a text as goes into so many columns of a terminal."""
    text = text[: max(0, columns) * CODES_OF_A_COLUMN_MAX]
    return text if cell_len(text) <= columns else split_text(text, columns)[0].rstrip()


def wrapped(text: str, columns: int, indent: str = "") -> list[str]:
    """The lines of a text, broken at words to fit so many columns, nothing lost but white space.

    `indent` stands before all lines but the first.
    """
    narrow = max(columns - len(indent), 1)
    screen = Console(width=narrow)
    lines = Text(text).wrap(screen, narrow, overflow="fold", tab_size=TAB_COLUMNS)
    return [f"{indent if number else ''}{line.plain}" for number, line in enumerate(lines)]

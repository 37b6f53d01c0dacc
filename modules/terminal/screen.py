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

    Cells are printable; what is too wide for its column goes on below.
    """
    head, *body = rows
    laid_out = Table(box=None, pad_edge=False, padding=(0, COLUMN_GAP, 0, 0), header_style="bold")
    for title in head:
        laid_out.add_column(Text(title), overflow="fold")
    for row in body:
        laid_out.add_row(*map(Text, row))
    with screen.capture() as shown:
        screen.print(laid_out)
    return shown.get()


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

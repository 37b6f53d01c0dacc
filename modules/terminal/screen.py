"""The one Console of rich, and what is laid out with it; imported for a terminal only.

Markup, emoji codes and highlighting are off: most of what is shown was written by others.
"""

from collections.abc import Sequence
from typing import IO, Final, Protocol, cast

from rich.console import Console
from rich.table import Table
from rich.text import Text

COLUMN_GAP: Final = 2
"""Spaces between two columns of a table."""


class TextSink(Protocol):
    """As much of a text stream as lines need."""

    def write(self, text: str, /) -> int:
        """Write text."""
        ...

    def flush(self) -> None:
        """Let it arrive."""
        ...

    def isatty(self) -> bool:
        """Whether a person reads it."""
        ...


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

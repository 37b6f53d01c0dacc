"""A few rows at the foot of a terminal that are written over, and the lines that go above them.

What changes together is sent together, as a synchronized update (DEC private mode 2026):
terminals that know it show all of it at once, others do as they always did.
"""

import os
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from core.base.frozen import frozen
from core.base.text import lazy_pattern
from modules.terminal.streams import TextSink

_BEGIN: Final = "\x1b[?2026h"
_END: Final = "\x1b[?2026l"

_TO_LINE_END: Final = "\x1b[K"
"""Erase to the end of the line (ECMA-48, EL)."""

_BELOW: Final = "\x1b[J"
"""Erase to the end of the screen (ED)."""

FREE_COLUMNS: Final = 3
"""At the end of a line: some terminals go on to the next behind the last, and ^C is echoed."""

_FREE_ROWS: Final = 2
"""Above the region: what was told last."""

DIM: Final = "2"
RED: Final = "31"
GREEN: Final = "32"
CYAN: Final = "36"
"""Numbers of SGR: the terminal's own colours, those that show on light and on dark."""


_FLAT: Final = str.maketrans("\n\t", "  ")


def can_erase(environ: Mapping[str, str]) -> bool:
    """Whether the terminal may be sent escape sequences: Emacs' shell and the like show them."""
    return environ.get("TERM", "") not in ("", "dumb")


def has_colours(environ: Mapping[str, str]) -> bool:
    """Whether the terminal has colours, and they are wanted (https://no-color.org)."""
    return can_erase(environ) and not environ.get("NO_COLOR")


def breaks_lines(environ: Mapping[str, str]) -> bool:
    """Whether the terminal breaks its lines anew when it is made narrower; xterm cuts them off."""
    return "XTERM_VERSION" not in environ or "TMUX" in environ


@frozen
class Row:
    """Printable pieces of one row, each with its SGR numbers; `end` is cut last."""

    pieces: tuple[tuple[str, str], ...]
    end: str = ""


def row(*pieces: str | tuple[str, str], end: str = "") -> Row:
    """A row of plain and styled pieces; line ends and tabs in them are spaces."""
    pairs = [piece if isinstance(piece, tuple) else (piece, "") for piece in pieces]
    return Row(tuple((text.translate(_FLAT), style) for text, style in pairs), end.translate(_FLAT))


@frozen
class Size:
    """Of a terminal, in cells."""

    columns: int
    rows: int


def terminal_size() -> Size:
    """The size of the terminal behind stderr."""
    try:
        columns, rows = os.get_terminal_size(sys.stderr.fileno())
    except (OSError, ValueError):
        return Size(80, 24)
    return Size(columns or 80, rows or 24)


_NARROW: Final = lazy_pattern("[ -~·…→✓✗─│└━╌\u2800-\u28ff]*")
"""Characters of one column each."""


def columns_of(text: str) -> int:
    """How many columns a printable text takes."""
    return len(text) if _NARROW.fullmatch(text) else _screen().columns_of(text)


def fitting(text: str, columns: int) -> str:
    """As much of a printable text as goes into so many columns."""
    if _NARROW.fullmatch(text[: max(columns, 0) + 1]):
        return text[: max(columns, 0)]
    return _screen().fitting(text, columns)


def cut(text: str, columns: int) -> str:
    """The text, or its beginning and "…" where it takes more than so many columns."""
    shown = fitting(text, columns)
    return text if shown == text else f"{fitting(text, columns - 1)}…"


def _screen():
    """What measures letters of all scripts, imported where there are some: rich takes 0.06 s."""
    from modules.terminal import screen

    return screen


class Region:
    """Shows rows at the foot of a terminal; without one, nothing."""

    def __init__(
        self,
        terminal: TextSink | None,
        size: Callable[[], Size] = terminal_size,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self._terminal = terminal
        self._size = size
        self._breaks_lines = breaks_lines(environ)
        self._has_colours = has_colours(environ)
        self._shown: list[int] = []
        self._frame: list[str] | None = None

    @property
    def is_live(self) -> bool:
        """Whether there is a terminal to show it."""
        return self._terminal is not None

    @property
    def is_shown(self) -> bool:
        """Whether rows stand there."""
        return bool(self._shown)

    @property
    def columns(self) -> int:
        """How many columns a row may take."""
        return max(self._size().columns - FREE_COLUMNS, 1)

    @property
    def rows(self) -> int:
        """How many rows may be shown."""
        return max(self._size().rows - _FREE_ROWS, 1)

    def show(self, rows: Sequence[Row]) -> None:
        """Write rows over those that are shown, each cut to the terminal's width.

        The first ones are left out where there are more than fit.
        """
        if self._terminal is None:
            return
        if not rows:
            self.clear()
            return
        with self.frame():
            size = self._size()
            columns = max(size.columns - FREE_COLUMNS, 1)
            fitted = [self._fitted(one, columns) for one in rows[-max(size.rows - _FREE_ROWS, 1) :]]
            erasure = self._erasure(size.columns)
            self._shown = [width for _, width in fitted]
            self._write(erasure + "\r\n".join(f"{text}{_TO_LINE_END}" for text, _ in fitted))
            self._write(_BELOW)

    def clear(self) -> None:
        """Erase what is shown, so that a line of text can take its place."""
        if self._shown:
            with self.frame():
                self._write(f"{self._erasure(self._size().columns)}{_BELOW}")
                self._shown = []

    def write_above(self, text: str) -> None:
        """Write lines that stay; rows that are shown go, and may be shown again in the frame.

        Raises:
            OSError, ValueError: the stream is closed.
        """
        self.clear()
        if self._frame is not None and self._terminal is not None:
            self._frame.append(text)
        elif self._terminal is not None:
            self._terminal.write(text)
            self._terminal.flush()

    @contextmanager
    def frame(self) -> Generator[None]:
        """Send what is written inside at once."""
        if self._frame is not None:
            yield
            return
        self._frame = []
        had_rows = self.is_shown
        try:
            yield
        finally:
            text, self._frame = "".join(self._frame), None
            is_update = had_rows or self.is_shown
            self._send(f"{_BEGIN}{text}{_END}" if is_update and text else text)

    def _erasure(self, columns: int) -> str:
        """To the first column of the first row. A narrower terminal has broken rows into more."""
        rows, above = 0, "\r"
        for width in self._shown:
            rows += max(1, -(-width // max(1, columns))) if self._breaks_lines else 1
        if rows > 1:
            above += f"\x1b[{rows - 1}A"
        return above + (_BELOW if rows > len(self._shown) else "")

    def _fitted(self, one: Row, columns: int) -> tuple[str, int]:
        """A row's text with its styles, and how many columns it takes."""
        end = fitting(one.end, columns)
        room = columns - columns_of(end)
        shown, width = "", 0
        for text, style in one.pieces:
            piece = fitting(text, room - width)
            width += columns_of(piece)
            shown += self.styled(piece, style)
            if piece != text:
                break
        return shown + self.styled(end, DIM), width + columns_of(end)

    def styled(self, text: str, style: str) -> str:
        """The text in SGR numbers, where the terminal has colours."""
        return f"\x1b[{style}m{text}\x1b[m" if style and text and self._has_colours else text

    def _write(self, text: str) -> None:
        if self._frame is not None:
            self._frame.append(text)

    def _send(self, text: str) -> None:
        if self._terminal is None or not text:
            return
        try:
            self._terminal.write(text)
            self._terminal.flush()
        except (OSError, ValueError):
            self._terminal = None
            self._shown = []

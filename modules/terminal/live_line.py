"""A line at the foot of a terminal that is written over: what is going on at this moment."""

import os
import sys
from collections.abc import Callable, Mapping
from typing import Protocol

_ERASE = "\r\x1b[K"
"""Back to the first column, and erase to the end of the line (ECMA-48, EL)."""

_ERASE_BELOW = "\x1b[J"
"""Erase to the end of the screen (ED)."""


class Terminal(Protocol):
    """As much of a text stream as a live line needs."""

    def write(self, text: str, /) -> int:
        """Write text."""
        ...

    def flush(self) -> None:
        """Let it arrive."""
        ...


_COLUMNS_ASSUMED = 80
"""The width of a terminal that doesn't tell."""

_CODES_OF_A_COLUMN_MAX = 8
"""Emoji are made of some code points, letters of a few; of more than that the rest is cut."""

_FREE_COLUMNS = 3
"""At the end of a line: some terminals go on to the next behind the last, and ^C is echoed."""

_JOINER = "\u200d"


def can_erase(environ: Mapping[str, str]) -> bool:
    """Whether the terminal may be sent escape sequences: Emacs' shell and the like show them."""
    return environ.get("TERM", "") not in ("", "dumb")


def breaks_lines(environ: Mapping[str, str]) -> bool:
    """Whether the terminal breaks its lines anew when it is made narrower; xterm cuts them off."""
    return "XTERM_VERSION" not in environ or "TMUX" in environ


def terminal_columns() -> int:
    """The width of the terminal at stderr: stdout is often a pipe when this matters."""
    if sys.__stderr__ is None:
        return _COLUMNS_ASSUMED
    try:
        return os.get_terminal_size(sys.__stderr__.fileno()).columns or _COLUMNS_ASSUMED
    except (OSError, ValueError):  # no terminal; closed
        return _COLUMNS_ASSUMED


def fitting(text: str, columns: int) -> str:
    """As much of a text as goes into so many columns of a terminal."""
    text = text[: max(0, columns) * _CODES_OF_A_COLUMN_MAX]
    if width_of(text) <= columns:
        return text
    low, high = 0, len(text)  # the widest beginning that fits; more text is never narrower
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if width_of(text[:middle]) <= columns else (low, middle - 1)
    return text[:low].rstrip(_JOINER)


def width_of(text: str) -> int:
    """How many columns a text takes: two for most emoji, one for all that makes up a letter."""
    if text.isascii():
        return len(text)
    from wcwidth import wcswidth  # late: 0.12 s, and Python's own tables know no new emoji

    width = wcswidth(text)
    return width if width >= 0 else 2 * len(text)  # with a control character, nobody can tell


def rows_of(text: str, columns: int) -> int:
    """How many rows a text takes on a terminal that has been made so narrow since."""
    return max(1, -(-width_of(text) // max(1, columns)))


class LiveLine:
    """Shows one text at a time on a terminal; on anything else, nothing."""

    def __init__(
        self,
        stream: Terminal | None,
        *,
        is_terminal: bool,
        columns: Callable[[], int] = terminal_columns,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        """Show nothing yet."""
        self._breaks_lines = breaks_lines(environ)
        self._stream = stream if is_terminal else None
        self._columns = columns
        self._shown = ""

    @property
    def is_live(self) -> bool:
        """Whether there is a terminal to show it."""
        return self._stream is not None

    def show(self, text: str, end: str = "") -> None:
        """Write `text` over what is shown; it is printable, and cut to the terminal's width.

        The `end` is not cut before all of the text is.
        """
        if self._stream is None:
            return
        columns = self._columns() - _FREE_COLUMNS
        shown = fitting(fitting(text, columns - width_of(end)) + end, columns)
        self._write(f"{self._erasure()}{shown}")
        self._shown = shown

    def clear(self) -> None:
        """Erase what is shown, so that a line of text can take its place."""
        if self._shown:
            erasure, self._shown = self._erasure(), ""
            self._write(erasure)

    def _erasure(self) -> str:
        """What erases the line. A terminal that was made narrower has broken it into rows."""
        rows = rows_of(self._shown, self._columns()) if self._breaks_lines else 1
        return _ERASE if rows == 1 else f"\r\x1b[{rows - 1}A{_ERASE_BELOW}"

    def _write(self, text: str) -> None:
        if self._stream is None:
            return
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            self._stream = None

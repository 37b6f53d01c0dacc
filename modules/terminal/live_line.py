"""A line at the foot of a terminal that is written over: what is going on at this moment."""

import os
import sys
import unicodedata
from collections.abc import Callable, Mapping
from typing import Protocol

_ERASE = "\r\x1b[K"
"""Back to the first column, and erase to the end of the line (ECMA-48, EL)."""


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


def can_erase(environ: Mapping[str, str]) -> bool:
    """Whether the terminal may be sent escape sequences: Emacs' shell and the like show them."""
    return environ.get("TERM", "") not in ("", "dumb")


def terminal_columns() -> int:
    """The width of the terminal at stderr: stdout is often a pipe when this matters."""
    if sys.__stderr__ is None:
        return _COLUMNS_ASSUMED
    try:
        return os.get_terminal_size(sys.__stderr__.fileno()).columns or _COLUMNS_ASSUMED
    except (OSError, ValueError):  # no terminal; closed
        return _COLUMNS_ASSUMED


def fitting(text: str, columns: int) -> str:
    """As much of a text as goes into so many columns of a terminal.

    Wide and full-width characters take two (Unicode Standard Annex 11).
    """
    for end, character in enumerate(text):
        columns -= 2 if unicodedata.east_asian_width(character) in "WF" else 1
        if columns < 0:
            return text[:end]
    return text


class LiveLine:
    """Shows one text at a time on a terminal; on anything else, nothing."""

    def __init__(
        self,
        stream: Terminal | None,
        *,
        is_terminal: bool,
        columns: Callable[[], int] = terminal_columns,
    ) -> None:
        """Show nothing yet."""
        self._stream = stream if is_terminal else None
        self._columns = columns
        self._shown = False

    def show(self, text: str) -> None:
        """Write `text` over what is shown; it is printable, and cut to the terminal's width."""
        if self._stream is None:
            return
        # The last column stays free: some terminals go on to the next line behind it.
        self._write(f"{_ERASE}{fitting(text, self._columns() - 1)}")
        self._shown = True

    def clear(self) -> None:
        """Erase what is shown, so that a line of text can take its place."""
        if self._shown:
            self._shown = False
            self._write(_ERASE)

    def _write(self, text: str) -> None:
        if self._stream is None:
            return
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            self._stream = None

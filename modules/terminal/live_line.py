"""A line at the foot of a terminal that is written over: what is going on at this moment."""

import shutil
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


class LiveLine:
    """Shows one text at a time on a terminal; on anything else, nothing."""

    def __init__(self, stream: Terminal | None, *, is_terminal: bool) -> None:
        """Show nothing yet."""
        self._stream = stream if is_terminal else None
        self._shown = False

    def show(self, text: str) -> None:
        """Write `text` over what is shown; it is printable, and cut to the terminal's width."""
        if self._stream is None:
            return
        width = shutil.get_terminal_size().columns - 1
        self._write(f"{_ERASE}{text[:width]}")
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

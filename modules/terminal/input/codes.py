"""Codes for the terminal that stand for what one does there, not for text (ECMA-48, xterm)."""

import os
from collections.abc import Mapping
from typing import Final, TextIO

from modules.terminal.waits import can_erase

_CLEAR: Final = "\x1b[2J\x1b[H"
"""Erase the screen (ED), and go to its first cell (CUP)."""


def clear_screen(stream: TextIO, environ: Mapping[str, str] = os.environ) -> None:
    """Empty the terminal's screen; nothing where there is none, or none that can."""
    if stream.isatty() and can_erase(environ):
        stream.write(_CLEAR)
        stream.flush()

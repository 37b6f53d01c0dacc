"""Codes for the terminal that stand for what one does there, not for text (ECMA-48, xterm)."""

import base64
import os
import termios
from collections.abc import Mapping
from contextlib import suppress
from typing import Final, TextIO

from modules.terminal.waits import can_erase

_CLEAR: Final = "\x1b[2J\x1b[H"
"""Erase the screen (ED), and go to its first cell (CUP)."""

_END: Final = "\x1b\\\x1b[0m"
"""End a string of codes (ST), and every style (SGR)."""

COPIED_BYTES_MAX: Final = 75_000
"""More than this, many a terminal takes for no code, and shows."""


def copy_text(text: str, stream: TextIO, environ: Mapping[str, str] = os.environ) -> str:
    """Ask the terminal to put a text into the clipboard (OSC 52); gives who has to allow that.

    Raises:
        ValueError: there is no terminal that could, or the text is longer than one takes.
    """
    if not (stream.isatty() and can_erase(environ)):
        raise ValueError("no terminal is there")
    data = text.encode("utf-8", "replace")
    if len(data) > COPIED_BYTES_MAX:
        raise ValueError(f"of its {len(data):,} bytes, a terminal takes {COPIED_BYTES_MAX:,}")
    code, allows = f"\x1b]52;c;{base64.b64encode(data).decode()}\x07", "the terminal (OSC 52)"
    if environ.get("TMUX"):
        code, allows = f"\x1bPtmux;\x1b{code}\x1b\\", f"tmux (allow-passthrough) and {allows}"
    stream.write(code)
    stream.flush()
    return allows


def clear_screen(stream: TextIO, environ: Mapping[str, str] = os.environ) -> None:
    """Empty the terminal's screen; nothing where there is none, or none that can."""
    if stream.isatty() and can_erase(environ):
        stream.write(_CLEAR)
        stream.flush()


def end_cut_text(stream: TextIO, environ: Mapping[str, str] = os.environ) -> None:
    """Drop what still waits of a text that was cut, and end it wherever that was."""
    with suppress(termios.error):
        termios.tcflush(stream, termios.TCOFLUSH)
    stream.write(f"{_END if can_erase(environ) else ''}\n")
    stream.flush()

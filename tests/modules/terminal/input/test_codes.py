"""Codes for the terminal: the clipboard."""

import base64
import io

import pytest

from modules.terminal.input.codes import COPIED_BYTES_MAX, copy_text
from tests.doubles import Terminal

TEXT = "zwölf ✓"
CODED = base64.b64encode(TEXT.encode()).decode()


def test_a_text_goes_to_the_clipboard_through_tmux_too() -> None:
    terminal, within_tmux = Terminal(), Terminal()
    assert copy_text(TEXT, terminal, {"TERM": "xterm"}) == "the terminal (OSC 52)"
    assert terminal.getvalue() == f"\x1b]52;c;{CODED}\x07"
    assert copy_text(TEXT, within_tmux, {"TERM": "tmux", "TMUX": "/tmp/x,1,0"}).startswith("tmux")  # noqa: S108
    assert within_tmux.getvalue() == f"\x1bPtmux;\x1b\x1b]52;c;{CODED}\x07\x1b\\"


@pytest.mark.parametrize("stream", [io.StringIO(), Terminal()])
def test_where_no_terminal_could_nothing_is_written(stream: io.StringIO) -> None:
    with pytest.raises(ValueError, match="no terminal is there"):
        copy_text(TEXT, stream, {"TERM": "dumb"})
    assert stream.getvalue() == ""


def test_a_long_text_is_not_cut_but_refused() -> None:
    terminal = Terminal()
    with pytest.raises(ValueError, match="a terminal takes"):
        copy_text("x" * (COPIED_BYTES_MAX + 1), terminal, {"TERM": "xterm"})
    assert terminal.getvalue() == ""

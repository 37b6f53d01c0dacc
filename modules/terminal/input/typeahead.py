"""What is typed while a run goes on, kept for the next prompt."""

import contextlib
import sys
import termios
from collections.abc import Generator
from typing import Final, TextIO

_INPUT, _LOCAL = 0, 3
"""Places of the modes in what `termios.tcgetattr` gives."""

_AS_TYPED: Final = termios.ICANON | termios.ECHO


@contextlib.contextmanager
def keeping_typeahead(stdin: TextIO | None = None) -> Generator[None]:
    """While inside and no prompt is open, keys wait unseen in the terminal, Enter as Enter.

    They would stand in the midst of what a run tells, and Enter would come as Ctrl-J does, which
    is a new line at the prompt. Ctrl-C and Ctrl-Z do what they do. The terminal keeps some 4,000
    characters.
    """
    with _changed(sys.stdin if stdin is None else stdin, is_typed=False):
        yield


@contextlib.contextmanager
def as_typed(stdin: TextIO | None = None) -> Generator[None]:
    """While inside `keeping_typeahead`, the terminal as another program expects it."""
    with _changed(sys.stdin if stdin is None else stdin, is_typed=True):
        yield


@contextlib.contextmanager
def _changed(terminal: TextIO, *, is_typed: bool) -> Generator[None]:
    try:
        before, mode = termios.tcgetattr(terminal), termios.tcgetattr(terminal)
    except termios.error:  # it is gone
        yield
        return
    if is_typed:
        mode[_INPUT] |= termios.ICRNL
        mode[_LOCAL] |= _AS_TYPED
    else:
        mode[_INPUT] &= ~termios.ICRNL
        mode[_LOCAL] &= ~_AS_TYPED
    with contextlib.suppress(termios.error):
        termios.tcsetattr(terminal, termios.TCSANOW, mode)
    try:
        yield
    finally:
        with contextlib.suppress(termios.error):
            termios.tcsetattr(terminal, termios.TCSANOW, before)

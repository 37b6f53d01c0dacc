"""What is typed while a run goes on, kept for the next prompt; and the terminal, lent to others."""

import contextlib
import sys
import termios
from collections.abc import Generator
from typing import Final, TextIO

_INPUT, _LOCAL = 0, 3
"""Places of the modes in what `termios.tcgetattr` gives."""

_AS_TYPED: Final = termios.ICANON | termios.ECHO


def keeping_typeahead(
    stdin: TextIO | None = None,
) -> contextlib.AbstractContextManager[None]:
    """While inside and no prompt is open, keys wait unseen in the terminal, Enter as Enter.

    They would stand in the midst of what a run tells, and Enter would come as Ctrl-J does, which
    is a new line at the prompt. Ctrl-C and Ctrl-Z do what they do, and take nothing that was
    typed. The terminal keeps some 4,000 characters.
    """
    return _with_modes(stdin, is_kept=True)


def lending_terminal(
    stdin: TextIO | None = None,
) -> contextlib.AbstractContextManager[None]:
    """While inside, keys show and lines end as programs expect it; afterwards all is as before."""
    return _with_modes(stdin, is_kept=False)


@contextlib.contextmanager
def _with_modes(stdin: TextIO | None, *, is_kept: bool) -> Generator[None]:
    terminal = sys.stdin if stdin is None else stdin
    try:
        before, mode = termios.tcgetattr(terminal), termios.tcgetattr(terminal)
    except termios.error:  # it is gone
        yield
        return
    if is_kept:
        mode[_INPUT] &= ~termios.ICRNL
        mode[_LOCAL] = (mode[_LOCAL] & ~_AS_TYPED) | termios.NOFLSH  # Ctrl-C would throw it away
    else:
        mode[_INPUT] |= termios.ICRNL
        mode[_LOCAL] |= _AS_TYPED
    with contextlib.suppress(termios.error):
        termios.tcsetattr(terminal, termios.TCSANOW, mode)
    try:
        yield
    finally:
        with contextlib.suppress(termios.error):
            termios.tcsetattr(terminal, termios.TCSANOW, before)

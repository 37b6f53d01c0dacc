"""What is typed while a run goes on, kept for the next prompt; and the terminal, lent to others."""

import contextlib
import sys
import termios
from collections.abc import Generator
from contextvars import ContextVar
from typing import Final, TextIO

_INPUT, _LOCAL = 0, 3
"""Places of the modes in what `termios.tcgetattr` gives."""

_AS_TYPED: Final = termios.ICANON | termios.ECHO


_PASTES_MARKED: Final = "\x1b[?2004h"
_PASTES_PLAIN: Final = "\x1b[?2004l"
"""Modes of the terminal: a pasted text comes between two marks, or as if it were typed."""

_IS_KEPT: Final = ContextVar("is_kept", default=False)


@contextlib.contextmanager
def keeping_typeahead(stdin: TextIO | None = None) -> Generator[None]:
    """While inside and no prompt is open, keys wait unseen in the terminal, Enter as Enter.

    They would stand in the midst of what a run tells, and Enter would come as Ctrl-J does, which
    is a new line at the prompt. Ctrl-C and Ctrl-Z do what they do, and take nothing that was
    typed. A pasted text comes as one. The terminal keeps some 4,000 characters.
    """
    token = _IS_KEPT.set(True)
    try:
        with _with_modes(stdin, is_kept=True):
            mark_pastes(sys.stderr)
            yield
    finally:
        _IS_KEPT.reset(token)
        _send(_PASTES_PLAIN, sys.stderr)


@contextlib.contextmanager
def lending_terminal(stdin: TextIO | None = None) -> Generator[None]:
    """While inside, keys show and lines end as programs expect it; afterwards all is as before."""
    if _IS_KEPT.get():
        _send(_PASTES_PLAIN, sys.stderr)
    try:
        with _with_modes(stdin, is_kept=False):
            yield
    finally:
        mark_pastes(sys.stderr)


def mark_pastes(stream: TextIO) -> None:
    """Have pasted texts come as one, while keys are kept; each prompt that closes ends that."""
    if _IS_KEPT.get():
        _send(_PASTES_MARKED, stream)


def _send(code: str, stream: TextIO) -> None:
    with contextlib.suppress(OSError, ValueError):
        if stream.isatty():
            stream.write(code)
            stream.flush()


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
        mode[_LOCAL] &= ~termios.NOFLSH
    with contextlib.suppress(termios.error):
        termios.tcsetattr(terminal, termios.TCSANOW, mode)
    try:
        yield
    finally:
        with contextlib.suppress(termios.error):
            termios.tcsetattr(terminal, termios.TCSANOW, before)

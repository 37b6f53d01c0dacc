"""The terminal's own ways while rows are shown at its foot: what is typed, and Ctrl-Z."""

import asyncio
import contextlib
import signal
import sys
import termios
from collections.abc import Callable
from typing import Final

_LOCAL_MODES: Final = 3
"""The place of the local modes in what `termios.tcgetattr` gives."""


class Keyboard:
    """While `taken`, keys are not echoed into the rows, and Ctrl-Z finds them gone.

    What is typed waits for whoever reads next: our prompt, or the shell.
    """

    def __init__(self, clear: Callable[[], None], redraw: Callable[[], None]) -> None:
        """`clear` takes the rows away, `redraw` shows them anew."""
        self._clear = clear
        self._redraw = redraw
        self._loop: asyncio.AbstractEventLoop | None = None
        self._before: list[object] | None = None

    def take(self) -> None:
        """Rows are about to be shown. Without a running loop, or on another thread, nothing."""
        if self._loop is not None:
            return
        with contextlib.suppress(RuntimeError, ValueError, OSError, termios.error):
            loop = asyncio.get_running_loop()
            if signal.getsignal(signal.SIGTSTP) is not signal.SIG_DFL:
                return  # somebody else's, or the shell has no job control
            loop.add_signal_handler(signal.SIGTSTP, self._suspend)
            self._loop = loop
            self._silence()

    def give_back(self) -> None:
        """No rows are shown any more."""
        if (loop := self._loop) is None:
            return
        self._loop = None
        with contextlib.suppress(RuntimeError, ValueError, OSError, termios.error):
            self._restore()
        with contextlib.suppress(RuntimeError, ValueError):
            loop.remove_signal_handler(signal.SIGTSTP)

    def _suspend(self) -> None:
        """Stop as the terminal wants it, and go on when the shell says so."""
        self._clear()
        self.give_back()
        signal.raise_signal(signal.SIGTSTP)
        self._redraw()

    def _silence(self) -> None:
        mode = termios.tcgetattr(sys.stdin)
        if mode[_LOCAL_MODES] & termios.ECHO:
            self._before = [*mode]
            mode[_LOCAL_MODES] &= ~termios.ECHO
            termios.tcsetattr(sys.stdin, termios.TCSANOW, mode)

    def _restore(self) -> None:
        """Echo again, as far as nobody has set other modes meanwhile."""
        before, self._before = self._before, None
        if before is not None:
            mode = termios.tcgetattr(sys.stdin)
            mode[_LOCAL_MODES] |= termios.ECHO
            termios.tcsetattr(sys.stdin, termios.TCSANOW, mode)

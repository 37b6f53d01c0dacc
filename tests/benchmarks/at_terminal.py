"""A program at a pseudo-terminal, as the measurements of the terminal need it."""

import os
import pty
import select
import subprocess
import termios
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tests.command_line import environment

WAIT_SECONDS = 60.0


class AtTerminal:
    """A process whose three streams are a terminal of 100 columns; `started` is its moment."""

    def __init__(self, command: Sequence[str], home: Path) -> None:
        self._ours, theirs = pty.openpty()
        termios.tcsetwinsize(theirs, (40, 100))
        self.started = time.perf_counter()
        self._process = subprocess.Popen(
            command,
            env=environment(home, TERM="xterm-256color"),
            cwd=home,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        self.written = b""

    def until(self, text: bytes) -> float:
        """Seconds from the start until the text is written.

        Raises:
            AssertionError: it is not.
        """
        while text not in self.written:
            assert self._read(), self.written.decode(errors="replace")
        return time.perf_counter() - self.started

    def type(self, keys: bytes) -> None:
        """Press keys."""
        os.write(self._ours, keys)

    def end(self) -> float:
        """Read until it has ended; its CPU seconds, with those of the processes it waited for."""
        while self._read():
            pass
        _, status, used = os.wait4(self._process.pid, 0)
        self._process.returncode = os.waitstatus_to_exitcode(status)
        os.close(self._ours)
        assert self._process.returncode == 0, self.written.decode(errors="replace")
        return used.ru_utime + used.ru_stime

    def _read(self) -> bool:
        piece = b""
        if select.select([self._ours], [], [], WAIT_SECONDS)[0]:
            with suppress(OSError):  # EIO: nobody has the terminal open any more
                piece = os.read(self._ours, 65_536)
        self.written += piece
        return bool(piece)

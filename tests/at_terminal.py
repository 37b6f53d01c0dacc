"""A program at a real pseudo-terminal, and when something new came to it: its silences, its CPU."""

import os
import pty
import re
import select
import subprocess
import termios
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tests.command_line import environment

WAIT_SECONDS = 60.0

_WHERE = b"\x1b[6n"
"""Asks where the cursor is, which every terminal answers."""

_STYLE = re.compile(rb"\x1b\[[0-9;]*m")


class AtTerminal:
    """A process whose three streams are a terminal of 100 columns; `started` is its moment.

    `silences` are the times without a byte, in seconds, each with what stood there before; the
    time in which nobody has typed the next line is none.
    """

    def __init__(self, command: Sequence[str], home: Path) -> None:
        self._ours, theirs = pty.openpty()
        termios.tcsetwinsize(theirs, (40, 100))
        self.started = self._last = time.perf_counter()
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
        self.silences: list[tuple[float, str]] = []
        self._typed = 0

    @property
    def shown(self) -> str:
        """What was written, without styles."""
        return _STYLE.sub(b"", self.written).decode(errors="replace")

    def until(self, text: bytes) -> float:
        """Seconds from the start until the text is written, after what was typed last.

        Raises:
            AssertionError: it is not.
        """
        while text not in self.written[self._typed :]:
            assert self._read(), self.written.decode(errors="replace")
        return time.perf_counter() - self.started

    def type(self, keys: bytes) -> None:
        """Press keys."""
        self._typed, self._last = len(self.written), time.perf_counter()
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
        now = time.perf_counter()
        self.silences.append((now - self._last, self.written[-200:].decode(errors="replace")))
        self._last = now
        self.written += piece
        if _WHERE in piece:
            os.write(self._ours, b"\x1b[1;1R")
        return bool(piece)

"""What stands on the screen of a terminal at which `agent.py` runs: pyte emulates it."""

import os
import termios
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import pexpect
import pyte

from tests.processes.forked_terminal import ROWS, ForkedTerminal

WAIT_SECONDS = 20
POLL_SECONDS = 0.05


class ScreenTerminal(ForkedTerminal):
    """A terminal with a screen, which answers where its cursor is, as terminals do."""

    def __init__(
        self, *arguments: str, environ: Mapping[str, str], cwd: Path, columns: int = 100
    ) -> None:
        """Run `agent.py ARGUMENTS` at it."""
        self.screen = pyte.Screen(columns, ROWS)
        self.screen.write_process_input = self._answer
        self._emulator = pyte.Stream(self.screen)
        super().__init__(
            *arguments, environ=environ, cwd=cwd, timeout=WAIT_SECONDS, columns=columns
        )
        self._pending = ""

    @property
    def text(self) -> str:
        """The rows that have something, a line each."""
        return "\n".join(row.rstrip() for row in self.screen.display if row.strip())

    def until(self, is_there: Callable[[str], bool]) -> str:
        """The screen's text once it is as wanted.

        Raises:
            AssertionError: it does not come to that.
        """
        deadline = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < deadline:
            if is_there(self.text):
                return self.text
            self.look()
        raise AssertionError(f"the screen stays at:\n{self.text}")

    def shows(self, part: str) -> str:
        """The screen's text once it has this in it."""
        return self.until(lambda text: part in text)

    def ends(self) -> int:
        """The exit code."""
        with suppress(pexpect.EOF):
            self.until(lambda text: False)
        return self.wait()

    def resize(self, columns: int) -> None:
        """Make it so wide; rows that are longer are cut off, as xterm does."""
        self.screen.resize(columns=columns)
        termios.tcsetwinsize(self.child_fd, (ROWS, columns))

    def look(self) -> None:
        """Take in what has been written meanwhile."""
        try:
            self._emulator.feed(self.read_nonblocking(65_536, POLL_SECONDS))
        except pexpect.TIMEOUT:
            return

    def _answer(self, data: str) -> None:
        os.write(self.child_fd, data.encode())

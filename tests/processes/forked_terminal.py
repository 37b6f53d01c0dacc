"""A pseudo-terminal with a fork of `agent.py` at it, for pexpect."""

import os
import pty
import signal
import termios
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pexpect.fdpexpect import fdspawn

from tests.forked_agent import forked_agent

if TYPE_CHECKING:
    TextSpawn = fdspawn[str]
else:
    TextSpawn = fdspawn  # has no parameters when it runs

ROWS = 50


class ForkedTerminal(TextSpawn):
    """What `pexpect.spawn` is, as far as tests use it, without the imports of a fresh process."""

    def __init__(
        self,
        *arguments: str,
        environ: Mapping[str, str],
        cwd: Path,
        timeout: float,
        columns: int = 100,
        loses_output: bool = True,
    ) -> None:
        """Run `agent.py ARGUMENTS` at a terminal of its own.

        As any terminal it throws away at Ctrl-C what was written and is not read yet, but a test
        reads late. Without `loses_output` it keeps that (`stty noflsh`).
        """
        ours, theirs = pty.openpty()
        termios.tcsetwinsize(theirs, (ROWS, columns))
        if not loses_output:
            modes = termios.tcgetattr(theirs)
            modes[3] |= termios.NOFLSH
            termios.tcsetattr(theirs, termios.TCSANOW, modes)
        streams = [theirs, os.dup(theirs), os.dup(theirs)]
        self._process = forked_agent().start(arguments, environ, cwd, streams, in_terminal=True)
        self._ended = False
        super().__init__(ours, encoding="utf-8", timeout=timeout)

    def sendintr(self) -> None:
        """Type Ctrl-C."""
        self.send("\x03")

    def sendeof(self) -> None:
        """Type Ctrl-D."""
        self.send("\x04")

    def hang_up(self) -> None:
        """Close the terminal over the program at it."""
        os.close(self.child_fd)
        self.child_fd = -1

    def kill(self, number: signal.Signals) -> None:
        """Send the process a signal."""
        os.kill(self._process, number)

    def wait(self) -> int:
        """Its exit code, when it has ended; minus the signal that ended it."""
        code = forked_agent().wait()
        self._ended = True
        self.exitstatus, self.signalstatus = (code, None) if code >= 0 else (None, -code)
        return code

    def close(self) -> None:
        """End it if it runs, and close the terminal."""
        if not self._ended:
            with suppress(ProcessLookupError):  # it has ended meanwhile, and its code waits
                self.kill(signal.SIGKILL)
            self.wait()
        super().close()

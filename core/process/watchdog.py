"""Sees to it that no server outlives an agent that was killed outright (SIGKILL, out of memory).

Servers of ours end when their stdin closes. Others may ignore that, and SIGTERM too, and leave
children behind; so one small process a dispatcher, started with the first such server, ends their
groups when we are gone (`core.process.watchdog_program`). It is an addition: where it can't be
had, servers work as without it. Light: standard library only. POSIX only.
"""

import logging
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from core.base.frozen import frozen

PROGRAM = Path(__file__).with_name("watchdog_program.py")

END_SECONDS = 0.5
"""How long it may take to end with nothing left to guard; a millisecond is usual."""


@frozen
class StopGrace:
    """How long a server may take over each stage of its end, in seconds.

    Closed stdin, then SIGTERM to its group, then SIGKILL; `lost_seconds` replaces the first
    when its session has broken down already.
    """

    stdin_seconds: float = 2.0
    term_seconds: float = 1.0
    kill_seconds: float = 2.0
    lost_seconds: float = 0.3


_log = logging.getLogger(__name__)


class Watchdog:
    """Guards process groups for as long as this process lives; begins when first needed.

    A group is to be forgotten before its leader is reaped: until then nobody else can have its id.
    """

    def __init__(self, grace: StopGrace | None = None, python: str = sys.executable) -> None:
        """Start nothing. `python` runs the watchdog's program."""
        self._grace = grace or StopGrace()
        self._python = python
        self._groups: set[int] = set()
        self._process: subprocess.Popen[bytes] | None = None
        self._is_absent = False

    @property
    def pid(self) -> int | None:
        """The id of the watchdog's process while there is one."""
        return None if self._process is None else self._process.pid

    def expect(self, stdin: int) -> None:
        """A server is about to be started whose stdin this descriptor will be; then `guard` it.

        So there is no moment in which it runs and nobody knows it: the watchdog can tell by this
        pipe who was started last.
        """
        self._tell(f"?{os.fstat(stdin).st_ino}\n")

    def guard(self, group: int) -> None:
        """End this process group should we be killed."""
        self._groups.add(group)
        if not self._tell(f"+{group}\n"):
            self._replace()

    def forget(self, group: int) -> None:
        """Leave the group alone from now on; also one that was never guarded."""
        if group in self._groups:
            self._groups.discard(group)
            if not self._tell(f"-{group}\n"):
                self._replace()

    def retire(self) -> None:
        """End the watchdog's process unless something is guarded; the next `guard` starts another.

        Blocks for a millisecond or so, at most about `END_SECONDS`.
        """
        if not self._groups:
            self._end()

    def _tell(self, order: str) -> bool:
        """Whether the order was taken, or nobody is there to take any."""
        if self._process is None and not self._is_absent:
            self._start()
        if self._process is None or self._process.stdin is None:
            return True
        with suppress(OSError):
            # A pipe that is full makes this fail too: then it hangs, and is of no use.
            return self._process.stdin.write(order.encode()) == len(order)
        return False

    def _replace(self) -> None:
        """Begin anew after the watchdog itself was killed."""
        self._end()
        for group in self._groups:
            self._tell(f"+{group}\n")

    def _start(self) -> None:
        seconds = self._grace.stdin_seconds, self._grace.term_seconds, self._grace.kill_seconds
        arguments = [str(os.getpid()), *map(str, seconds)]
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own program
                [self._python, "-I", "-S", str(PROGRAM), *arguments],
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={},
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            self._is_absent = True
            _log.warning("servers that ignore a closed stdin could outlive us: %s", error)
            return
        if self._process.stdin is not None:
            os.set_blocking(self._process.stdin.fileno(), False)

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if process.stdin is not None:
            with suppress(OSError):
                process.stdin.close()
        try:
            process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

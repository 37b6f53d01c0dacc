"""A step that is done again and again on a thread of its own; nothing but `close` ends it."""

import logging
import threading
from collections.abc import Callable
from typing import TypeAlias

from servers.rag.faults import RagError

logger = logging.getLogger(__name__)

RETRY_FIRST_SECONDS = 5.0
RETRY_LAST_SECONDS = 600.0

Step: TypeAlias = Callable[[], float | None]
"""Does some work; gives the seconds until it is due again, None for: only when woken."""


class Repeating:
    """Runs a step, again whenever it is woken or due, and later again where it fails.

    A failure is kept as `fault`, one line for the status, until the step succeeds. The waits
    between failed attempts double from 5 seconds to 10 minutes, and `wake` doesn't shorten them.
    """

    def __init__(
        self,
        name: str,
        step: Step,
        *,
        first_after_seconds: float = 0.0,
        retry_first_seconds: float = RETRY_FIRST_SECONDS,
    ) -> None:
        self.fault = ""
        self._step = step
        self._first_after_seconds = first_after_seconds
        self._retry_first_seconds = retry_first_seconds
        self._failures = 0
        self._woken = threading.Event()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin; once."""
        self._thread.start()

    def wake(self) -> None:
        """Let the step run soon; many calls before it does are one."""
        self._woken.set()

    def close(self, seconds: float) -> None:
        """Ask it to end and wait for that, not longer than given: the thread is a daemon."""
        self._closing.set()
        self._woken.set()
        if self._thread.ident is not None:
            self._thread.join(seconds)

    def _run(self) -> None:
        self._closing.wait(self._first_after_seconds)
        while not self._closing.is_set():
            self._woken.clear()
            seconds = self._attempted()
            if self._failures:
                self._closing.wait(seconds)
            else:
                self._woken.wait(seconds)

    def _attempted(self) -> float | None:
        """Do the step; how long to wait then."""
        try:
            seconds = self._step()
        except RagError as error:
            return self._failed(str(error))
        except Exception:
            if self._closing.is_set():
                return 0.0  # what it worked with was closed under it
            logger.exception("%s failed", self._thread.name)
            return self._failed(f"{self._thread.name} failed by a fault of ours; see the log")
        self._failures = 0
        self.fault = ""
        return seconds

    def _failed(self, line: str) -> float:
        self.fault = line
        wait = min(self._retry_first_seconds * 2**self._failures, RETRY_LAST_SECONDS)
        self._failures = min(self._failures + 1, 32)
        return wait

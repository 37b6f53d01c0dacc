"""Reading files in processes of their own, so that no file can crash or hang the indexer."""

import os
import queue
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from servers.reading.limits import Limits
from servers.reading.process.messages import Request
from servers.reading.process.reader_process import Ended, ReaderProcess, Rested
from servers.reading.source import Extracted, ExtractionError

READ_TWICE = ".pdf"
"""Files that are tried again, with another library, when the first attempt ended the process."""


@dataclass(slots=True)
class _Slot:
    """A place for a process; None before the first file, and after one that ended it."""

    process: ReaderProcess | None = None


class ExtractionWorker:
    """Reads each file or page in a long-lived child process.

    A process that a file crashes or keeps too long is replaced. `extract` may be called from
    several threads: as many files are read at a time as there are `processes`. The first file
    starts a process, and a minute without files ends it.
    """

    def __init__(
        self,
        captions: str = "auto",
        *,
        limits: Limits | None = None,
        environ: Mapping[str, str] = os.environ,
        processes: int = 1,
        start: Callable[[], ReaderProcess] | None = None,
    ) -> None:
        """`captions` as in `DocumentOptions`; from `environ` only what that needs is passed on.

        `start` starts a process, if not the usual one.
        """
        bounds = limits or Limits()
        self._start = start or (lambda: ReaderProcess(captions, bounds, environ))
        self._is_closed = False
        self._slots = [_Slot() for _ in range(max(1, processes))]
        self._free: queue.LifoQueue[_Slot] = queue.LifoQueue()
        for slot in self._slots:
            self._free.put(slot)

    def extract(self, path: Path) -> Extracted:
        """The text of a file; waits for a process that is free.

        Raises:
            ExtractionError: it can't be read; the message is one line for the status.
        """
        return self.read(Request(path))

    def read(self, request: Request) -> Extracted:
        """The same of whatever is asked for."""
        slot = self._free.get()
        try:
            return self._read(slot, request)
        finally:
            self._free.put(slot)

    def close(self) -> None:
        """End the processes; a file that is being read fails."""
        self._is_closed = True
        for slot in self._slots:
            if (process := slot.process) is not None:
                process.kill()
        taken = [self._free.get() for _ in self._slots]  # their threads see the end at once
        for slot in taken:
            _vacate(slot)
            self._free.put(slot)

    def _read(self, slot: _Slot, request: Request) -> Extracted:
        try:
            return self._attempt(slot, request)
        except Ended as ended:
            if request.path.suffix.lower() != READ_TWICE or self._is_closed:
                raise ExtractionError(str(ended)) from None
        try:
            return self._attempt(slot, replace(request, is_careful=True))
        except Ended as ended:
            raise ExtractionError(str(ended)) from None

    def _attempt(self, slot: _Slot, request: Request) -> Extracted:
        """Read a file once.

        Raises:
            ExtractionError: it can't be read.
            Ended: its reading ended the process.
        """
        try:
            return self._ask(slot, request)
        except Rested:
            return self._ask(slot, request)

    def _ask(self, slot: _Slot, request: Request) -> Extracted:
        if self._is_closed:
            raise ExtractionError("the reading of files was stopped")
        if slot.process is None:
            slot.process = self._started()
        try:
            return slot.process.read(request)
        except Ended:
            _vacate(slot)
            raise
        except BaseException as error:
            # Whatever interrupted the exchange: the next file must not get this one's answer.
            if not isinstance(error, ExtractionError):
                _vacate(slot)
            raise

    def _started(self) -> ReaderProcess:
        try:
            return self._start()
        except OSError as error:
            raise ExtractionError(f"no process for reading can be started: {error}") from error


def _vacate(slot: _Slot) -> None:
    process, slot.process = slot.process, None
    if process is not None:
        process.end()

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
class _Seat:
    """A place for a process; None before the first file, and after one that ended it."""

    process: ReaderProcess | None = None


class ExtractionWorker:
    """Reads each file in a long-lived child process; a `ports.Extractor`.

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
        self._seats = [_Seat() for _ in range(max(1, processes))]
        self._free: queue.LifoQueue[_Seat] = queue.LifoQueue()
        for seat in self._seats:
            self._free.put(seat)

    def extract(self, path: Path) -> Extracted:
        """The text of a file; waits for a process that is free.

        Raises:
            ExtractionError: it can't be read; the message is one line for the status.
        """
        return self.read(Request(path))

    def read(self, request: Request) -> Extracted:
        """The same of whatever is asked for."""
        seat = self._free.get()
        try:
            return self._read(seat, request)
        finally:
            self._free.put(seat)

    def close(self) -> None:
        """End the processes; a file that is being read fails."""
        self._is_closed = True
        for seat in self._seats:
            if (process := seat.process) is not None:
                process.kill()
        taken = [self._free.get() for _ in self._seats]  # their threads see the end at once
        for seat in taken:
            _vacate(seat)
            self._free.put(seat)

    def _read(self, seat: _Seat, request: Request) -> Extracted:
        try:
            return self._attempt(seat, request)
        except Ended as ended:
            if request.path.suffix.lower() != READ_TWICE or self._is_closed:
                raise ExtractionError(str(ended)) from None
        try:
            return self._attempt(seat, replace(request, is_careful=True))
        except Ended as ended:
            raise ExtractionError(str(ended)) from None

    def _attempt(self, seat: _Seat, request: Request) -> Extracted:
        """Read a file once.

        Raises:
            ExtractionError: it can't be read.
            Ended: its reading ended the process.
        """
        try:
            return self._ask(seat, request)
        except Rested:
            return self._ask(seat, request)

    def _ask(self, seat: _Seat, request: Request) -> Extracted:
        if self._is_closed:
            raise ExtractionError("the reading of files was stopped")
        if seat.process is None:
            seat.process = self._started()
        try:
            return seat.process.read(request)
        except Ended:
            _vacate(seat)
            raise
        except BaseException as error:
            # Whatever interrupted the exchange: the next file must not get this one's answer.
            if not isinstance(error, ExtractionError):
                _vacate(seat)
            raise

    def _started(self) -> ReaderProcess:
        try:
            return self._start()
        except OSError as error:
            raise ExtractionError(f"no process for reading can be started: {error}") from error


def _vacate(seat: _Seat) -> None:
    process, seat.process = seat.process, None
    if process is not None:
        process.end()

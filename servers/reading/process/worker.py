"""Reading files in processes of their own, so that no file can crash, hang or fill ours.

A process is started, asked, and ended in any case; what it replies is checked, since a hostile file
may have taken it over.
"""

import contextlib
import json
import os
import queue
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from pydantic import BaseModel, ConfigDict, NonNegativeInt, ValidationError

from core.base.json_text import at_once, excess
from servers.reading.limits import Limits, seconds_with_scans
from servers.reading.markdown import as_title, cleaned, unwrapped
from servers.reading.pictures.captioner_choice import variables_for
from servers.reading.process.messages import (
    EXIT_RESTS,
    Refusal,
    Reply,
    Request,
    Scans,
    Settings,
    request_line,
)
from servers.reading.source import PICTURES_MAX, Extracted, ExtractionError, TakesLong

MODULE = "servers.reading.process.program"
ROOT = Path(__file__).resolve().parents[3]
"""The folder that holds `servers`."""

MEMORY_BYTES = 4 * 1024**3
IDLE_SECONDS = 60.0
READ_BYTES = 1024 * 1024
ENDING_SECONDS = 5.0

PASSED_ON = (
    "PATH", "HOME", "TMPDIR", "TZ", "LANG", "LC_ALL", "LC_CTYPE", "SSL_CERT_FILE", "SSL_CERT_DIR",
    "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
    "CORTEX_WEB",
)  # fmt: skip
"""All of the environment that the process gets, besides what describing pictures needs."""

ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONUTF8": "1"}

ERROR_CHARS_MAX = 500
NOTES_MAX = 50
ADDRESS_CHARS_MAX = 2_000
BYTES_A_CHARACTER = 6
"""At most, escaped in JSON."""

READ_TWICE = ".pdf"
"""Files that are tried again, with another library, when the first attempt ended the process."""

_OUT_OF_TIME = frozenset({signal.SIGPROF, signal.SIGALRM})
"""By these the process ends itself; see `program`."""


class Ended(Exception):
    """The process is gone without an answer; the message says why, for the status."""


class Rested(Ended):
    """It ended by itself, before it took the file up."""


class ReaderProcess:
    """A child process; to be used by one thread at a time, ended by any."""

    def __init__(
        self, captions: str, limits: Limits, environ: Mapping[str, str], module: str = MODULE
    ) -> None:
        """Starts it; it is ready when its modules are imported, in about a fifth of a second.

        `module` is what runs in it; another one is for tests.
        """
        self._limits = limits
        settings: Settings = {
            "captions": captions,
            "memory_bytes": MEMORY_BYTES,
            "idle_seconds": IDLE_SECONDS,
            "limits": asdict(limits),
        }
        names = (*PASSED_ON, *variables_for(captions))
        self._process = subprocess.Popen(  # noqa: S603 - our own module, by our own Python
            [sys.executable, "-m", module, json.dumps(settings)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # parsers complain there about files, and to nobody
            cwd=ROOT,
            env={name: environ[name] for name in names if name in environ} | ONE_THREAD,
            start_new_session=True,  # Ctrl-C is for the parent, which ends it
        )
        self._requests = 0
        self._received = bytearray()

    @property
    def pid(self) -> int:
        """Its number, and that of its group."""
        return self._process.pid

    def read(self, request: Request, within_seconds: float | None = None) -> Extracted:
        """What is asked for, where it takes no longer than `within_seconds`.

        Raises:
            ExtractionError: the process says that it can't be read.
            Ended: the process is gone: it crashed, took too long, or broke the rules.
        """
        self._requests += 1
        self._send(request_line(self._requests, request))
        begun = time.monotonic()
        seconds = self._limits.seconds
        while True:
            bound = seconds * self._limits.waiting
            line = self._line(begun + min(bound, within_seconds or bound))
            try:
                reply = read_reply(line, self._requests, self._limits)
            except BrokenReply:
                self.end()
                raise Ended("what the reader answered makes no sense") from None
            match reply:
                case Scans():
                    seconds = seconds_with_scans(self._limits, reply.count)
                case Refusal():
                    raise ExtractionError(reply.message)
                case Extracted():
                    return reply

    def kill(self) -> None:
        """End the process and its group; whoever reads from it sees that. From any thread."""
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):  # it went at this moment
                os.killpg(self._process.pid, signal.SIGKILL)

    def end(self) -> None:
        """End it, if it is not gone, and close what connects to it. Only from the user's thread."""
        self.kill()
        self._process.wait(ENDING_SECONDS)
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):  # a request that could not be written any more
                    stream.close()

    def _send(self, line: bytes) -> None:
        assert self._process.stdin is not None  # noqa: S101 - a pipe was asked for
        try:
            self._process.stdin.write(line)
            self._process.stdin.flush()
        except (OSError, ValueError):
            raise self._gone() from None

    def _line(self, deadline: float) -> bytes:
        """The next line; without its end.

        Raises:
            Ended: none comes by `deadline` (of `time.monotonic`), or none that ends.
        """
        assert self._process.stdout is not None  # noqa: S101 - a pipe was asked for
        number = self._process.stdout.fileno()
        searched = 0
        while (end := self._received.find(b"\n", searched)) < 0:
            searched = len(self._received)
            if searched > BYTES_A_CHARACTER * self._limits.markdown_chars + READ_BYTES:
                self.end()
                raise Ended("what the reader answered is too long")
            left = deadline - time.monotonic()
            if left <= 0 or not _is_readable(number, left):
                self.end()
                raise Ended(self._too_slow())
            piece = os.read(number, READ_BYTES)
            if not piece:
                raise self._gone()
            self._received += piece
        line = bytes(self._received[:end])
        del self._received[: end + 1]
        return line

    def _too_slow(self) -> str:
        return f"reading it took more than {self._limits.seconds:g} s"

    def _gone(self) -> Ended:
        """Why the process is gone, by how it ended."""
        try:
            code = self._process.wait(ENDING_SECONDS)
        except subprocess.TimeoutExpired:
            code = None
        self.end()
        match code:
            case _ if code == EXIT_RESTS:
                return Rested("the reader had gone to rest")
            case int() if -code in _OUT_OF_TIME:
                return Ended(self._too_slow())
            case int() if code < 0:
                return Ended(f"the reader crashed on it ({_signal_name(-code)})")
            case _:
                return Ended("the reader broke off")


class BrokenReply(Exception):
    """Something else than a reply to the request."""


class _Told(BaseModel):
    """What a process may reply. How many values that holds is counted before it is parsed."""

    model_config = ConfigDict(strict=True)

    id: int
    scans: NonNegativeInt | None = None
    error: str | None = None
    extracted: Extracted | None = None


def read_reply(line: bytes, number: int, limits: Limits) -> Reply:
    """The reply in a line, bounded and with its titles in one line.

    Raises:
        BrokenReply: it is none to this request, or of a wrong form.
    """
    try:
        told = None if at_once(excess(line)) else _Told.model_validate_json(line)
    except ValidationError:
        told = None
    if told is None or told.id != number:
        raise BrokenReply
    if told.scans is not None:
        return Scans(told.scans)
    if told.error is not None:
        return Refusal(unwrapped(cleaned(told.error))[:ERROR_CHARS_MAX])
    found = told.extracted
    if found is None or len(found.markdown) > limits.markdown_chars:
        raise BrokenReply
    if min((0, *found.page_starts)) < 0 or list(found.page_starts) != sorted(found.page_starts):
        raise BrokenReply
    return Extracted(
        found.markdown,
        found.title[:ERROR_CHARS_MAX],
        found.page_starts,
        tuple(each[:ERROR_CHARS_MAX] for each in found.notes[:NOTES_MAX]),
        0 if found.first_line == 0 else 1,
        as_title(found.author),
        as_title(found.date),
        tuple(each[:ADDRESS_CHARS_MAX] for each in found.pictures[:PICTURES_MAX]),
    )


def _is_readable(number: int, seconds: float) -> bool:
    watcher = select.poll()
    watcher.register(number, select.POLLIN)
    return bool(watcher.poll(seconds * 1000))


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


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

    def extract(self, path: Path, within_seconds: float | None = None) -> Extracted:
        """The text of a file; waits for a process that is free.

        Raises:
            TakesLong: it takes longer than `within_seconds`, where they are given.
            ExtractionError: it can't be read; the message is one line for the status.
        """
        return self.read(Request(path), within_seconds)

    def read(self, request: Request, within_seconds: float | None = None) -> Extracted:
        """The same of whatever is asked for."""
        slot = self._free.get()
        try:
            return self._read(slot, request, within_seconds)
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

    def _read(self, slot: _Slot, request: Request, within_seconds: float | None) -> Extracted:
        begun = time.monotonic()
        try:
            return self._attempt(slot, request, within_seconds)
        except Ended as ended:
            if within_seconds is not None and time.monotonic() - begun >= within_seconds:
                raise TakesLong(str(ended)) from None
            if request.path.suffix.lower() != READ_TWICE or self._is_closed:
                raise ExtractionError(str(ended)) from None
        try:
            return self._attempt(slot, replace(request, is_careful=True), within_seconds)
        except Ended as ended:
            if within_seconds is not None and time.monotonic() - begun >= within_seconds:
                raise TakesLong(str(ended)) from None
            raise ExtractionError(str(ended)) from None

    def _attempt(self, slot: _Slot, request: Request, within_seconds: float | None) -> Extracted:
        """Read a file once.

        Raises:
            ExtractionError: it can't be read.
            Ended: its reading ended the process.
        """
        try:
            return self._ask(slot, request, within_seconds)
        except Rested:
            return self._ask(slot, request, within_seconds)

    def _ask(self, slot: _Slot, request: Request, within_seconds: float | None) -> Extracted:
        if self._is_closed:
            raise ExtractionError("the reading of files was stopped")
        if slot.process is None:
            slot.process = self._started()
        try:
            return slot.process.read(request, within_seconds)
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

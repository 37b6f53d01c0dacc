"""One process that reads files, as its parent sees it: started, asked, ended in any case."""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from servers.reading.limits import Limits, seconds_with_scans
from servers.reading.pictures.captioner_choice import variables_for
from servers.reading.process.messages import (
    BYTES_A_CHARACTER,
    EXIT_RESTS,
    BrokenReply,
    Refusal,
    Request,
    Scans,
    Settings,
    read_reply,
    request_line,
)
from servers.reading.source import Extracted, ExtractionError

MODULE = "servers.reader_program"
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

    def read(self, request: Request) -> Extracted:
        """What is asked for.

        Raises:
            ExtractionError: the process says that it can't be read.
            Ended: the process is gone: it crashed, took too long, or broke the rules.
        """
        self._requests += 1
        self._send(request_line(self._requests, request))
        begun = time.monotonic()
        seconds = self._limits.seconds
        while True:
            line = self._line(begun + seconds * self._limits.waiting)
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


_OUT_OF_TIME = frozenset({signal.SIGPROF, signal.SIGALRM})
"""By these the process ends itself; see `reader_program`."""


def _is_readable(number: int, seconds: float) -> bool:
    watcher = select.poll()
    watcher.register(number, select.POLLIN)
    return bool(watcher.poll(seconds * 1000))


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"

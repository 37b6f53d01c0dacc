"""The log of one server: what it writes to stderr, without secrets and bounded in size.

The server writes into a pipe, and a thread of ours writes on from there, line by line. So nothing
that it says stands on the disk in clear, and nothing that it says can fill the disk.
"""

import os
import select
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from core.base.clock import Clock
from core.base.files import make_private_folder, open_private

LOG_BYTES_MAX: Final = 1024 * 1024
"""A log over this size is cut."""

LOG_BYTES_KEPT: Final = 256 * 1024
"""How much of the end of a log survives a cut."""

LOG_BYTES_PER_SECOND: Final = 256 * 1024
"""So much of a flood is written; of the rest only the end is kept, and what was left out told."""

LINE_BYTES_MAX: Final = 64 * 1024
"""A longer line is written in parts."""

OVERLAP_BYTES: Final = 4 * 1024
"""So much of a line in parts, or of a flood, waits for what follows: a secret may go on there."""

KEY_BYTES_MAX: Final = 16 * 1024
"""A private key in PEM form is kept together as long as it is shorter."""

IDLE_SECONDS: Final = 0.5
"""A line without its end is written when nothing has followed for so long."""

LAST_WORDS_SECONDS: Final = 0.2
"""How long the end of a server's output is waited for when the server has ended."""

CHUNK_BYTES: Final = 64 * 1024

Redact = Callable[[str], str]


class ServerLog:
    """Writes what comes through a pipe to a file, until its writers have closed it."""

    def __init__(self, path: Path, redact: Redact, clock: Clock = time.monotonic) -> None:
        """Empty the file, made with its folder if need be, and begin.

        `stderr` is then the end of the pipe for the server; the caller closes it. `clock` gives
        seconds.

        Raises:
            OSError: the file can't be written, or there is no room for another pipe.
        """
        self.path = path
        self._redact = redact
        self._clock = clock
        make_private_folder(path.parent)
        self._file = open_private(path, os.O_WRONLY | os.O_TRUNC | os.O_APPEND)
        try:
            self._pipe, self.stderr = os.pipe()
        except OSError:
            os.close(self._file)
            raise
        self._thread = threading.Thread(target=self._run, name=f"log of {path.stem}", daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Wait until all is written that an ended server has said; bounded."""
        self._thread.join(LAST_WORDS_SECONDS)

    def _run(self) -> None:
        # A disk that is full costs the log, not the server: the pipe is emptied all the same.
        flow, pipe = _Flow(self._clock), select.poll()
        pipe.register(self._pipe, select.POLLIN)
        try:
            while True:
                if not pipe.poll(IDLE_SECONDS * 1000 if flow.is_waiting else None):
                    self._write(flow.rest())
                elif chunk := os.read(self._pipe, CHUNK_BYTES):
                    self._write(flow.take(chunk))
                else:
                    break
            self._write(flow.rest())
        finally:
            os.close(self._pipe)
            os.close(self._file)

    def _write(self, data: bytes) -> None:
        if not data:
            return
        text = self._redact(data.decode("utf-8", "surrogateescape"))
        with suppress(OSError):
            os.write(self._file, text.encode("utf-8", "surrogateescape"))
            if os.fstat(self._file).st_size > LOG_BYTES_MAX:
                trim_log(self.path)


class _Flow:
    """Cuts a stream where no secret is torn apart, and bounds it in time."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._pending = b""
        self._skipped = 0
        self._room = LOG_BYTES_PER_SECOND
        self._since = clock()

    @property
    def is_waiting(self) -> bool:
        """Whether something was taken and not given back yet."""
        return bool(self._pending or self._skipped)

    def take(self, chunk: bytes) -> bytes:
        """What can be written now."""
        now = self._clock()
        if now - self._since >= 1:
            self._room, self._since = LOG_BYTES_PER_SECOND, now
        data = self._pending + chunk
        if self._room <= 0:
            self._pending = data[-OVERLAP_BYTES:]
            self._skipped += len(data) - len(self._pending)
            return b""
        cut = _safe_end(data)
        self._pending = data[cut:]
        self._room -= cut
        return self._with_note(data[:cut])

    def rest(self) -> bytes:
        """All that waits."""
        data, self._pending = self._pending, b""
        return self._with_note(data)

    def _with_note(self, data: bytes) -> bytes:
        if not self._skipped or not data:
            return data
        note = f"\n[… {self._skipped:,} bytes left out]\n".encode()
        self._skipped = 0
        # The first line after the gap lacks its beginning, and may begin within a secret.
        return note + data.partition(b"\n")[2]


def _safe_end(data: bytes) -> int:
    """Where to cut: behind the last whole line, and not within a private key."""
    end = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
    if len(data) - end > LINE_BYTES_MAX:
        return len(data) - OVERLAP_BYTES
    key = data.rfind(b"-----BEGIN ", max(0, len(data) - KEY_BYTES_MAX), end)
    return end if key < 0 or b"-----END " in data[key:end] else key


def trim_log(path: Path) -> None:
    """Cut a log that has outgrown `LOG_BYTES_MAX` down to its end.

    Whoever appends to it writes on at the new end. A line written during the cut may be lost.
    """
    with suppress(OSError):
        if path.stat().st_size > LOG_BYTES_MAX:
            with path.open("r+b") as log:
                log.seek(-LOG_BYTES_KEPT, os.SEEK_END)
                end = log.read()
                log.seek(0)
                log.write(end[end.find(b"\n") + 1 :])
                log.truncate()

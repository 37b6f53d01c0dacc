"""What the command line tells: answers on stdout, and on stderr how far it is and what is wrong.

A terminal gets one line that is written over, a log a few lines; nothing that a document or a
file's name holds can move a terminal's cursor.
"""

import json
import shutil
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final, TextIO, assert_never

from core.base.clock import Clock
from core.base.text import one_line
from servers.rag.indexing.progress import (
    FileNoted,
    IndexEvent,
    IndexNoted,
    IndexProgress,
    SyncReport,
)

REDRAW_SECONDS: Final = 0.1
"""A line that is written over is not written more often."""

LOG_SECONDS: Final = 5.0
"""How often a log is told how far it is."""

WAIT_SHOWN_SECONDS: Final = 0.3
"""What takes less is no wait."""

WAIT_REDRAW_SECONDS: Final = 1.0
WAIT_LOG_SECONDS: Final = 10.0
"""How often a verbose log is told what is being waited for."""

BAR_CELLS: Final = 20
_CLEAR: Final = "\r\x1b[2K"


class Reporter:
    """Writes to the two streams; events may come from several threads."""

    def __init__(
        self,
        stdout: TextIO,
        stderr: TextIO,
        *,
        is_quiet: bool = False,
        is_verbose: bool = False,
        wait_shown_seconds: float = WAIT_SHOWN_SECONDS,
        clock: Clock = time.monotonic,
    ) -> None:
        """Write nothing yet."""
        self._stdout = stdout
        self._stderr = stderr
        self._is_quiet = is_quiet
        self._is_verbose = is_verbose
        self._wait_shown_seconds = wait_shown_seconds
        self._is_terminal = stderr.isatty()
        self._clock = clock
        self._lock = threading.Lock()
        self._drawn_at = -LOG_SECONDS if not self._is_terminal else -REDRAW_SECONDS
        self._has_bar = False

    def answer(self, text: str) -> None:
        """Text to stdout."""
        self._write(self._stdout, printable(text))

    def answer_json(self, document: object) -> None:
        """A value to stdout, as one line of JSON."""
        self._write(self._stdout, json.dumps(document, ensure_ascii=False))

    def say(self, text: str) -> None:
        """A line to stderr, unless nobody wants to hear."""
        if not self._is_quiet:
            self.complain(text)

    def complain(self, text: str) -> None:
        """A line to stderr in any case: why something can't be done."""
        self._write(self._stderr, f"[docs] {one_line(text)}")

    def hear(self, event: IndexEvent) -> None:
        """Tell an event of the indexer."""
        match event:
            case IndexProgress():
                self._show(event)
            case FileNoted(file, status, note):
                self.say(f"{file}: {status}: {note}" if note else f"{file}: {status}")
            case IndexNoted(note):
                self.say(note)
            case SyncReport():
                if told := report_text(event):
                    self.say(told)
            case _:
                assert_never(event)

    @contextmanager
    def waiting_for(self, what: str) -> Generator[None]:
        """Name what is done inside, with its time, if it takes long.

        A terminal is told from 0.3 s on, a verbose log every 10 s. A bar of progress tells more,
        and stays.
        """
        if self._is_quiet or not (self._is_terminal or self._is_verbose):
            yield
            return
        began, ended = self._clock(), threading.Event()

        def tell() -> None:
            pause = self._wait_shown_seconds if self._is_terminal else WAIT_LOG_SECONDS
            while not ended.wait(pause):
                self._tell_wait(what, self._clock() - began)
                pause = WAIT_REDRAW_SECONDS if self._is_terminal else WAIT_LOG_SECONDS

        telling = threading.Thread(target=tell, name="waiting", daemon=True)
        telling.start()
        try:
            yield
        finally:
            ended.set()
            telling.join()
            self.end()

    def end(self) -> None:
        """Leave the terminal's line empty."""
        with self._lock:
            self._clear()
            self._stderr.flush()

    def _write(self, stream: TextIO, line: str) -> None:
        """A line, in the place of what is written over."""
        with self._lock:
            self._clear()
            stream.write(f"{line}\n")
            stream.flush()

    def _show(self, progress: IndexProgress) -> None:
        with self._lock:
            now = self._clock()
            pause = REDRAW_SECONDS if self._is_terminal else LOG_SECONDS
            if self._is_quiet or now - self._drawn_at < pause:
                return
            if not self._is_terminal and _is_done(progress):
                return
            self._drawn_at = now
            if self._is_terminal:
                width = shutil.get_terminal_size().columns - 1
                self._stderr.write(f"{_CLEAR}{progress_line(progress)[:width]}")
                self._has_bar = True
            else:
                self._stderr.write(f"[docs] {progress_line(progress)}\n")
            self._stderr.flush()

    def _tell_wait(self, what: str, seconds: float) -> None:
        with self._lock:
            if not self._is_terminal:
                self._stderr.write(f"[docs] still waiting for {what}, {seconds:.0f} s so far\n")
            elif self._clock() - self._drawn_at >= WAIT_REDRAW_SECONDS:
                self._stderr.write(f"{_CLEAR}[docs] waiting for {what} · {seconds:.1f} s")
                self._has_bar = True
            self._stderr.flush()

    def _clear(self) -> None:
        if self._has_bar:
            self._stderr.write(_CLEAR)
            self._has_bar = False


def progress_line(progress: IndexProgress) -> str:
    """How far it is, as a bar and in numbers."""
    done = progress.files_done + progress.chunks_done
    total = progress.files_total + progress.chunks_total
    filled = BAR_CELLS * done // total if total else 0
    bar = "█" * filled + "░" * (BAR_CELLS - filled)
    counts = (
        f"{progress.files_done}/{progress.files_total} files, "
        f"{progress.chunks_done}/{progress.chunks_total} passages"
    )
    return f"{bar} {counts} {one_line(progress.file)}".rstrip()


def _is_done(progress: IndexProgress) -> bool:
    files_left = progress.files_total - progress.files_done
    return files_left + progress.chunks_total - progress.chunks_done <= 0


def report_text(report: SyncReport) -> str:
    """What a run came to; empty where nothing had changed."""
    counted = [
        f"{count} {what}"
        for what, count in (
            ("added", report.added),
            ("changed", report.changed),
            ("renamed", report.renamed),
            ("removed", report.removed),
            ("not readable", report.failed),
            ("still changing", report.unsettled),
        )
        if count
    ]
    cut_short = [] if report.complete else ["the rest is left for the next run"]
    return ", ".join([*counted, *cut_short])


def printable(text: str) -> str:
    """Text whose lines stay lines, without anything that a terminal would obey."""
    return "".join(char if char.isprintable() or char in "\n\t" else " " for char in text)

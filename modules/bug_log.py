"""Where tracebacks of our own bugs go: the log file; the user is told in one line."""

import logging
import os
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from core.base.private_files import make_private_folder, open_private
from core.process.server_log import trim_log
from modules.terminal.printing import one_line

MAX_MESSAGE_CHARACTERS = 200
"""How much of an exception's own text the line quotes."""

MAX_TRACEBACK_CHARACTERS = 64_000
"""How much of a traceback is kept: its end, which names the fault."""


def log_bug(error: Exception, log_file: Path | None, redact: Callable[[str], str]) -> str:
    """Append the traceback to the log; gives the line that tells of the bug.

    `redact` takes secrets out of both. Where there is no log, or it can't be written, the
    traceback follows the line.
    """
    told = f"a bug in Cortex-R: {_named(error)}"
    return _logged(told, "".join(traceback.format_exception(error)), log_file, redact)


class LogHandler(logging.Handler):
    """Keeps warnings and errors of any logger in the log, and tells each in one line.

    Without it Python writes them to stderr as they are, with traceback and secrets.
    """

    def __init__(
        self,
        log_file: Callable[[], Path | None],
        redact: Callable[[str], str],
        tell: Callable[[str], None],
    ) -> None:
        """`tell` gets the lines; `log_file` is asked for at each."""
        super().__init__(logging.WARNING)
        self._log_file = log_file
        self._redact = redact
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        """Deal with one record."""
        told = f"[log] {one_line(record.getMessage(), MAX_MESSAGE_CHARACTERS)}"
        error = record.exc_info[1] if record.exc_info else None
        if error is None:
            self._tell(self._redact(told))
            return
        told = f"{told}: {_named(error)}"
        self._tell(_logged(told, f"{self.format(record)}\n", self._log_file(), self._redact))


def _named(error: BaseException) -> str:
    return f"{type(error).__name__}: {one_line(str(error), MAX_MESSAGE_CHARACTERS)}"


def _logged(told: str, lines: str, log_file: Path | None, redact: Callable[[str], str]) -> str:
    """Append `lines` to the log; gives `told` with where that is."""
    text = redact(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC\n{lines[-MAX_TRACEBACK_CHARACTERS:]}")
    told = redact(f"{told}; details: ")
    if log_file is None:
        return f"{told}\n{text}"
    try:
        make_private_folder(log_file.parent)
        with os.fdopen(open_private(log_file, os.O_WRONLY | os.O_APPEND), "ab") as log:
            log.write(text.encode("utf-8", "backslashreplace"))
    except OSError:
        return f"{told}\n{text}"
    trim_log(log_file)
    return f"{told}{log_file}"

"""The process's own streams: answers that arrive or are missed, messages that may not arrive.

Tracebacks of our own bugs go to the log; the user is told in one line.
"""

import contextlib
import logging
import os
import shutil
import sys
import textwrap
import traceback
from collections.abc import Callable, Generator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from core.base.files import make_private_folder, open_private
from core.base.redaction import Redactor
from core.base.text import one_line
from core.errors import ExitCode
from core.process.server_log import trim_log
from modules.terminal.printing import printable

COLUMNS_MIN = 20
"""In a narrower terminal the terminal breaks lines itself."""


class TextSink(Protocol):
    """As much of a text stream as lines need."""

    def write(self, text: str, /) -> int:
        """Write text."""
        ...

    def flush(self) -> None:
        """Let it arrive."""
        ...

    def isatty(self) -> bool:
        """Whether a person reads it."""
        ...


class StdoutLost(Exception):
    """stdout is closed or full: no answer can be given any more, so even the prompt ends."""


class StdoutClosed(StdoutLost):
    """The reader of stdout has gone."""


@contextlib.contextmanager
def writing_stdout() -> Generator[None]:
    """While inside, what is written to stdout arrives.

    Raises:
        StdoutLost: it did not; the message says why.
    """
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except OSError as error:
        # Python flushes stdout once more at exit; what is left in it has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            raise StdoutClosed("stdout was closed before the answer was written") from error
        raise StdoutLost(
            f"the answer can't be written to stdout: {error.strerror or error}"
        ) from error


class Complaints:
    """Tells on stderr, without secrets, why there is no answer and what is worth knowing.

    `redactor` knows the secrets of the environment; whoever hears of more, such as those in
    the servers' configuration, lets it learn them.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.redactor = Redactor(environ)

    def fail(self, message: str, code: ExitCode) -> ExitCode:
        """Tell why there is no answer; gives `code` back."""
        self.tell(message)
        return code

    def say(self, stage: str, text: str) -> None:
        """Tell something in the form of the progress lines, for what needs no events."""
        self.tell(f"[{stage}] {text}")

    def tell(self, text: str) -> None:
        """Write text and a line end, on a terminal broken at words; a closed stderr is no bug."""
        with contextlib.suppress(OSError, ValueError):
            told = printable(self.redactor.text(text))
            if sys.stderr.isatty():
                told = "\n".join(map(_broken_at_words, told.split("\n")))
            sys.stderr.write(f"{told}\n")
            sys.stderr.flush()


def _broken_at_words(line: str) -> str:
    columns = max(shutil.get_terminal_size().columns - 1, COLUMNS_MIN)
    if len(line) <= columns:
        return line
    return textwrap.fill(
        line,
        columns,
        expand_tabs=False,
        replace_whitespace=False,
        break_long_words=False,  # paths and addresses stay whole
        break_on_hyphens=False,
    )


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

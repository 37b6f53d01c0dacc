"""What goes to a terminal, pipe or file: harmless text, strict JSON, and what is told of faults.

Answers go to stdout, and arrive or are missed; messages go to stderr, and may not arrive.
Tracebacks of our own bugs go to the log; the user is told in one line.
"""

import contextlib
import json
import logging
import math
import os
import re
import shutil
import sys
import textwrap
import traceback
import unicodedata
from collections.abc import Callable, Generator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol, TextIO

from core.base.files import make_private_folder, open_private
from core.base.redaction import Redactor
from core.base.text import one_line
from core.errors import ExitCode
from core.process.server_log import trim_log
from core.run.execution import current_ids
from core.values import Json

_DRIVES_A_TERMINAL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""C0 and C1 but for tab and line end, line separators, bidirectional overrides, lone surrogates."""


def printable(text: str) -> str:
    """`text` without characters that could drive a terminal or reorder its line.

    They show as escapes. Newlines and tabs stay, and so do joiners and spaces of all kinds,
    which emoji and many scripts need.
    """
    return _DRIVES_A_TERMINAL.sub(lambda found: _escaped(found.group()), text)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


_SCRIPTS_ALIKE = frozenset(
    {"CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU", "FULLWIDTH", "MATHEMATICAL"}
)
"""Scripts, and forms of letters, of which many look like plain Latin ones (UTS #39)."""

_ALIKE = frozenset(
    "\u0430\u0441\u0435\u043e\u0440\u0445\u0443\u0456\u0458\u0455\u04bb\u0501\u051b\u051d\u04cf"
    "\u03bf\u03bd\u03c1\u03b1\u03b9\u03c5\u03f2\u03f3"
)
"""Cyrillic and Greek small letters that look like Latin ones: names may consist of them alone."""


def shown_name(name: str) -> str:
    """The name of a tool or server; letters that pass for Latin ones show as escapes.

    So that no `add` with a Cyrillic letter poses as another. Names that are plainly of another
    script stay as they are.
    """
    return ".".join(map(_shown_part, name.split(".")))


def _shown_part(name: str) -> str:
    if name.isascii():
        return printable(name)
    alike = {c for c in name if not c.isascii() and _script(c) in _SCRIPTS_ALIKE}
    is_mixed = any(c.isascii() and c.isalpha() for c in name)
    if not alike or not (is_mixed or alike <= _ALIKE):
        return printable(name)
    return printable("".join(_escaped(c) if c in alike else c for c in name))


def _script(character: str) -> str:
    """The first word of its name in Unicode, which for letters is their script or form."""
    return unicodedata.name(character, "").partition(" ")[0]


MAX_INTEGER_BITS = 14_284
"""4,300 decimal digits, the default of `sys.set_int_max_str_digits`."""


def print_text(text: str, stream: TextIO) -> None:
    """Write text and a line end: made harmless for a terminal, bare for a pipe or file.

    Raises:
        BrokenPipeError: the reader has gone.
    """
    write(f"{printable(text) if stream.isatty() else text}\n", stream)


def print_document(document: Json, stream: TextIO) -> None:
    """Write a value as one line of JSON; `json_safe` is the caller's business.

    Raises:
        BrokenPipeError: the reader has gone.
    """
    text = json.dumps(document, ensure_ascii=not _is_unicode(stream), allow_nan=False)
    write(f"{text}\n", stream)


def json_safe(value: Json) -> Json:
    """The value with what strict JSON readers refuse as text: NaN, infinities, huge integers.

    Integers of more digits than Python reads back (4,300) stand in hexadecimal.
    """
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, int):
        return value if value.bit_length() <= MAX_INTEGER_BITS else hex(value)
    if isinstance(value, list):
        return [json_safe(item) for item in value]
    if isinstance(value, dict):
        return {key: json_safe(item) for key, item in value.items()}
    return value


def shortened(text: str, characters: int) -> str:
    """The text on one line of at most so many characters, the middle left out if it is longer."""
    flat = " ".join(text.split())
    if len(flat) <= characters:
        return flat
    kept = characters - 1
    return f"{flat[: kept // 3]}…{flat[len(flat) - (kept - kept // 3) :]}"


def write(text: str, stream: TextIO) -> None:
    """Write and flush; what the stream's encoding lacks (emoji in Latin-1) becomes an escape.

    Raises:
        BrokenPipeError: the reader has gone.
    """
    try:
        stream.write(text)
    except UnicodeEncodeError as error:
        encoding = error.encoding
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
    stream.flush()


def typed_answer(question: str, stderr: TextIO) -> str:
    """What is typed at the terminal behind a question, outside of an event loop.

    Raises:
        EOFError: Ctrl-D, or the terminal is gone.
    """
    write(printable(question), stderr)
    if not (line := sys.stdin.readline()):
        raise EOFError
    return line.strip()


def _is_unicode(stream: TextIO) -> bool:
    """Whether the stream can write every character; a `StringIO` has no encoding and can."""
    return (stream.encoding or "utf-8").lower().replace("-", "").startswith("utf")


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
        self.reword: Callable[[str], str] = str
        """Goes over what is told, for a reader who types other commands."""

    def fail(self, message: str, code: ExitCode) -> ExitCode:
        """Tell why there is no answer; gives `code` back."""
        self.tell(message)
        return code

    def say(self, stage: str, text: str) -> None:
        """Tell something in the form of the progress lines, for what needs no events."""
        self.tell(f"[{stage}] {text}")

    def tell(self, text: str, *, is_command: bool = False) -> None:
        """Write text and a line end, on a terminal broken at words; a closed stderr is no bug.

        One that `is_command` is not broken, so that it can be copied.
        """
        with contextlib.suppress(OSError, ValueError):
            told = printable(self.redactor.text(self.reword(text)))
            if sys.stderr.isatty() and not is_command:
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
    """Append `lines` to the log, with the trace of the run under way; `told` with where that is."""
    trace_id, _ = current_ids()
    head = f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC{trace_id and f', trace {trace_id}'}"
    text = redact(f"{head}\n{lines[-MAX_TRACEBACK_CHARACTERS:]}")
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

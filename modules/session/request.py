"""A request as it comes in, and what stands on stdin beside it: untrusted, bounded and cleaned.

Beside a request a file, or a pipe that delivers, goes along as a named text. A stdin that someone
else reads is left to them. In `while read x; do agent.py "$x"; done < list` the first call would
swallow the list, so a file that was read in part is left, and what a shell above us has for its own
stdin, which the system tells on Linux.
"""

import os
import re
import select
import stat
import time
from pathlib import Path
from typing import BinaryIO, Final, Literal, TypeAlias

from core.base.clock import Clock
from core.base.frozen import frozen
from core.base.redaction import is_little_but_a_key
from core.base.text import lazy_pattern, with_line_feeds
from core.errors import UsageError
from core.turn import TextInput

StdinUse: TypeAlias = Literal["auto", "always", "never"]
"""Whether stdin goes with a request: as its kind has it, in any case, or not at all."""

MAX_REQUEST_CHARACTERS = 100_000
"""About 25,000 tokens; more belongs into a file that a tool reads."""

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
"""C0 but for tab and line end, DEL, and C1, whose U+009B drives a terminal like ESC [."""

_NOT_SMUGGLED_BYTES = lazy_pattern("[\ud800-\udc7f\udd00-\udfff]")
"""Surrogates that stand for no byte of argv."""


def clean_request(text: str) -> str:
    r"""The request without control characters, line ends as `\n`, outer white space dropped.

    Raises:
        UsageError: nothing is left, it is too long or no text, or little but a key, which no model
            may see.
    """
    if len(text) > MAX_REQUEST_CHARACTERS:
        raise UsageError(
            f"the request has more than {MAX_REQUEST_CHARACTERS:,} characters; "
            "shorten it, or put the text into a file and name the file"
        )
    if "\0" in text:
        raise UsageError(
            "the request holds a NUL, as binary data and UTF-16 do: it is no text. Name an image "
            "in the request, as @photo.png, or convert the text with: iconv -f UTF-16 -t UTF-8"
        )
    cleaned = clean_text(text)
    if not cleaned:
        raise UsageError("the request is empty; say what you want, such as: add 5 and 7")
    if is_little_but_a_key(cleaned):
        raise UsageError(
            "this looks like a key, and was neither sent nor kept; to keep one: agent.py auth set "
            "NAME, which asks for it unseen, or a variable such as GEMINI_API_KEY; if it is none, "
            "say in a sentence what to do with it"
        )
    return cleaned


def clean_text(text: str) -> str:
    """The same of a text of any length, which may be empty."""
    readable = with_line_feeds(_without_surrogates(text))
    return _CONTROL.sub(" ", readable).strip()


def _without_surrogates(text: str) -> str:
    """The text as UTF-8 has it.

    Python hands on bytes of argv that the locale can't read as U+DC80 to U+DCFF (PEP 383): under
    `LC_ALL=C` all of UTF-8, else what is not UTF-8, which becomes U+FFFD as it does from stdin.
    """
    if text.isascii():
        return text
    smuggled = _NOT_SMUGGLED_BYTES.sub("\ufffd", text)
    return smuggled.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def read_request(stream: BinaryIO) -> str:
    """A request from stdin, read only as far as a request may be long; a byte order mark goes.

    Raises:
        UsageError: stdin can't be read (its terminal is gone, say); else see `clean_request`.
    """
    try:
        data = stream.read(4 * MAX_REQUEST_CHARACTERS + 1)
    except OSError as error:
        raise UsageError(
            f"stdin can't be read: {error.strerror or error}; "
            "pipe the request into it, or give it as an argument"
        ) from error
    return clean_request(data.decode("utf-8-sig", "replace"))


STDIN_BYTES_MAX: Final = 1_000_000
"""A plan holds the text, and some lists made of it, in the memory that it is given."""

SILENT_SECONDS: Final = 3.0
"""A pipe that gives nothing for so long is left, with what it gave before taken."""

END_SECONDS: Final = 600.0
"""One that gives on and on is read for so long; so is one that was asked for and is silent."""

NAME: Final = "stdin"

_CHUNK_BYTES: Final = 65_536
_ANCESTORS_MAX: Final = 32
_SHELLS: Final = frozenset(
    ("sh", "ash", "bash", "dash", "fish", "ksh", "ksh93", "mksh", "rbash", "yash", "zsh")
)
_ASK: Final = "--stdin takes it with the request, --no-stdin leaves it without a word"
_WAIT: Final = "--stdin waits for its end"


@frozen
class Beside:
    """What stdin held; `note` tells the user what became of it, None where it held nothing."""

    text: TextInput | None = None
    note: str | None = None


@frozen
class StdinReader:
    """Reads a descriptor; `ready` waits up to so many seconds for something to read."""

    descriptor: int
    silent_seconds: float = SILENT_SECONDS
    end_seconds: float = END_SECONDS
    clock: Clock = time.monotonic
    processes: Path = Path("/proc")

    def read(self, wanted: StdinUse = "auto") -> Beside:
        """The text beside a request. Blocks, and for silent pipes at most `silent_seconds`.

        Raises:
            UsageError: it is too long, no text, or can't be read.
        """
        if wanted == "never":
            return Beside()
        try:
            return self._read(is_asked_for=wanted == "always")
        except OSError as error:
            why = error.strerror or str(error)
            raise UsageError(f"stdin can't be read: {why}; --no-stdin leaves it") from error

    def _read(self, *, is_asked_for: bool) -> Beside:
        status = os.fstat(self.descriptor)
        if stat.S_ISCHR(status.st_mode):  # a terminal, /dev/null
            return Beside()
        if not is_asked_for and (reader := self._other_reader(status)) is not None:
            left = self._has_more(status)
            return Beside(note=f"stdin is left alone: {reader}; {_ASK}" if left else None)
        return self._joined(self.end_seconds if is_asked_for else self.silent_seconds)

    def _other_reader(self, status: os.stat_result) -> str | None:
        """Who reads stdin too, for all that can be seen."""
        if stat.S_ISREG(status.st_mode) and os.lseek(self.descriptor, 0, os.SEEK_CUR) > 0:
            return "the file was read in part before, as by a loop of a shell"
        if self._is_shells_own(status):
            return "the shell that started this reads it too, as a loop does"
        return None

    def _is_shells_own(self, status: os.stat_result) -> bool:
        """Whether a shell above us has the same stdin, and not only a program that wraps us."""
        process = os.getppid()
        for _ in range(_ANCESTORS_MAX):
            folder = self.processes / str(process)
            try:
                theirs = (folder / "fd" / "0").stat()
                if (theirs.st_dev, theirs.st_ino) != (status.st_dev, status.st_ino):
                    return False
                name, _, behind = (folder / "stat").read_text().rpartition(")")
                if name.partition("(")[2] in _SHELLS:
                    return True
                process = int(behind.split()[1])
            except (OSError, ValueError, IndexError):  # another user's, gone, or no Linux
                return False
        return False

    def _has_more(self, status: os.stat_result) -> bool:
        """Whether anything is there to be read at this moment."""
        if stat.S_ISREG(status.st_mode):
            return os.lseek(self.descriptor, 0, os.SEEK_CUR) < status.st_size
        poll = select.poll()
        poll.register(self.descriptor, select.POLLIN)
        return any(event & select.POLLIN for _, event in poll.poll(0))

    def _joined(self, silent_seconds: float) -> Beside:
        """All that it gives until it ends, or is silent for so long."""
        data, deadline = bytearray(), self.clock() + self.end_seconds
        while self._is_ready(min(silent_seconds, max(0.0, deadline - self.clock()))):
            piece = os.read(self.descriptor, _CHUNK_BYTES)
            data += piece
            if len(data) > STDIN_BYTES_MAX:
                raise UsageError(
                    f"stdin holds more than {STDIN_BYTES_MAX:,} bytes; pipe less of it, by tail or "
                    "grep, say, add it to your documents, or leave it out with --no-stdin"
                )
            if not piece:
                return _told(bytes(data))
        if not data:
            return Beside(note=f"stdin gave nothing for {silent_seconds:g} s and is left; {_ASK}")
        return _told(bytes(data), f"; it has not ended, and what comes later is left; {_WAIT}")

    def _is_ready(self, seconds: float) -> bool:
        return bool(select.select([self.descriptor], [], [], seconds)[0])


def _told(data: bytes, more: str = "") -> Beside:
    """The text that came, described; nothing where there is no word in it.

    Raises:
        UsageError: it is no text.
    """
    if b"\0" in data:
        raise UsageError(
            "stdin holds no text; name an image in the request, as @photo.png, add a document "
            "with: agent.py docs add, or leave it out with --no-stdin"
        )
    text = data.decode("utf-8-sig", "replace").replace("\r\n", "\n")
    if not text.strip():
        return Beside()
    joined = TextInput(NAME, text)
    return Beside(joined, f"{joined.described} go with the request{more}")

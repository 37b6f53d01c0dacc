"""The file of one session: a JSON array that survives kills, other writers and damage.

An item is appended: it is written over the end of the array, which comes behind it again, and
synced, so that the ten-thousandth item costs what the first did. A kill in the midst of that loses
at most this item: what stands there then is cut off when the file is next read. A new file, and one
that is not laid out as ours, is written whole: temporary file in the same folder, fsync, rename,
fsync of the folder. Several processes may write one session: the folder is locked (`flock`) for
the moment of a write, and what others wrote meanwhile is read first and kept. POSIX only.
"""

import errno
import json
import math
import os
import re
import stat
import time
from collections.abc import Generator, Iterable
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple, cast

from pydantic import TypeAdapter

from core.base.clock import Clock
from core.base.files import DRAFT_SUFFIX, folder_locked, reserve_damaged_name, write_atomically
from core.errors import StorageError
from core.turn import MemoryItem
from core.values import Json, JsonObject

MAX_FILE_BYTES = 64 * 1024 * 1024
"""Largest session file that is read or written."""

LOCK_TIMEOUT_SECONDS = 10.0
"""How long a write waits for another process that holds the folder."""

_END = b"\n]\n"
"""How the array ends, behind its last item."""

_MAX_NESTING = 64
_MAX_INTEGER_BITS = 10_000  # json refuses decimal numbers of over 4,300 digits
_NON_FINITE = {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}
_MAX_INTEGER_DIGITS = 4_300  # beyond these, Python refuses to read an integer
_MAX_GAPS = 100
_SURROGATES = re.compile("[\ud800-\udfff]")


class MemoryRecord(NamedTuple):
    """An item, and the JSON value that stands for it in the file.

    The value keeps what a file held, also keys that a later version added.
    """

    item: MemoryItem
    stored: Json

    @property
    def text(self) -> str:
        """The JSON text in the file; made when it is asked for, as opening needs none."""
        return _encode(storable(self.stored))

    @classmethod
    def of(cls, item: MemoryItem) -> "MemoryRecord":
        """The record of a new item; fields that hold nothing are left out of the text."""
        fields = cast("JsonObject", item.model_dump())
        return cls(item, {k: v for k, v in fields.items() if v is not None})


class MemoryFile:
    """The records of one session and the file that holds them; not thread-safe.

    Attributes:
        path: where the file is, or will be.
        records: all records that are known, oldest first; replaced or appended to, never cut.
        warnings: what the user should know about the file, such as that it was damaged.
    """

    def __init__(
        self,
        path: Path,
        max_bytes: int = MAX_FILE_BYTES,
        clock: Clock = time.time,
        lock_timeout_seconds: float = LOCK_TIMEOUT_SECONDS,
    ) -> None:
        """Only remember the path; `clock` dates the names of damaged files."""
        self.path = path
        self.records: list[MemoryRecord] = []
        self.warnings: list[str] = []
        self._max_bytes = max_bytes
        self._clock = clock
        self._lock_timeout_seconds = lock_timeout_seconds
        self._saved = 0  # how many of the records, from the front, the file holds
        self._seen: tuple[int, int, int] | None = None  # the file as last read or written

    def load(self) -> None:
        """Take in what the file holds, again if need be.

        A damaged file is set aside under another name, with a warning; items of it that can be
        read are kept. No file means no items.

        Raises:
            StorageError: the file can't be read, or is damaged and can't be set aside.
        """
        with self._as_storage_error("read"):
            if not self.path.parent.is_dir():
                return
            with self._locked():
                self._remove_leftovers()
                self._read_news()

    def save(self) -> None:
        """Write the records that the file lacks, after taking in what other processes wrote.

        Raises:
            StorageError: the folder is read-only or full, or the session too large; the
                records stay as they are, for another try.
        """
        with self._as_storage_error("written"), self._locked():
            self._read_news()
            if not self._append(self.records[self._saved :]):
                self._write(self.records)

    def _append(self, records: list[MemoryRecord]) -> bool:
        """Write records behind those of the file; whether it was laid out so that this could be.

        What could not be written whole is taken back.
        """
        if self._seen is None or not self._saved or not records:
            return self._seen is not None and self._saved > 0
        behind = ",\n".join(["", *(record.text for record in records)]).encode() + _END
        descriptor = os.open(self.path, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            place = self._seen[2] - len(_END)
            if os.pread(descriptor, len(_END) + 1, place) != _END:
                return False
            self._check_room(place + len(behind))
            try:
                _write_at(descriptor, behind, place)
                os.fsync(descriptor)
            except OSError:
                os.ftruncate(descriptor, place)
                _write_at(descriptor, _END, place)
                raise
            self._saved, self._seen = len(self.records), _identity(os.fstat(descriptor))
        finally:
            os.close(descriptor)
        return True

    def _read_news(self) -> None:
        """Take in the file if another process, or the user, has changed it."""
        try:
            status = self.path.stat()
        except FileNotFoundError:
            self._seen, self._saved = None, 0
            return
        if _identity(status) == self._seen:
            return
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        if status.st_size > self._max_bytes:
            self._set_aside(None, [], f"it has over {self._max_bytes:,} bytes")
            return
        data = self.path.read_bytes()
        records, problem = _parse(data)
        if problem is not None and (whole := _whole_bytes(data, records)):
            status = self._cut_off(data, whole, len(records))
        elif problem is not None:
            self._set_aside(data, records, problem)
            return
        self.records = records + self.records[self._saved :]
        self._saved = len(records)
        self._seen = _identity(status)

    def _cut_off(self, data: bytes, whole: int, count: int) -> os.stat_result:
        """End the array behind its last whole item, where a write was interrupted."""
        descriptor = os.open(self.path, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            os.ftruncate(descriptor, whole)
            _write_at(descriptor, _END, whole)
            os.fsync(descriptor)
            written = os.fstat(descriptor)
        finally:
            os.close(descriptor)
        left = "1 item is there" if count == 1 else f"{count} items are there"
        self.warnings.append(
            f"session memory {self.path} ended in the middle of an item, as after a crash: its "
            f"last {len(data) - whole:,} bytes were cut off, {left}"
        )
        return written

    def _set_aside(self, data: bytes | None, readable: list[MemoryRecord], problem: str) -> None:
        """Move a damaged file away; go on with what is readable and what we know ourselves."""
        known = {record.text for record in self.records}
        kept = [*(r for r in readable if r.text not in known), *self.records]
        aside = reserve_damaged_name(self.path, self._clock())
        if kept and data is not None:
            # A copy, so that there is no moment without a file that holds the good items.
            write_atomically(aside, data)
            self._write(kept)
        else:
            self.path.replace(aside)  # only our own empty file is overwritten
            self._seen, self._saved = None, 0
        items = "1 item goes on" if len(kept) == 1 else f"{len(kept)} items go on"
        left = f"{items} in its place" if kept else "a new one begins"
        self.warnings.append(
            f"session memory {self.path} was damaged ({problem}); "
            f"it is set aside as {aside.name}, and {left}"
        )

    def _write(self, records: list[MemoryRecord]) -> None:
        data = _array(records)
        self._check_room(len(data))
        written = write_atomically(self.path, data)
        self.records, self._saved, self._seen = records, len(records), _identity(written)

    def _check_room(self, size: int) -> None:
        if size > self._max_bytes:
            raise StorageError(
                f"session memory {self.path} is full ({self._max_bytes:,} bytes): "
                "start another session ('new', or run without --session)"
            )

    def _remove_leftovers(self) -> None:
        """Remove what a killed writer left; nobody else writes while the folder is locked."""
        for left in self.path.parent.glob(f".{self.path.name}.*{DRAFT_SUFFIX}"):
            with suppress(OSError):
                left.unlink()

    def _locked(self) -> AbstractContextManager[None]:
        return folder_locked(self.path, self._lock_timeout_seconds)

    @contextmanager
    def _as_storage_error(self, done: str) -> Generator[None]:
        try:
            yield
        except TimeoutError as error:
            raise StorageError(
                f"session memory {self.path} can't be {done}: another process has held its "
                f"folder for {self._lock_timeout_seconds:g} s; end that process, then try again"
            ) from error
        except OSError as error:
            raise StorageError(
                f"session memory {self.path} can't be {done}: {error.strerror or error}; "
                "set CORTEX_HOME to a folder that you can write to and that has room"
            ) from error


def shorten(text: str, limit_chars: int) -> str:
    """The text, or its first `limit_chars` characters and a note of its full length."""
    if len(text) <= limit_chars:
        return text
    return f"{text[:limit_chars]}… [shortened; {len(text):,} characters in all]"


def storable(value: Json, _level: int = 0) -> Json:
    """The value such that any JSON tool can read it (RFC 8259, section 6 and 8.2).

    Infinities and NaN become the strings "Infinity", "-Infinity", "NaN"; integers of over 3,000
    digits their hexadecimal text; lone surrogates U+FFFD; what is nested deeper than 64 levels
    a note.
    """
    if isinstance(value, str):
        return _storable_text(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else _NON_FINITE[str(value)]
    if isinstance(value, int) and value.bit_length() > _MAX_INTEGER_BITS:
        return hex(value)
    if isinstance(value, list | dict) and _level >= _MAX_NESTING:
        return "[nested too deeply to keep]"
    if isinstance(value, list):
        return [storable(element, _level + 1) for element in value]
    if isinstance(value, dict):
        return {_storable_text(k): storable(v, _level + 1) for k, v in value.items()}
    return value


def _storable_text(text: str) -> str:
    return text if text.isascii() else _SURROGATES.sub("\ufffd", text)


def _encode(value: Json) -> str:
    """JSON text of one storable element of the array, indented by its level."""
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    return "  " + text.replace("\n", "\n  ")


def _array(records: Iterable[MemoryRecord]) -> bytes:
    body = ",\n".join(record.text for record in records)
    return (f"[\n{body}\n]\n" if body else "[]\n").encode()


def _write_at(descriptor: int, data: bytes, place: int) -> None:
    """Write all of it; raises OSError where there is no room for the rest."""
    done = 0
    while done < len(data):
        done += os.pwrite(descriptor, data[done:], place + done)


def _whole_bytes(data: bytes, records: list[MemoryRecord]) -> int:
    """How far a file of ours reaches with whole items that was cut off; 0 if it is none.

    Behind the items that can be read then stands the beginning of one more or of the end, or what
    a file system leaves where it had no time to write. An item that somebody spoilt stands before
    an end, and is no such case.
    """
    whole = _array(records)[: -len(_END)]
    if not records or not data.startswith(whole):
        return 0
    rest = data[len(whole) :].rstrip(b"\0")
    is_begun = rest.startswith(b",") and not rest.rstrip().endswith(b"]")
    return len(whole) if is_begun or (_END.startswith(rest) and rest != _END) else 0


def _parse(data: bytes) -> tuple[list[MemoryRecord], str | None]:
    """The items that can be read, and what is wrong with the file (None: nothing)."""
    problem: str | None = None
    try:
        elements: Json = _DECODER.decode(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        elements = _readable_elements(data.decode("utf-8-sig", "replace"))
        problem = "it is not JSON"
    if not isinstance(elements, list):
        return [], "it is not a JSON array"
    records = [] if any(sign in data for sign in _ODD) else _sound_records(elements)
    records = records or [found for each in elements if (found := _record(each)) is not None]
    if problem is None and (bad := len(elements) - len(records)):
        problem = f"{bad} of its items can't be read"
    return records, problem


def _sound_records(elements: list[Json]) -> list[MemoryRecord]:
    """The records of elements that are items as they stand, at once; none if one of them isn't."""
    try:
        items = _reader().validate_python(elements)
    except (ValueError, ArithmeticError, RecursionError):
        return []
    return list(map(MemoryRecord, items, elements))


@cache
def _reader() -> TypeAdapter[list[MemoryItem]]:
    return TypeAdapter(list[MemoryItem])


def _record(element: Json) -> MemoryRecord | None:
    """The record of an element of the array; None if it is no item.

    It is made storable first: a lone surrogate, say, would fail wherever it is written.
    """
    try:
        clean = storable(element)
        return MemoryRecord(MemoryItem.model_validate(clean), clean)
    except (ValueError, ArithmeticError, RecursionError):
        return None


def _readable_elements(text: str) -> list[Json]:
    """Elements of an array that is cut off or damaged in places.

    After damage, reading goes on at the next line that begins as `_encode` begins an item.
    """
    elements: list[Json] = []
    position, gaps = 0, 0
    while gaps <= _MAX_GAPS:
        start = _NEXT_ITEM.match(text, position) or _FIRST_ITEM.search(text, position)
        if start is None:
            break
        position = start.end()
        try:
            element, position = _DECODER.raw_decode(text, position)
            elements.append(element)
        except (ValueError, RecursionError):
            gaps += 1
    return elements


def _integer(digits: str) -> Json:
    """An integer; one of more digits than Python reads stays text, so that the rest is read."""
    return int(digits) if len(digits) <= _MAX_INTEGER_DIGITS else digits


_DECODER = json.JSONDecoder(parse_int=_integer)
_ODD = (b"\\ud", b"\\uD", b"NaN", b"Infinity")
"""Signs of what `storable` changes; other files need not be walked value by value."""
_NEXT_ITEM = re.compile(r"\s*,\s*(?=\{)")
_FIRST_ITEM = re.compile(r"(?:\A\s*\[\s*|\n  )(?=\{)")


def _identity(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_ino, status.st_mtime_ns, status.st_size

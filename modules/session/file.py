"""The file of one session: a JSON array that survives kills, other writers and damage.

An item is appended: it is written over the end of the array, which comes behind it again, and
synced, so that the ten-thousandth item costs what the first did. A kill in the midst of that loses
at most this item: what stands there then is cut off when the file is next read. A new file, and one
that is not laid out as ours, is written whole: temporary file in the same folder, fsync, rename,
fsync of the folder. Several processes may write one session: the folder is locked (`flock`) for
the moment of a write, and what others wrote meanwhile is read first and kept. POSIX only.
"""

import os
import stat
import time
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Literal, TypeAlias

from core.base.clock import Clock
from core.base.files import drafts_of, folder_locked, reserve_damaged_name, write_atomically
from core.base.memory.session_json import MAX_FILE_BYTES
from core.errors import StorageError
from modules.session.records import (
    END,
    FORMAT,
    MemoryRecord,
    array_of,
    format_of,
    parse_array,
    whole_bytes,
)

LOCK_TIMEOUT_SECONDS = 10.0
"""How long a write waits for another process that holds the folder."""

Sync: TypeAlias = Literal["item", "run", "never"]
"""When what was written is waited for until it is on the disk: with each item, at the end of a
run, or never, which costs the newest items if the machine (not the program) crashes."""


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
        sync: Sync = "item",
    ) -> None:
        """Only remember the path; `clock` dates the names of damaged files."""
        self._sync: Sync = sync
        self._is_synced = True
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
        read are kept, also where there is no room to repair it. No file means no items.

        Raises:
            StorageError: the file can't be read, or nothing in it can and it can't be set aside.
        """
        with self._as_storage_error("read"):
            if not self.path.parent.is_dir():
                self._forget_file()
                return
            with self._locked():
                self._remove_leftovers()
                self._read_news(may_fail_to_repair=not self.records)

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

    def flush(self) -> None:
        """Wait until all that was written is on the disk, unless it is never to be waited for.

        Raises:
            StorageError: the disk fails.
        """
        if self._is_synced or self._sync == "never":
            return
        with self._as_storage_error("written"):
            descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        self._is_synced = True

    def _append(self, records: list[MemoryRecord]) -> bool:
        """Write records behind those of the file; whether it was laid out so that this could be.

        What could not be written whole is taken back.
        """
        if self._seen is None or not self._saved or not records:
            return self._seen is not None and self._saved > 0
        behind = ",\n".join(["", *(record.text for record in records)]).encode() + END
        descriptor = os.open(self.path, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            place = self._seen[2] - len(END)
            if os.pread(descriptor, len(END) + 1, place) != END:
                return False
            self._check_room(place + len(behind))
            try:
                _write_at(descriptor, behind, place)
                self._is_synced = self._sync == "item"
                if self._is_synced:
                    os.fsync(descriptor)
            except OSError:
                os.ftruncate(descriptor, place)
                _write_at(descriptor, END, place)
                raise
            self._saved, self._seen = len(self.records), _identity(os.fstat(descriptor))
        finally:
            os.close(descriptor)
        return True

    def _read_news(self, *, may_fail_to_repair: bool = False) -> None:
        """Take in the file if another process, or the user, has changed it."""
        try:
            status = self.path.stat()
        except FileNotFoundError:
            self._forget_file()
            return
        if _identity(status) == self._seen:
            return
        if not stat.S_ISREG(status.st_mode):
            raise StorageError(
                f"session memory {self.path} is not a regular file: move it away, or begin another "
                "session"
            )
        if status.st_size > self._max_bytes:
            self._set_aside(None, [], f"it has over {self._max_bytes:,} bytes")
            return
        if self._read_appended(status):
            return
        data = self.path.read_bytes()
        if (made := format_of(data)) > FORMAT:
            raise StorageError(
                f"session memory {self.path} was written by a later version (format {made}); "
                "update this program, or begin another session"
            )
        records, problem = parse_array(data)
        if problem is None:
            self._tell_if_changed(records)
            self._take(records, _identity(status))
            return
        try:
            self._repair(data, records, problem)
        except OSError as error:
            if not (may_fail_to_repair and records):
                raise
            self._take(records, None)
            self.warnings.append(
                f"session memory {self.path} is damaged ({problem}) and can't be repaired: "
                f"{error.strerror or error}; {_are_there(len(records))}"
            )

    def _take(self, records: list[MemoryRecord], seen: tuple[int, int, int] | None) -> None:
        self.records = records + self.records[self._saved :]
        self._saved, self._seen = len(records), seen

    def _forget_file(self) -> None:
        """The file is not there, or no more: the next write makes it anew, with all records."""
        if self._saved:
            self.warnings.append(
                f"session memory {self.path} was deleted by another program; this session goes on "
                "and writes it again ('new' begins another)"
            )
        self._seen, self._saved = None, 0

    def _tell_if_changed(self, records: list[MemoryRecord]) -> None:
        """Say so where the file no longer holds what we wrote into it."""
        known = self.records[: self._saved]
        if [each.text for each in known] != [each.text for each in records[: len(known)]]:
            self.warnings.append(
                f"session memory {self.path} was changed by another program; this session goes on "
                f"with what it holds now: {_are_there(len(records))}"
            )

    def _repair(self, data: bytes, records: list[MemoryRecord], problem: str) -> None:
        """Leave a file that is whole; what is known of the session stays in it."""
        whole = whole_bytes(data, records)
        if not whole:
            self._set_aside(data, records, problem)
            return
        status = self._cut_off(data, whole, len(records))
        self._saved = min(self._saved, len(records))  # the others were cut off, and are known
        self._take(records, _identity(status))

    def _read_appended(self, status: os.stat_result) -> bool:
        """Take in what others have appended, if that is all that happened to the file."""
        if self._seen is None or not self._saved:
            return False
        inode, _, size = self._seen
        if status.st_ino != inode or status.st_size <= size:
            return False
        place = size - len(END)
        with self.path.open("rb") as file:
            file.seek(place)
            news = file.read(status.st_size - place)
        if not news.startswith(b",\n  {") or not news.endswith(END):
            return False
        records, problem = parse_array(b"[" + news[1:])
        if problem is not None:
            return False
        self.records[self._saved : self._saved] = records
        self._saved += len(records)
        self._seen = _identity(status)
        return True

    def _cut_off(self, data: bytes, whole: int, count: int) -> os.stat_result:
        """End the array behind its last whole item, where a write was interrupted."""
        descriptor = os.open(self.path, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            os.ftruncate(descriptor, whole)
            _write_at(descriptor, END, whole)
            os.fsync(descriptor)
            written = os.fstat(descriptor)
        finally:
            os.close(descriptor)
        self.warnings.append(
            f"session memory {self.path} ended in the middle of an item, as after a crash: its "
            f"last {len(data) - whole:,} bytes were cut off, {_are_there(count)}"
        )
        return written

    def _set_aside(self, data: bytes | None, readable: list[MemoryRecord], problem: str) -> None:
        """Move a damaged file away; go on with what is readable and what we know ourselves."""
        known = {record.text for record in self.records}
        kept = [*(r for r in readable if r.text not in known), *self.records]
        aside = reserve_damaged_name(self.path, self._clock())
        try:
            if kept and data is not None:
                # A copy, so that there is no moment without a file that holds the good items.
                write_atomically(aside, data)
                self._write(kept)
            else:
                self.path.replace(aside)  # only our own empty file is overwritten
                self._seen, self._saved = None, 0
        except (OSError, StorageError):
            with suppress(OSError):
                if data is None or self.path.read_bytes() == data:
                    aside.unlink()  # what was damaged is where it was
            raise
        items = "1 item goes on" if len(kept) == 1 else f"{len(kept)} items go on"
        left = f"{items} in its place" if kept else "a new one begins"
        self.warnings.append(
            f"session memory {self.path} was damaged ({problem}); "
            f"it is set aside as {aside.name}, and {left}"
        )

    def _write(self, records: list[MemoryRecord]) -> None:
        first = records[0].stored if records else None
        if isinstance(first, dict) and "format" not in first:
            records[0] = MemoryRecord(records[0].item, {"format": FORMAT, **first})
        data = array_of(records)
        self._check_room(len(data))
        written = write_atomically(self.path, data, is_lasting=self._sync != "never")
        self.records, self._saved, self._seen = records, len(records), _identity(written)

    def _check_room(self, size: int) -> None:
        if size > self._max_bytes:
            raise StorageError(
                f"session memory {self.path} is full ({self._max_bytes:,} bytes): "
                "start another session ('new', or run without --session)"
            )

    def _remove_leftovers(self) -> None:
        """Remove what a killed writer left; nobody else writes while the folder is locked."""
        for left in drafts_of(self.path):
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


def _are_there(count: int) -> str:
    return "1 item is there" if count == 1 else f"{count:,} items are there"


def _write_at(descriptor: int, data: bytes, place: int) -> None:
    """Write all of it; raises OSError where there is no room for the rest."""
    done = 0
    while done < len(data):
        done += os.pwrite(descriptor, data[done:], place + done)


def _identity(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_ino, status.st_mtime_ns, status.st_size

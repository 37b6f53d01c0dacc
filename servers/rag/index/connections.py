"""Connections to the index file: one that writes, under a lock, and as many that read as need be.

The file is in WAL mode (sqlite.org/wal.html): reading goes on while something is written, and an
end at any moment leaves the state after the last whole transaction.
"""

import os
import sqlite3
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from core.base.files import make_private_file
from servers.rag.errors import IndexUnusable

_PRIMARY_CODE = 0xFF
"""Extended result codes carry the plain one in their low byte (sqlite.org/rescode.html)."""

BUSY_TIMEOUT_SECONDS = 10.0
"""How long to wait for another process; only the lock's holder writes, so there is hardly one."""

SWITCH_PAUSE_SECONDS = 0.01

WRITER_CACHE_KIB, READER_CACHE_KIB = 32_000, 16_000
IDLE_READERS_MAX = 4
WAL_KEPT_BYTES = 64 * 1024 * 1024

_STATEMENTS_CACHED = 128


class IndexFull(IndexUnusable):
    """No space is left to write; what the index held before stands and can be searched."""


class IndexBusy(IndexUnusable):
    """Another process has been writing for longer than we wait."""


class IndexDamaged(IndexUnusable):
    """The file's content makes no sense; it is set aside and built anew when opened next."""


def connect(path: Path, pages_max: int | None = None) -> sqlite3.Connection:
    """A connection that can write.

    `pages_max` bounds the size of the file, in pages of 4 KiB.
    """
    connection = _opened(path)
    try:
        _write_ahead(connection)
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA secure_delete = OFF")
        connection.execute(f"PRAGMA journal_size_limit = {WAL_KEPT_BYTES}")
        connection.execute(f"PRAGMA cache_size = -{WRITER_CACHE_KIB}")
        if pages_max is not None:
            connection.execute(f"PRAGMA max_page_count = {pages_max}")
    except BaseException:
        connection.close()
        raise
    return connection


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Put the file into WAL mode.

    SQLite does not wait for others that switch a new file at the same moment: it is busy at once.
    """
    until = time.monotonic() + BUSY_TIMEOUT_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            busy = error.sqlite_errorcode & _PRIMARY_CODE == sqlite3.SQLITE_BUSY
            if not busy or time.monotonic() > until:
                raise
            time.sleep(SWITCH_PAUSE_SECONDS)
        else:
            return


def suspicion(path: Path) -> Path:
    """The file that says that the index was found damaged in use, and is to be looked through."""
    return path.with_name(f"{path.name}.suspect")


class Connections:
    """Lends connections out, and turns SQLite's errors into ours."""

    def __init__(self, path: Path, pages_max: int | None = None) -> None:
        """Open the writing connection.

        Raises:
            IndexUnusable: the file can't be opened.
        """
        self._path = path
        self._pages_max = pages_max
        self._closed = False
        self._idle: list[sqlite3.Connection] = []
        self._idle_lock = threading.Lock()
        self._file_number = 0
        self._writing_lock = threading.Lock()
        self._inode: int | None = _inode(path)
        with self._sqlite_errors():
            self._writer = connect(path, pages_max)

    @contextmanager
    def reading(self) -> Generator[sqlite3.Connection]:
        """A connection for one question; each statement sees the state after some transaction.

        Raises:
            IndexUnusable: the file can't be read.
        """
        with self._sqlite_errors():
            file_number = self._file_number
            connection = self._take()
            try:
                yield connection
            except BaseException:
                connection.close()
                raise
            self._give_back(connection, file_number)

    @contextmanager
    def reading_one_state(self) -> Generator[sqlite3.Connection]:
        """A connection all of whose statements see the same state."""
        with self.reading() as connection:
            connection.execute("BEGIN")
            yield connection
            connection.execute("COMMIT")

    @contextmanager
    def writing(self) -> Generator[sqlite3.Connection]:
        """One transaction: all of it is written at the end, or nothing.

        Raises:
            IndexUnusable: it could not be written; the state before stands.
        """
        with self._writing_lock, self._sqlite_errors():
            self._check_open()
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer
                self._writer.execute("COMMIT")
            except BaseException:
                # Some errors, a full disk among them, have rolled it back already.
                with suppress(sqlite3.Error):
                    self._writer.execute("ROLLBACK")
                raise

    def follow_replacement(self) -> bool:
        """Read from the file that stands there now; True if that is another one than before.

        The process that writes may have set a damaged file aside and begun a new one.
        """
        inode = _inode(self._path)
        if inode is None or inode == self._inode:
            return False
        with self._writing_lock, self._sqlite_errors():
            self._check_open()
            writer = connect(self._path, self._pages_max)
            self._writer.close()
            self._writer, self._inode = writer, inode
            self._file_number += 1
            self._close_idle()
        return True

    def close(self) -> None:
        """Close all; what is lent out is closed when it comes back."""
        with self._writing_lock:
            if not self._closed:
                self._closed = True
                self._close_idle()
                self._writer.close()

    def _take(self) -> sqlite3.Connection:
        with self._idle_lock:
            self._check_open()
            if self._idle:
                return self._idle.pop()
        connection = _opened(self._path)
        connection.execute("PRAGMA query_only = ON")
        connection.execute(f"PRAGMA cache_size = -{READER_CACHE_KIB}")
        return connection

    def _give_back(self, connection: sqlite3.Connection, file_number: int) -> None:
        """Keep it for the next, unless it belongs to a file that has been replaced."""
        with self._idle_lock:
            wanted = not self._closed and file_number == self._file_number
            if wanted and len(self._idle) < IDLE_READERS_MAX:
                self._idle.append(connection)
                return
        connection.close()

    def _close_idle(self) -> None:
        with self._idle_lock:
            for connection in self._idle:
                connection.close()
            self._idle.clear()

    def _check_open(self) -> None:
        if self._closed:
            raise IndexUnusable(f"the index {self._path} has been closed")

    @contextmanager
    def _sqlite_errors(self) -> Generator[None]:
        try:
            yield
        except sqlite3.Error as error:
            ours = unusable(error, self._path)
            if isinstance(ours, IndexDamaged):
                with suppress(OSError):
                    make_private_file(suspicion(self._path))
            raise ours from error


def _opened(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(
        path,
        timeout=BUSY_TIMEOUT_SECONDS,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=_STATEMENTS_CACHED,
    )


def _inode(path: Path) -> int | None:
    """Which file stands there; None if there is none."""
    try:
        status: os.stat_result = path.stat()
    except OSError:
        return None
    return status.st_ino


def unusable(error: sqlite3.Error, path: Path) -> IndexUnusable:
    """The error of ours for an error of SQLite, told by its code, never by its text."""
    code = getattr(error, "sqlite_errorcode", None)
    match None if code is None else code & _PRIMARY_CODE:
        case sqlite3.SQLITE_FULL:
            return IndexFull(
                f"no space is left for the index {path}; all that it held before is kept: "
                "free some space and index again"
            )
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return IndexBusy(f"another process is writing to the index {path}; try again soon")
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return IndexDamaged(
                f"the index {path} is damaged; it is built anew when documents are next indexed"
            )
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_CANTOPEN:
            return IndexUnusable(
                f"the index {path} can't be opened or written ({error}); "
                "check who may read and write it and its folder"
            )
        case sqlite3.SQLITE_IOERR:
            return IndexUnusable(f"the disk fails to read or write the index {path} ({error})")
        case _:
            return IndexUnusable(f"the index {path} can't be used: {error}")

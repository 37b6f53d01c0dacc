"""What was spent, kept by user, day and conversation: one SQLite file under CORTEX_HOME.

Every change is one transaction, so that several processes and threads add to the same sums and
lose nothing. The file is in SQLite's WAL mode: a killed process loses nothing that was added, and
a crash of the machine at most the last seconds.
"""

import sqlite3
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, TypeAlias

from core.base.files import make_private_file, make_private_folder
from core.base.frozen import frozen
from core.errors import BudgetScope, StorageError

LEDGER_FILE: Final = "spent.sqlite3"
"""Its name under CORTEX_HOME."""

LOCK_SECONDS: Final = 5.0
"""How long another process that writes is waited for; it takes a millisecond."""

_FORMAT: Final = 1
_TABLE: Final = """
CREATE TABLE spent (
    scope TEXT NOT NULL, key TEXT NOT NULL,
    tokens INTEGER NOT NULL, cost REAL NOT NULL, calls INTEGER NOT NULL, seconds REAL NOT NULL,
    PRIMARY KEY (scope, key)
) WITHOUT ROWID
"""
_ADD: Final = """
INSERT INTO spent VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (scope, key) DO UPDATE SET
    tokens = tokens + excluded.tokens, cost = cost + excluded.cost,
    calls = calls + excluded.calls, seconds = seconds + excluded.seconds
"""
_READ: Final = "SELECT tokens, cost, calls, seconds FROM spent WHERE scope = ? AND key = ?"

Keys: TypeAlias = Mapping[BudgetScope, str]
"""Which user, day and conversation it is about."""


@frozen
class Spent:
    """A sum: tokens read and written, US dollars, tool calls that were sent, seconds of runs."""

    tokens: int = 0
    cost: float = 0.0
    calls: int = 0
    seconds: float = 0.0

    def __add__(self, other: "Spent") -> "Spent":
        """The sum of both."""
        return Spent(
            self.tokens + other.tokens,
            self.cost + other.cost,
            self.calls + other.calls,
            self.seconds + other.seconds,
        )


NOTHING: Final = Spent()

Sums: TypeAlias = dict[BudgetScope, Spent]


class Ledger:
    """The sums of one user. Every method blocks for a moment, and may be called in any thread."""

    def __init__(self, file: Path, lock_seconds: float = LOCK_SECONDS) -> None:
        self.file = file
        self._lock_seconds = lock_seconds
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._inode: int | None = None

    def add(
        self, keys: Keys, spent: Spent, may_call: Callable[[Sums], bool] | None = None
    ) -> tuple[Sums, bool]:
        """Add to the sum of each scope, and one call on top if `may_call` says so of the sums.

        Gives the new sums, with what others have added, and whether the call was counted. Nobody
        comes in between, so that never one call too many is.

        Raises:
            StorageError: the file can't be read or written; nothing was added then.
        """
        with self._lock, self._transaction() as connection:
            if spent != NOTHING:
                _add(connection, keys, spent)
            sums: Sums = {scope: _sum(connection, scope, key) for scope, key in keys.items()}
            if may_call is None or not may_call(sums):
                return sums, False
            _add(connection, keys, Spent(calls=1))
            return {scope: _sum(connection, scope, key) for scope, key in keys.items()}, True

    def read(self, keys: Keys) -> Sums:
        """The sums as they are; makes no file.

        Raises:
            StorageError: the file can't be read.
        """
        if self._connection is None and not self.file.exists():
            return dict.fromkeys(keys, NOTHING)
        return self.add(keys, NOTHING)[0]

    def close(self) -> None:
        """Let go of the file; the next use opens it again."""
        with self._lock:
            self._let_go()

    def _let_go(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(sqlite3.Error):
                connection.close()

    @contextmanager
    def _transaction(self) -> Generator[sqlite3.Connection]:
        try:
            if self._inode != _inode(self.file):  # moved away, or another put in its place
                self._let_go()
            connection = self._connection = self._connection or self._opened()
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise
        except sqlite3.OperationalError as error:  # locked, full, read-only
            raise StorageError(
                f"what was spent can't be kept in {self.file}, so that no budget can be held: "
                f"{error}; see that the file can be written and its disk has room, then try again"
            ) from error
        except (sqlite3.Error, _OtherFormat) as error:
            raise StorageError(
                f"what was spent can't be read from {self.file}, so that no budget can be held: "
                f"{error}; put a copy of the file in its place, or move it away to count from zero"
            ) from error
        except OSError as error:
            raise StorageError(
                f"what was spent can't be kept in {self.file}, so that no budget can be held: "
                f"{error.strerror or error}; set CORTEX_HOME to a folder that you can write to"
            ) from error

    def _opened(self) -> sqlite3.Connection:
        make_private_folder(self.file.parent)
        make_private_file(self.file)  # what SQLite puts beside it has the same mode
        connection = sqlite3.connect(
            self.file,
            timeout=self._lock_seconds,
            isolation_level=None,
            check_same_thread=False,  # one at a time, by our lock
        )
        try:
            self._make_table(connection)
            with suppress(sqlite3.OperationalError):  # another process is about to do the same
                connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
        except BaseException:
            connection.close()
            raise
        self._inode = _inode(self.file)
        return connection

    def _make_table(self, connection: sqlite3.Connection) -> None:
        if _format_of(connection) == 0:
            connection.execute("BEGIN IMMEDIATE")
            try:
                if _format_of(connection) == 0:  # no other process was faster
                    if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                        raise _OtherFormat("it is a database of something else")
                    connection.execute(_TABLE)
                    connection.execute(f"PRAGMA user_version = {_FORMAT}")
                connection.execute("COMMIT")
            except BaseException:
                connection.execute("ROLLBACK")
                raise
        if (found := _format_of(connection)) != _FORMAT:
            raise _OtherFormat(f"it is of format {found}, of another version of Cortex-R")


class _OtherFormat(Exception):
    """The file is SQLite's, and not ours."""


def _inode(file: Path) -> int | None:
    try:
        return file.stat().st_ino
    except FileNotFoundError:
        return None


def _format_of(connection: sqlite3.Connection) -> int:
    return connection.execute("PRAGMA user_version").fetchone()[0]


def _add(connection: sqlite3.Connection, keys: Keys, spent: Spent) -> None:
    figures = (spent.tokens, spent.cost, spent.calls, spent.seconds)
    connection.executemany(_ADD, [(scope, key, *figures) for scope, key in keys.items()])


def _sum(connection: sqlite3.Connection, scope: BudgetScope, key: str) -> Spent:
    row = connection.execute(_READ, (scope, key)).fetchone()
    return NOTHING if row is None else Spent(*row)

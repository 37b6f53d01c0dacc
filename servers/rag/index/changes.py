"""The log of changes, by which the cache of another process follows.

Every transaction moves the counter on by one. The log holds which chunks got or lost a vector at
which count; what became of each is looked up when it is read. It is cut at its old end.
"""

import sqlite3
from collections.abc import Iterable

from servers.rag.index import schema as meta
from servers.rag.passages import Changes

LOGGED_CHANGES_MAX = 100_000
"""Who is further behind than that has loaded all vectors anew as quickly."""

_CUT_EVERY = 512
"""Transactions between two cuts of the log."""


def log_changes(connection: sqlite3.Connection, chunk_ids: Iterable[int]) -> None:
    """Move the counter on, and note whose vectors this transaction has changed."""
    counter = meta.read_int(connection, meta.COUNTER) + 1
    meta.write(connection, meta.COUNTER, counter)
    connection.executemany(
        "INSERT OR IGNORE INTO changes (counter, chunk) VALUES (?, ?)",
        ((counter, chunk_id) for chunk_id in chunk_ids),
    )
    if counter % _CUT_EVERY == 0:
        cut_log(connection)


def forget_log(connection: sqlite3.Connection) -> None:
    """Make all that follow read everything anew."""
    connection.execute("DELETE FROM changes")
    meta.write(connection, meta.LOG_START, meta.read_int(connection, meta.COUNTER) + 1)


def changes_since(connection: sqlite3.Connection, counter: int) -> Changes:
    """What happened after `counter`; within a transaction, so that it is one moment's truth."""
    now = meta.read_int(connection, meta.COUNTER)
    if not meta.read_int(connection, meta.LOG_START) <= counter <= now:
        return Changes(now, (), (), complete=False)
    rows: list[tuple[int, bool]] = connection.execute(
        "SELECT chunk, EXISTS (SELECT 1 FROM chunks WHERE id = chunk AND vector IS NOT NULL) "
        "FROM (SELECT DISTINCT chunk FROM changes WHERE counter > ?) ORDER BY chunk",
        (counter,),
    ).fetchall()
    changed = tuple(chunk_id for chunk_id, has_vector in rows if has_vector)
    removed = tuple(chunk_id for chunk_id, has_vector in rows if not has_vector)
    return Changes(now, changed, removed)


def cut_log(connection: sqlite3.Connection, kept: int = LOGGED_CHANGES_MAX) -> None:
    """Drop the oldest part of a log of more than `kept` changes."""
    row = connection.execute(
        "SELECT counter FROM changes ORDER BY counter DESC LIMIT 1 OFFSET ?", (kept,)
    ).fetchone()
    if row is not None:
        connection.execute("DELETE FROM changes WHERE counter <= ?", row)
        meta.write(connection, meta.LOG_START, row[0])

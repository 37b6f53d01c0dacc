"""The tables of the index file; its single values, and the log of changes.

`chunks.id` is never given twice in the life of a file, so that whoever caches vectors by id is
never misled. A chunk has no text of its own: it is a range of its document's markdown, which lies
in `texts` in compressed blocks. `words` is a contentless FTS5 table (sqlite.org/fts5.html): it can
forget a row only when it is told the very words that it was given, which are made from the text
by `words.indexed`. Why it has a column for each class of length: see `word_table`.

The log lets the cache of another process follow. Every transaction moves the counter on by one. The
log holds which chunks got or lost a vector at which count; what became of each is looked up when it
is read. It is cut at its old end.
"""

import sqlite3
from collections.abc import Iterable

from servers.rag.passages import VectorChanges

INDEX_FILE = "index.sqlite3"

APPLICATION_ID = 0x43525831
"""`CRX1`, in the header of the file: it is ours."""

FORMAT = 1
"""`user_version` of the file. Goes up when tables change, and when `words.indexed` or the length
classes do: an older file is set aside and built anew from the documents."""

LENGTH_COLUMNS = 12
"""One for each class of length, see `word_table`."""

IDENTITY = "identity"
"""A random name given when the file was made: chunk ids mean the same only under the same one."""

FINGERPRINT = "fingerprint"
"""What the vectors were made by; empty as long as there are none."""

RECIPE = "recipe"
"""How texts and chunks were made."""

COUNTER = "counter"
"""How many transactions there were."""

LOG_START = "log_start"
"""The earliest count from which the log of changes is complete."""

LOGGED_CHANGES_MAX = 100_000
"""Who is further behind than that has loaded all vectors anew as quickly."""

_CUT_EVERY = 512
"""Transactions between two cuts of the log."""

_WORD_COLUMNS = ", ".join(f"c{number}" for number in range(LENGTH_COLUMNS))

TABLES = f"""
CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value NOT NULL
) WITHOUT ROWID;

CREATE TABLE documents (
    id INTEGER PRIMARY KEY,
    file TEXT NOT NULL UNIQUE,
    path BLOB NOT NULL,
    content_hash TEXT NOT NULL,
    status TEXT NOT NULL,
    size_bytes INTEGER NOT NULL,
    modified_ns INTEGER NOT NULL,
    title TEXT NOT NULL,
    note TEXT NOT NULL,
    page_starts TEXT NOT NULL,
    chunk_count INTEGER NOT NULL
);

CREATE TABLE texts (
    document INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    block INTEGER NOT NULL,
    content BLOB NOT NULL,
    UNIQUE (document, block)
);

CREATE TABLE chunks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    document INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    ordinal INTEGER NOT NULL,
    first INTEGER NOT NULL,
    past INTEGER NOT NULL,
    line INTEGER NOT NULL,
    page INTEGER,
    headings TEXT NOT NULL,
    text_hash BLOB NOT NULL,
    vector BLOB
);
CREATE INDEX chunks_of_document ON chunks (document, ordinal);
CREATE INDEX chunks_without_vector ON chunks (id) WHERE vector IS NULL;

CREATE TABLE lengths (
    class INTEGER PRIMARY KEY,
    chunks INTEGER NOT NULL,
    words INTEGER NOT NULL
);

CREATE TABLE changes (
    counter INTEGER NOT NULL,
    chunk INTEGER NOT NULL,
    PRIMARY KEY (counter, chunk)
) WITHOUT ROWID;

CREATE VIRTUAL TABLE words USING fts5(
    {_WORD_COLUMNS},
    content='',
    columnsize=0,
    tokenize='porter unicode61 remove_diacritics 2'
);
"""


def meta_text(connection: sqlite3.Connection, key: str) -> str:
    """A value as text; empty if it is not there."""
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return "" if row is None else str(row[0])


def meta_int(connection: sqlite3.Connection, key: str) -> int:
    """A value as a number; 0 if it is not there."""
    return int(meta_text(connection, key) or 0)


def set_meta(connection: sqlite3.Connection, key: str, value: str | int) -> None:
    """Set a value."""
    connection.execute(
        "INSERT INTO meta (key, value) VALUES (?, ?) "
        "ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        (key, value),
    )


def log_changes(connection: sqlite3.Connection, chunk_ids: Iterable[int]) -> None:
    """Move the counter on, and note whose vectors this transaction has changed."""
    counter = meta_int(connection, COUNTER) + 1
    set_meta(connection, COUNTER, counter)
    connection.executemany(
        "INSERT OR IGNORE INTO changes (counter, chunk) VALUES (?, ?)",
        ((counter, chunk_id) for chunk_id in chunk_ids),
    )
    if counter % _CUT_EVERY == 0:
        cut_log(connection)


def forget_log(connection: sqlite3.Connection) -> None:
    """Make all that follow read everything anew."""
    connection.execute("DELETE FROM changes")
    set_meta(connection, LOG_START, meta_int(connection, COUNTER) + 1)


def changes_since(connection: sqlite3.Connection, counter: int) -> VectorChanges:
    """What happened after `counter`; within a transaction, so that it is one moment's truth."""
    now = meta_int(connection, COUNTER)
    if not meta_int(connection, LOG_START) <= counter <= now:
        return VectorChanges(now, (), (), complete=False)
    rows: list[tuple[int, bool]] = connection.execute(
        "SELECT chunk, EXISTS (SELECT 1 FROM chunks WHERE id = chunk AND vector IS NOT NULL) "
        "FROM (SELECT DISTINCT chunk FROM changes WHERE counter > ?) ORDER BY chunk",
        (counter,),
    ).fetchall()
    changed = tuple(chunk_id for chunk_id, has_vector in rows if has_vector)
    removed = tuple(chunk_id for chunk_id, has_vector in rows if not has_vector)
    return VectorChanges(now, changed, removed)


def cut_log(connection: sqlite3.Connection, kept: int = LOGGED_CHANGES_MAX) -> None:
    """Drop the oldest part of a log of more than `kept` changes."""
    row = connection.execute(
        "SELECT counter FROM changes ORDER BY counter DESC LIMIT 1 OFFSET ?", (kept,)
    ).fetchone()
    if row is not None:
        connection.execute("DELETE FROM changes WHERE counter <= ?", row)
        set_meta(connection, LOG_START, row[0])

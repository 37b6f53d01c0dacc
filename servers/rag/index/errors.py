"""What SQLite reports, as faults that a person can do something about."""

import sqlite3
from pathlib import Path

from servers.rag.faults import IndexUnusable

_PRIMARY_CODE = 0xFF
"""Extended result codes carry the plain one in their low byte (sqlite.org/rescode.html)."""


class IndexFull(IndexUnusable):
    """No space is left to write; what the index held before stands and can be searched."""


class IndexBusy(IndexUnusable):
    """Another process has been writing for longer than we wait."""


class IndexDamaged(IndexUnusable):
    """The file's content makes no sense; it is set aside and built anew when opened next."""


def unusable(error: sqlite3.Error, path: Path) -> IndexUnusable:
    """The fault for an error of SQLite, told by its code, never by its text."""
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

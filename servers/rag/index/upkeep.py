"""Upkeep of the table of words, and looking through the whole file."""

import sqlite3

MERGED_PAGES = 256
"""Written in one transaction: about 50 ms, so that others need not wait long."""

_CHANGES_OF_NOTHING = 2
"""A merge that finds nothing to do counts fewer changes than this (sqlite.org/fts5.html, 6.6)."""


def merge_words(connection: sqlite3.Connection) -> bool:
    """Merge some of what writes have scattered; whether there was anything to merge."""
    before = connection.total_changes
    connection.execute("INSERT INTO words (words, rank) VALUES ('merge', ?)", (-MERGED_PAGES,))
    return connection.total_changes - before >= _CHANGES_OF_NOTHING


def is_sound(connection: sqlite3.Connection) -> bool:
    """Read all of the file.

    Raises:
        sqlite3.Error: the words are damaged, or it can't be read at all.
    """
    (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        return False
    connection.execute("INSERT INTO words (words) VALUES ('integrity-check')")
    return True

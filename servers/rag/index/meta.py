"""Single values about the index as a whole."""

import sqlite3

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


def read_text(connection: sqlite3.Connection, key: str) -> str:
    """A value as text; empty if it is not there."""
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return "" if row is None else str(row[0])


def read_int(connection: sqlite3.Connection, key: str) -> int:
    """A value as a number; 0 if it is not there."""
    return int(read_text(connection, key) or 0)


def write(connection: sqlite3.Connection, key: str, value: str | int) -> None:
    """Set a value."""
    connection.execute(
        "INSERT INTO meta (key, value) VALUES (?, ?) "
        "ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        (key, value),
    )

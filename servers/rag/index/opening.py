"""Opening the index file: made if it isn't there, refused if not ours, set aside if damaged."""

import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

from core.base.files import make_private_file, make_private_folder
from servers.rag.errors import IndexUnusable
from servers.rag.index.connections import IndexDamaged, connect, suspicion, unusable
from servers.rag.index.schema import (
    APPLICATION_ID,
    FINGERPRINT,
    FORMAT,
    IDENTITY,
    RECIPE,
    TABLES,
    forget_log,
    log_changes,
    meta_text,
    set_meta,
)


class _Outdated(Exception):
    """An older version of the program made it."""


def prepare(path: Path, *, writer: bool) -> str:
    """Make sure that a usable index is at `path`; gives what a person should be told, if anything.

    Only the `writer` may set a file aside, under a name ending in `.damaged` or `.outdated`, and
    begin a new one. The new one is filled from the documents, so nothing is lost but time.

    Raises:
        IndexUnusable: it can't be opened, is somebody else's, or of a newer version.
        IndexDamaged: it makes no sense, and this process is not the writer.
    """
    try:
        make_private_folder(path.parent)
    except OSError as error:
        raise IndexUnusable(
            f"the folder {path.parent} for the index can't be made: {error.strerror}"
        ) from error
    with suppress(OSError):  # opening it has the message
        make_private_file(path)  # SQLite gives its other files the same mode
    try:
        _check(path, writer=writer)
    except _Outdated:
        if not writer:
            raise IndexUnusable(
                f"the index {path} is of an older version; it is built anew by the process that "
                "writes to it"
            ) from None
        return _begin_anew(path, "outdated", "was of an older version")
    except IndexDamaged:
        if not writer:
            raise
        return _begin_anew(path, "damaged", "was damaged")
    return ""


def _check(path: Path, *, writer: bool) -> None:
    """Look at the header, and make the tables in an empty file."""
    try:
        if writer and suspicion(path).exists():
            _clear_of_suspicion(path)
        with closing(connect(path)) as connection:
            _check_header(connection, path)
    except sqlite3.Error as error:
        raise unusable(error, path) from error


def _clear_of_suspicion(path: Path) -> None:
    """Read all of a file that was found damaged in use.

    Raises:
        IndexDamaged: it is.
        sqlite3.Error: it can't be read at all.
    """
    with closing(connect(path)) as connection:
        if not _is_empty(connection) and not is_sound(connection):
            raise IndexDamaged(f"the index {path} is damaged")
    suspicion(path).unlink(missing_ok=True)


def _check_header(connection: sqlite3.Connection, path: Path) -> None:
    if _is_empty(connection):
        _make_tables(connection)
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID:
        raise IndexUnusable(
            f"{path} is a database of another program; move it away, or set another index folder"
        )
    if version > FORMAT:
        raise IndexUnusable(
            f"the index {path} was made by a newer version of this program; update the program, or "
            "delete the file: it is built anew from the documents"
        )
    if version < FORMAT:
        raise _Outdated


def _is_empty(connection: sqlite3.Connection) -> bool:
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    return tables == 0


def _make_tables(connection: sqlite3.Connection) -> None:
    """All in one transaction; another process may be doing the same."""
    connection.execute("BEGIN IMMEDIATE")
    if _is_empty(connection):
        for statement in TABLES.split(";"):
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {FORMAT}")
        set_meta(connection, IDENTITY, secrets.token_hex(8))
    connection.execute("COMMIT")


def _begin_anew(path: Path, suffix: str, reason: str) -> str:
    """Set the file aside, in place of one set aside earlier, and make a new one."""
    aside = path.with_name(f"{path.name}.{suffix}")
    try:
        # The log first: without it the file is whole or not, but never mistaken for another's.
        for ending in ("-wal", "-shm"):
            with suppress(FileNotFoundError):
                path.with_name(path.name + ending).replace(aside.with_name(aside.name + ending))
        path.replace(aside)
        suspicion(path).unlink(missing_ok=True)
    except OSError as error:
        raise IndexUnusable(
            f"the index {path} {reason} and can't be set aside ({error.strerror}); delete it: "
            "it is built anew from the documents"
        ) from error
    _check(path, writer=True)
    return f"The index {reason}; it is kept as {aside.name}, and built anew from the documents."


def adopt(connection: sqlite3.Connection, fingerprint: str, recipe: str) -> list[str]:
    """Make the index ours, within a transaction; gives what a person should be told."""
    notes = [*_adopt_fingerprint(connection, fingerprint), *_adopt_recipe(connection, recipe)]
    if notes:
        log_changes(connection, ())
    return notes


def _adopt_fingerprint(connection: sqlite3.Connection, fingerprint: str) -> Iterator[str]:
    known = meta_text(connection, FINGERPRINT)
    if fingerprint in ("", known):
        return
    set_meta(connection, FINGERPRINT, fingerprint)
    dropped = connection.execute(
        "UPDATE chunks SET vector = NULL WHERE vector IS NOT NULL"
    ).rowcount
    if dropped:
        forget_log(connection)
        yield (
            f"The embedder changed (from {known} to {fingerprint}): "
            f"{dropped} chunks are embedded again."
        )


def _adopt_recipe(connection: sqlite3.Connection, recipe: str) -> Iterator[str]:
    known = meta_text(connection, RECIPE)
    if recipe in ("", known):
        return
    set_meta(connection, RECIPE, recipe)
    marked = connection.execute("UPDATE documents SET content_hash = '', modified_ns = -1").rowcount
    if marked:
        yield (
            f"Documents are read otherwise than before (from {known or 'nothing'} to {recipe}): "
            f"{marked} are read again."
        )


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

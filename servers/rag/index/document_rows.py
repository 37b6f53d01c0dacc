"""Rows of documents: what is known of each but its text."""

import json
import os
import sqlite3
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from servers.rag.passages import DocumentEntry, DocumentStatus

_ENTRY = "file, path, status, size_bytes, modified_ns, chunk_count, title, note"

_EntryRow: TypeAlias = tuple[str, bytes, DocumentStatus, int, int, int, str, str]


def find_document(connection: sqlite3.Connection, file: str) -> int | None:
    """The row of a document."""
    row = connection.execute("SELECT id FROM documents WHERE file = ?", (_clean(file),)).fetchone()
    return None if row is None else row[0]


def write_document(
    connection: sqlite3.Connection,
    entry: DocumentEntry,
    content_hash: str,
    title: str,
    page_starts: Sequence[int],
) -> int:
    """Write all of a document but its text and chunks; gives its row."""
    values = {
        "file": _clean(entry.file),
        "path": os.fsencode(entry.path),
        "content_hash": content_hash,
        "status": entry.status,
        "size_bytes": entry.size_bytes,
        "modified_ns": entry.modified_ns,
        "title": _clean(entry.title or title),
        "note": _clean(entry.note),
        "page_starts": json.dumps(page_starts),
    }
    row = connection.execute(
        "INSERT INTO documents (file, path, content_hash, status, size_bytes, modified_ns, title, "
        "note, page_starts, chunk_count) VALUES (:file, :path, :content_hash, :status, "
        ":size_bytes, :modified_ns, :title, :note, :page_starts, 0) "
        "ON CONFLICT (file) DO UPDATE SET path = :path, content_hash = :content_hash, "
        "status = :status, size_bytes = :size_bytes, modified_ns = :modified_ns, title = :title, "
        "note = :note, page_starts = :page_starts RETURNING id",
        values,
    ).fetchone()
    return row[0]


def rename_row(
    connection: sqlite3.Connection, file: str, new_file: str, path: str, modified_ns: int
) -> None:
    """Call a document otherwise; nothing else may have the new name."""
    connection.execute(
        "UPDATE documents SET file = ?, path = ?, modified_ns = ? WHERE file = ?",
        (_clean(new_file), os.fsencode(path), modified_ns, _clean(file)),
    )


def read_entries(connection: sqlite3.Connection, file: str | None = None) -> list[DocumentEntry]:
    """All documents, by name, or the one of that name."""
    named, parameters = ("", ()) if file is None else ("WHERE file = ?", (_clean(file),))
    rows: Iterator[_EntryRow] = connection.execute(
        f"SELECT {_ENTRY} FROM documents {named} ORDER BY file",  # noqa: S608 - constants
        parameters,
    )
    return [
        DocumentEntry(name, os.fsdecode(path), status, size_bytes, modified_ns, chunks, title, note)
        for name, path, status, size_bytes, modified_ns, chunks, title, note in rows
    ]


def _clean(text: str) -> str:
    """Without lone surrogates, which SQLite takes no text with."""
    return text.encode("utf-8", "replace").decode("utf-8")

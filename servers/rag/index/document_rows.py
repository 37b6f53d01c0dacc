"""Rows of documents, and their markdown in compressed blocks.

Blocks make a passage cost a block and not a book. Offsets count characters. Lone surrogates, which
broken files bring along, are kept.
"""

import json
import os
import sqlite3
import zlib
from collections.abc import Iterator
from typing import TypeAlias

from servers.rag.passages import DocumentEntry, DocumentStatus
from servers.reading.source import Extracted

BLOCK_CHARACTERS = 16_384
"""About 5 KB compressed, and 60 µs to read."""

_ENCODING, _ERRORS = "utf-8", "surrogatepass"
_LEVEL = 6

_ENTRY = "file, path, status, size_bytes, modified_ns, chunk_count, title, note"

_EntryRow: TypeAlias = tuple[str, bytes, DocumentStatus, int, int, int, str, str]


def find_document(connection: sqlite3.Connection, file: str) -> int | None:
    """The row of a document."""
    row = connection.execute("SELECT id FROM documents WHERE file = ?", (_clean(file),)).fetchone()
    return None if row is None else row[0]


def write_document(
    connection: sqlite3.Connection, entry: DocumentEntry, content_hash: str, extracted: Extracted
) -> int:
    """Write all of a document but its text and chunks; gives its row."""
    values = {
        "file": _clean(entry.file),
        "path": os.fsencode(entry.path),
        "content_hash": content_hash,
        "status": entry.status,
        "size_bytes": entry.size_bytes,
        "modified_ns": entry.modified_ns,
        "title": _clean(entry.title or extracted.title),
        "note": _clean(entry.note),
        "page_starts": json.dumps(extracted.page_starts),
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


def write_text(connection: sqlite3.Connection, document: int, markdown: str) -> None:
    """Make `markdown` the text of a document."""
    starts = range(0, len(markdown), BLOCK_CHARACTERS)
    connection.execute("DELETE FROM texts WHERE document = ?", (document,))
    connection.executemany(
        "INSERT INTO texts (document, block, content) VALUES (?, ?, ?)",
        (
            (document, number, _packed(markdown[start : start + BLOCK_CHARACTERS]))
            for number, start in enumerate(starts)
        ),
    )


def read_text(connection: sqlite3.Connection, document: int) -> str:
    """The whole text of a document; empty if it has none."""
    rows = connection.execute(
        "SELECT content FROM texts WHERE document = ? ORDER BY block", (document,)
    )
    return "".join(_unpacked(content) for (content,) in rows)


class TextRanges:
    """Reads ranges of texts; keeps the blocks read, so make a new one for each question."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._blocks: dict[tuple[int, int], str] = {}

    def read(self, document: int, start: int, end: int) -> str:
        """`markdown[start:end]` of a document; what is not there is left out."""
        first, last = start // BLOCK_CHARACTERS, max(start, end - 1) // BLOCK_CHARACTERS
        text = "".join(self._block(document, number) for number in range(first, last + 1))
        offset = first * BLOCK_CHARACTERS
        return text[start - offset : end - offset]

    def _block(self, document: int, number: int) -> str:
        known = self._blocks.get((document, number))
        if known is None:
            row = self._connection.execute(
                "SELECT content FROM texts WHERE document = ? AND block = ?", (document, number)
            ).fetchone()
            known = self._blocks[document, number] = _unpacked(row[0]) if row else ""
        return known


def _packed(text: str) -> bytes:
    return zlib.compress(text.encode(_ENCODING, _ERRORS), _LEVEL)


def _unpacked(content: bytes) -> str:
    return zlib.decompress(content).decode(_ENCODING, _ERRORS)

"""An index read by a process that does not keep it and must stay light.

No numpy, no FAISS, no weights: the file is opened for reading, asked once, and closed. What this
module imports needs no more than the standard library either.
"""

import json
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import quote

from core.base.frozen import frozen
from servers.rag.index.document_rows import read_entries
from servers.rag.index.schema import APPLICATION_ID, FORMAT, INDEX_FILE
from servers.rag.index.text_blocks import TextRanges
from servers.rag.index.word_table import full_match, search_words
from servers.rag.passages import DocumentEntry

Found = TypeVar("Found")

SECONDS: Final = 0.15
"""Bounds a search, from its beginning on."""

DOCUMENTS_SECONDS: Final = 2.0
"""Bounds the reading of all documents' names."""

_STEPS_BETWEEN_LOOKS: Final = 2_000
"""SQLite's steps after which it is asked whether the time is over: about 50 µs."""


@frozen
class WordPassage:
    """A chunk that holds words of a question.

    `match` is its BM25 as a share of what a chunk of average length scores that holds every word
    of the question once; it may be above 1. `rare` tells that one of the words is rare in the
    whole index, and no everyday word.
    """

    file: str
    text: str
    headings: tuple[str, ...]
    match: float
    rare: bool


def find_by_words(
    folder: Path, query: str, count: int, seconds: float = SECONDS
) -> tuple[WordPassage, ...]:
    """The best `count` chunks of the index in a folder, best first.

    None where there is no index, where it can't be read (another version, being made anew), or
    where the time is over before all is found. What was written last may be missing: whoever
    writes the index brings it up to date.
    """
    return _asked(folder, seconds, lambda connection: _found(connection, query, count))


def read_documents(folder: Path, seconds: float = DOCUMENTS_SECONDS) -> tuple[DocumentEntry, ...]:
    """All files that the index in a folder knows, by name; none where it can't be read in time."""
    return _asked(folder, seconds, lambda connection: tuple(read_entries(connection)))


def _asked(
    folder: Path, seconds: float, ask: Callable[[sqlite3.Connection], tuple[Found, ...]]
) -> tuple[Found, ...]:
    """What is found in an index of ours as it stands; nothing where that fails, or takes longer."""
    until = time.monotonic() + seconds
    path = folder / INDEX_FILE
    if not path.is_file():
        return ()
    try:
        with closing(_connection(path, seconds)) as connection:
            connection.set_progress_handler(lambda: time.monotonic() > until, _STEPS_BETWEEN_LOOKS)
            connection.execute("BEGIN")
            (application,) = connection.execute("PRAGMA application_id").fetchone()
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            return ask(connection) if (application, version) == (APPLICATION_ID, FORMAT) else ()
    except (sqlite3.Error, ValueError):  # ValueError: rows that no index of ours holds
        return ()


def _connection(path: Path, seconds: float) -> sqlite3.Connection:
    return sqlite3.connect(
        f"file:{quote(str(path.absolute()))}?mode=ro",
        uri=True,
        timeout=seconds,
        isolation_level=None,
    )


def _found(connection: sqlite3.Connection, query: str, count: int) -> tuple[WordPassage, ...]:
    hits = search_words(connection, query, count)
    full = full_match(connection, query)
    ranges = TextRanges(connection)
    found: list[WordPassage] = []
    for hit in hits:
        row = connection.execute(
            "SELECT file, document, first, past, headings FROM chunks "
            "JOIN documents ON documents.id = document WHERE chunks.id = ?",
            (hit.chunk_id,),
        ).fetchone()
        if row is not None:
            file, document, first, past, headings = row
            text = ranges.read(document, first, past)
            match = hit.score / full if full > 0 else 0.0
            found.append(WordPassage(file, text, tuple(json.loads(headings)), match, hit.rare))
    return tuple(found)

"""An index read by a process that does not keep it and must stay light.

No numpy, no FAISS, no weights: the file is opened for reading, asked once, and closed. What this
module imports needs no more than the standard library either.
"""

import json
import math
import sqlite3
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import quote

from core.base.frozen import frozen
from servers.rag.index.document_rows import read_entries
from servers.rag.index.schema import APPLICATION_ID, FORMAT, INDEX_FILE
from servers.rag.index.text_blocks import TextRanges
from servers.rag.index.word_table import search_words
from servers.rag.index.words import EVERYDAY_WORDS, indexed, query_terms
from servers.rag.passages import DocumentEntry

Found = TypeVar("Found")

SECONDS: Final = 0.15
"""Bounds a search, from its beginning on."""

DOCUMENTS_SECONDS: Final = 2.0
"""Bounds the reading of all documents' names."""

FEW_CHUNKS: Final = 10
RARE_SHARE: Final = 0.1
"""A word that more chunks than that hold, or than this share of all, is rare in no case."""

DIGITS_TELLING: Final = 3
"""A shorter number stands in a text by chance."""

FILES_MIN: Final = 10
"""Of fewer files it is taken that there are so many: else no word of a single one told anything."""

_STEPS_BETWEEN_LOOKS: Final = 2_000
"""SQLite's steps after which it is asked whether the time is over: about 50 µs."""


@frozen
class WordPassage:
    """A chunk that holds words of a question.

    `match` is the share of the question's words that it holds, each by how much it tells: the fewer
    files hold a word, the more, however often it stands in one. `rare` tells that few files hold
    one of the words, and that it is no everyday word.
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


def written_at(folder: Path) -> float:
    """When the index in a folder was written last, in Unix seconds; 0 where there is none."""
    try:
        return (folder / INDEX_FILE).stat().st_mtime
    except OSError:
        return 0.0


def match_texts(
    query: str, texts: Iterable[tuple[str, str]]
) -> tuple[tuple[int, float, bool], ...]:
    """The places of texts that hold words of a question, with `match` and `rare` of each.

    A text comes with the name of the file that it stands in. For texts that no index holds yet;
    the best first.
    """
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.execute("CREATE TABLE chunks (id INTEGER PRIMARY KEY, document TEXT)")
        connection.execute(
            "CREATE VIRTUAL TABLE words USING fts5(text, tokenize='porter unicode61', content='')"
        )
        connection.execute("BEGIN")
        for place, (file, text) in enumerate(texts):
            connection.execute("INSERT INTO chunks VALUES (?, ?)", (place, file))
            words = place, indexed(text)
            connection.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", words)
        found = _matches(connection, query)
    ranked = sorted(found.items(), key=lambda each: (-each[1][0], each[0]))
    return tuple((place, match, rare) for place, (match, rare) in ranked)


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
    matches = _matches(connection, query)
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
            match, rare = matches.get(hit.chunk_id, (0.0, False))
            found.append(WordPassage(file, text, tuple(json.loads(headings)), match, rare))
    return tuple(found)


def _matches(connection: sqlite3.Connection, query: str) -> dict[int, tuple[float, bool]]:
    """How well chunks match that hold words of a question, and whether one of these is rare."""
    counts = "SELECT count(DISTINCT document), count(*) FROM chunks"
    files, chunks = connection.execute(counts).fetchone()
    files = max(files, FILES_MIN)
    few, few_chunks = int(math.sqrt(files)), max(FEW_CHUNKS, int(RARE_SHARE * chunks))
    held: dict[int, float] = defaultdict(float)
    rare: set[int] = set()
    whole = 0.0
    asked = query_terms(query)
    telling = [term for term in asked if _is_number(term) or not _is_everyday(term)]
    for term in telling or asked:
        rows: list[tuple[int, int]] = connection.execute(
            "SELECT chunks.id, document FROM words JOIN chunks ON chunks.id = words.rowid "
            "WHERE words MATCH ?",
            (term,),
        ).fetchall()
        holding = len({document for _, document in rows})
        weight = math.log(1 + (files - holding + 0.5) / (holding + 0.5))
        whole += weight
        for chunk_id, _ in rows:
            held[chunk_id] += weight
        if holding <= few and len(rows) <= few_chunks and not _is_everyday(term):
            rare.update(chunk_id for chunk_id, _ in rows)
    return {chunk_id: (share / whole, chunk_id in rare) for chunk_id, share in held.items()}


def _is_number(term: str) -> bool:
    return term.strip('"').isdigit()


def _is_everyday(term: str) -> bool:
    word = term.strip('"')
    return word in EVERYDAY_WORDS or (word.isdigit() and len(word) < DIGITS_TELLING)

"""Rows of chunks: what a new version of a document changes, their vectors, and reading them back.

Vectors are blobs of 16-bit floats: half the size of 32-bit ones. Rounding moves the cosine of two
vectors of length 1 and 384 numbers by less than 0.0001, a small part of the steps between the
candidates of a search.
"""

import json
import sqlite3
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from core.base.frozen import frozen
from servers.rag.index.text_blocks import TextRanges
from servers.rag.index.word_table import WordTable
from servers.rag.passages import Chunk, StoredChunk
from servers.rag.ports import Vectors

_HASH_BYTES = 16

_Place: TypeAlias = tuple[int, int, int, int, int | None, str]
"""Ordinal, first and past character, line, page, headings: what may change while the text stays."""

_SELECT_STORED = (
    "SELECT chunks.id, file, document, ordinal, first, past, line, page, headings "
    "FROM chunks JOIN documents ON documents.id = document"
)

_StoredRow: TypeAlias = tuple[int, str, int, int, int, int, int, int | None, str]


@frozen
class _OldChunk:
    """A chunk of the version that was there; `start` and `end` are offsets in its text."""

    chunk_id: int
    place: _Place
    has_vector: bool

    @property
    def range(self) -> tuple[int, int]:
        return self.place[1], self.place[2]


@frozen
class ChunkDiff:
    """How a document's chunks become those of a new version of it.

    `kept` holds the id of the old chunk with the same text for each place in `texts` that has one;
    `gone` are those that no longer are.
    """

    texts: Sequence[str]
    kept: Mapping[int, _OldChunk]
    gone: Sequence[_OldChunk]


def diff_chunks(connection: sqlite3.Connection, document: int, texts: Sequence[str]) -> ChunkDiff:
    """Compare the chunks that a document has with the texts of those that it shall have."""
    old: defaultdict[bytes, deque[_OldChunk]] = defaultdict(deque)
    for row in connection.execute(
        "SELECT text_hash, id, vector IS NOT NULL, ordinal, first, past, line, page, headings "
        "FROM chunks WHERE document = ? ORDER BY ordinal",
        (document,),
    ):
        old[row[0]].append(_OldChunk(row[1], row[3:], bool(row[2])))
    kept: dict[int, _OldChunk] = {}
    for ordinal, text in enumerate(texts):
        if same := old.get(_hash(text)):
            kept[ordinal] = same.popleft()
    return ChunkDiff(texts, kept, [chunk for chunks in old.values() for chunk in chunks])


def forget_chunks(
    connection: sqlite3.Connection, document: int, gone: Iterable[_OldChunk], words: WordTable
) -> list[int]:
    """Remove chunks while the text that they lie in is still there; gives who had a vector."""
    ranges = TextRanges(connection)
    had_vector: list[int] = []
    for chunk in gone:
        words.remove(chunk.chunk_id, ranges.read(document, *chunk.range))
        connection.execute("DELETE FROM chunks WHERE id = ?", (chunk.chunk_id,))
        if chunk.has_vector:
            had_vector.append(chunk.chunk_id)
    return had_vector


def write_chunks(
    connection: sqlite3.Connection,
    document: int,
    chunks: Sequence[Chunk],
    diff: ChunkDiff,
    words: WordTable,
) -> None:
    """Add the new chunks and move the kept ones to their places."""
    for ordinal, (chunk, text) in enumerate(zip(chunks, diff.texts, strict=True)):
        place = _place(ordinal, chunk)
        old = diff.kept.get(ordinal)
        if old is None:
            words.add(_insert(connection, document, place, text), text)
        elif old.place != place:
            connection.execute(
                "UPDATE chunks SET ordinal = ?, first = ?, past = ?, line = ?, page = ?, "
                "headings = ? WHERE id = ?",
                (*place, old.chunk_id),
            )
    connection.execute("UPDATE documents SET chunk_count = ? WHERE id = ?", (len(chunks), document))


def read_chunks(connection: sqlite3.Connection, chunk_ids: Sequence[int]) -> list[StoredChunk]:
    """Chunks by id, in the order given, without those that are gone."""
    rows: Iterable[_StoredRow] = connection.execute(
        f"{_SELECT_STORED} WHERE chunks.id IN (SELECT value FROM json_each(?))",  # noqa: S608 - constants
        (_listed(chunk_ids),),
    )
    by_id = {chunk.chunk_id: chunk for chunk in _stored(connection, rows)}
    return [by_id[chunk_id] for chunk_id in chunk_ids if chunk_id in by_id]


def read_texts_without_vectors(connection: sqlite3.Connection, limit: int) -> list[tuple[int, str]]:
    """The first chunks that have no vector: ids and texts."""
    ranges = TextRanges(connection)
    rows = connection.execute(
        "SELECT id, document, first, past FROM chunks WHERE vector IS NULL ORDER BY id LIMIT ?",
        (limit,),
    ).fetchall()
    return [(chunk_id, ranges.read(document, *span)) for chunk_id, document, *span in rows]


def _stored(connection: sqlite3.Connection, rows: Iterable[_StoredRow]) -> list[StoredChunk]:
    ranges = TextRanges(connection)
    stored: list[StoredChunk] = []
    for chunk_id, file, document, ordinal, first, past, line, page, headings in list(rows):
        text = ranges.read(document, first, past)
        chunk = Chunk(text, first, past, line, page, tuple(json.loads(headings)))
        stored.append(StoredChunk(chunk_id, file, ordinal, chunk))
    return stored


def _insert(connection: sqlite3.Connection, document: int, place: _Place, text: str) -> int:
    row = connection.execute(
        "INSERT INTO chunks (document, ordinal, first, past, line, page, headings, text_hash) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
        (document, *place, _hash(text)),
    ).fetchone()
    return row[0]


def _place(ordinal: int, chunk: Chunk) -> _Place:
    return ordinal, chunk.start, chunk.end, chunk.line, chunk.page, json.dumps(chunk.headings)


def _hash(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_HASH_BYTES).digest()


def _packed(vectors: Vectors, count: int) -> list[bytes]:
    """Each row as a blob.

    Raises:
        ValueError: there aren't `count` rows, or they hold something else than finite numbers.
    """
    if vectors.ndim != 2 or len(vectors) != count:
        raise ValueError(f"{count} chunks need as many vectors, not an array {vectors.shape}")
    if not np.isfinite(vectors).all():
        raise ValueError("a vector holds a number that is not finite")
    return [row.tobytes() for row in vectors.astype("<f2")]


def write_vectors(
    connection: sqlite3.Connection, chunk_ids: Sequence[int], vectors: Vectors
) -> list[int]:
    """Set the vectors of chunks; gives the ids of those that are still there."""
    blobs = _packed(vectors, len(chunk_ids))
    return [
        chunk_id
        for chunk_id, blob in zip(chunk_ids, blobs, strict=True)
        if connection.execute(
            "UPDATE chunks SET vector = ? WHERE id = ?", (blob, chunk_id)
        ).rowcount
    ]


def read_vectors(
    connection: sqlite3.Connection, chunk_ids: Sequence[int]
) -> tuple[list[int], Vectors]:
    """Those of the chunks that have a vector, in the order given, and their vectors."""
    rows = connection.execute(
        "SELECT id, vector FROM chunks WHERE vector IS NOT NULL "
        "AND id IN (SELECT value FROM json_each(?))",
        (_listed(chunk_ids),),
    )
    blobs: dict[int, bytes] = dict(rows)
    known = [chunk_id for chunk_id in chunk_ids if chunk_id in blobs]
    return known, _unpacked([blobs[chunk_id] for chunk_id in known])


def read_batch(
    connection: sqlite3.Connection, after: int, count: int
) -> tuple[NDArray[np.int64], Vectors]:
    """The next `count` ids above `after` that have a vector, ascending, and their vectors."""
    rows: list[tuple[int, bytes]] = connection.execute(
        "SELECT id, vector FROM chunks WHERE id > ? AND vector IS NOT NULL ORDER BY id LIMIT ?",
        (after, count),
    ).fetchall()
    ids = np.fromiter((chunk_id for chunk_id, _ in rows), dtype=np.int64, count=len(rows))
    return ids, _unpacked([blob for _, blob in rows])


def _unpacked(blobs: Sequence[bytes]) -> Vectors:
    if not blobs:
        return np.zeros((0, 0), dtype=np.float32)
    halves = np.frombuffer(b"".join(blobs), dtype="<f2")
    return halves.reshape(len(blobs), -1).astype(np.float32)


def _listed(ids: Sequence[int]) -> str:
    """Many ids as one parameter of a statement, for `json_each`."""
    return json.dumps([int(each) for each in ids])

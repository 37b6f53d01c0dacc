"""Made vectors that lie as those of texts do: fields, topics in them, documents, chunks in those.

Directions drawn at random would have no neighbours worth finding: an index that looks into the
nearest clusters only would fare worse than on texts. Here two chunks of one document have a
cosine of about 0.6, of one topic about 0.35, of one field about 0.15, others about 0.
"""

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Vectors: TypeAlias = NDArray[np.float32]

DIMENSION = 384
CHUNKS_A_DOCUMENT = 10
DOCUMENTS_A_TOPIC = 25
TOPICS_A_FIELD = 20
BLOCK = 20_000
QUERIES = 50
NEIGHBOURS = 10
FIELD_SHARE, TOPIC_SHARE, DOCUMENT_SHARE = 0.15, 0.2, 0.25
"""Of a vector's squared length; the rest is the chunk's own."""

QUERY_NOISE = 0.75
"""How long what is added to a chunk's vector is that a query is made of: its cosine is 0.8."""


@dataclass(frozen=True)
class VectorSet:
    """Vectors in a SQLite file (`chunk(id, vector)`), and queries with their nearest ids."""

    database: Path
    queries: Vectors
    nearest: NDArray[np.int64]


def make_set(count: int, folder: Path) -> VectorSet:
    """Draw the vectors, always the same, and find the neighbours by computing every product."""
    random = np.random.default_rng(count)
    topics = _topics(random, max(1, count // (CHUNKS_A_DOCUMENT * DOCUMENTS_A_TOPIC)))
    database = folder / f"{count}.db"
    queries: Vectors | None = None
    best = np.full((QUERIES, NEIGHBOURS), -1, dtype=np.float32)
    nearest = np.full((QUERIES, NEIGHBOURS), -1, dtype=np.int64)
    connection = sqlite3.connect(database)
    with connection:
        connection.execute("CREATE TABLE chunk (id INTEGER PRIMARY KEY, vector BLOB)")
        for start, block in _blocks(random, topics, count):
            if queries is None:
                queries = _queries(random, block)
            ids = np.arange(start, start + len(block))
            rows = zip(ids.tolist(), map(bytes, block), strict=True)
            connection.executemany("INSERT INTO chunk VALUES (?, ?)", rows)
            best, nearest = _merged(best, nearest, queries @ block.T, ids)
    connection.close()
    assert queries is not None
    return VectorSet(database, queries, nearest)


def stored_vectors(database: Path, rows: int) -> Iterator[tuple[list[int], Vectors]]:
    """What the file holds, so many rows at a time, by ascending id."""
    connection = sqlite3.connect(database)
    cursor = connection.execute("SELECT id, vector FROM chunk ORDER BY id")
    while part := cursor.fetchmany(rows):
        joined = b"".join(blob for _, blob in part)
        yield (
            [chunk_id for chunk_id, _ in part],
            np.frombuffer(joined, dtype=np.float32).reshape(len(part), -1),
        )
    connection.close()


def _blocks(
    random: np.random.Generator, topics: Vectors, count: int
) -> Iterator[tuple[int, Vectors]]:
    own_share = 1 - FIELD_SHARE - TOPIC_SHARE - DOCUMENT_SHARE
    for start in range(0, count, BLOCK):
        size = min(BLOCK, count - start)
        documents = -(-size // CHUNKS_A_DOCUMENT)
        themes = topics[random.integers(len(topics), size=documents)]
        themes += _directions(random, documents) * DOCUMENT_SHARE**0.5
        block = _directions(random, size) * own_share**0.5
        block += np.repeat(themes, CHUNKS_A_DOCUMENT, axis=0)[:size]
        yield start, _unit(block)


def _topics(random: np.random.Generator, count: int) -> Vectors:
    """What the chunks of each topic have in common, its field's part included."""
    fields = _directions(random, -(-count // TOPICS_A_FIELD)) * FIELD_SHARE**0.5
    return np.repeat(fields, TOPICS_A_FIELD, axis=0)[:count] + (
        _directions(random, count) * TOPIC_SHARE**0.5
    )


def _queries(random: np.random.Generator, block: Vectors) -> Vectors:
    chosen = random.choice(len(block), QUERIES, replace=len(block) < QUERIES)
    queries = _directions(random, QUERIES)
    queries *= QUERY_NOISE
    queries += block[chosen]
    return _unit(queries)


def _merged(
    best: Vectors, nearest: NDArray[np.int64], products: Vectors, ids: NDArray[np.int64]
) -> tuple[Vectors, NDArray[np.int64]]:
    """The best of those known and those that come, each of shape (queries, neighbours)."""
    all_products = np.concatenate([best, products], axis=1)
    all_ids = np.concatenate([nearest, np.broadcast_to(ids, products.shape)], axis=1)
    places = np.argpartition(-all_products, NEIGHBOURS - 1, axis=1)[:, :NEIGHBOURS]
    return (
        np.take_along_axis(all_products, places, axis=1),
        np.take_along_axis(all_ids, places, axis=1),
    )


def _directions(random: np.random.Generator, count: int) -> Vectors:
    return _unit(random.standard_normal((count, DIMENSION), dtype=np.float32))


def _unit(vectors: Vectors) -> Vectors:
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors

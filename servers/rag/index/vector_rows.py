"""Vectors as blobs of 16-bit floats: half the size of 32-bit ones.

Rounding moves the cosine of two vectors of length 1 and 384 numbers by less than 0.0001, a
small part of the steps between the candidates of a search.
"""

import sqlite3
from collections.abc import Sequence
from typing import TYPE_CHECKING

from servers.rag.index.id_lists import listed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from servers.rag.ports import Vectors


def packed(vectors: "Vectors", count: int) -> list[bytes]:
    """Each row as a blob.

    Raises:
        ValueError: there aren't `count` rows, or they hold something else than finite numbers.
    """
    import numpy as np

    if vectors.ndim != 2 or len(vectors) != count:
        raise ValueError(f"{count} chunks need as many vectors, not an array {vectors.shape}")
    if not np.isfinite(vectors).all():
        raise ValueError("a vector holds a number that is not finite")
    return [row.tobytes() for row in vectors.astype("<f2")]


def write_vectors(
    connection: sqlite3.Connection, chunk_ids: Sequence[int], vectors: "Vectors"
) -> list[int]:
    """Set the vectors of chunks; gives the ids of those that are still there."""
    blobs = packed(vectors, len(chunk_ids))
    return [
        chunk_id
        for chunk_id, blob in zip(chunk_ids, blobs, strict=True)
        if connection.execute(
            "UPDATE chunks SET vector = ? WHERE id = ?", (blob, chunk_id)
        ).rowcount
    ]


def read_vectors(
    connection: sqlite3.Connection, chunk_ids: Sequence[int]
) -> "tuple[list[int], Vectors]":
    """Those of the chunks that have a vector, in the order given, and their vectors."""
    rows = connection.execute(
        "SELECT id, vector FROM chunks WHERE vector IS NOT NULL "
        "AND id IN (SELECT value FROM json_each(?))",
        (listed(chunk_ids),),
    )
    blobs: dict[int, bytes] = dict(rows)
    known = [chunk_id for chunk_id in chunk_ids if chunk_id in blobs]
    return known, _unpacked([blobs[chunk_id] for chunk_id in known])


def read_batch(
    connection: sqlite3.Connection, after: int, count: int
) -> "tuple[NDArray[np.int64], Vectors]":
    """The next `count` ids above `after` that have a vector, ascending, and their vectors."""
    import numpy as np

    rows: list[tuple[int, bytes]] = connection.execute(
        "SELECT id, vector FROM chunks WHERE id > ? AND vector IS NOT NULL ORDER BY id LIMIT ?",
        (after, count),
    ).fetchall()
    ids = np.fromiter((chunk_id for chunk_id, _ in rows), dtype=np.int64, count=len(rows))
    return ids, _unpacked([blob for _, blob in rows])


def _unpacked(blobs: Sequence[bytes]) -> "Vectors":
    import numpy as np

    if not blobs:
        return np.zeros((0, 0), dtype=np.float32)
    halves = np.frombuffer(b"".join(blobs), dtype="<f2")
    return halves.reshape(len(blobs), -1).astype(np.float32)

"""What may enter an index of vectors, and in which form it is handed on."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from servers.rag.vectors.errors import VectorsRefused

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from servers.rag.ports import Vectors

LENGTH_TOLERANCE = 0.01
"""How much longer than 1 a vector may be: half precision loses less."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Chunk ids, each once, and their vectors: shapes (n,) and (n, dimension)."""

    ids: "NDArray[np.int64]"
    vectors: "Vectors"

    def __len__(self) -> int:
        """How many there are."""
        return len(self.ids)

    def part(self, start: int, count: int) -> "Rows":
        """At most `count` of them from `start` on, without a copy."""
        return Rows(self.ids[start : start + count], self.vectors[start : start + count])


def checked_rows(chunk_ids: Sequence[int], vectors: "Vectors", dimension: int) -> Rows:
    """Ids with their vectors, fit for an index; of an id that comes twice the last vector holds.

    Raises:
        VectorsRefused: not one vector of this dimension for each id, an id below 0, or numbers
            that are not finite or don't make a vector of length 1 (all zeros pass: such a vector
            is near to nothing).
    """
    import numpy as np

    ids = ids_array(chunk_ids)
    rows = _finite(vectors, dimension)
    if len(ids) != len(rows):
        raise VectorsRefused(f"{len(rows)} vectors came for {len(ids)} chunks")
    if len(ids) and int(ids.min()) < 0:
        raise VectorsRefused(f"{int(ids.min())} can't be a chunk's id: ids start at 0")
    _, last = np.unique(ids[::-1], return_index=True)
    if len(last) == len(ids):
        return Rows(ids, rows)
    kept = np.sort(len(ids) - 1 - last)
    return Rows(ids[kept], rows[kept])


def checked_query(query: "Vectors", dimension: int) -> "Vectors":
    """What is searched for, shape (1, dimension).

    Raises:
        VectorsRefused: it is of another shape, or as `checked_rows` says.
    """
    row = _finite(query, dimension)
    if len(row) != 1:
        raise VectorsRefused(f"a search takes one vector, and {len(row)} came")
    return row


def ids_array(chunk_ids: "Sequence[int] | NDArray[np.int64]") -> "NDArray[np.int64]":
    """Ids as FAISS and numpy take them, shape (n,)."""
    import numpy as np

    return np.ascontiguousarray(chunk_ids, dtype=np.int64).reshape(-1)


def _finite(vectors: "Vectors", dimension: int) -> "Vectors":
    """The vectors in 32 bits and one piece, if they can be compared."""
    import numpy as np

    rows = np.ascontiguousarray(vectors, dtype=np.float32)
    if rows.ndim != 2 or rows.shape[1] != dimension:
        raise VectorsRefused(
            f"vectors of shape {rows.shape} don't fit an index of dimension {dimension}: "
            "was the embedder changed without a new index?"
        )
    squares = np.einsum("ij,ij->i", rows, rows)
    if not bool(np.isfinite(squares).all()):
        raise VectorsRefused("a vector holds numbers that are not finite: the embedder is broken")
    if len(squares) and float(squares.max()) > (1 + LENGTH_TOLERANCE) ** 2:
        raise VectorsRefused("a vector is longer than 1, so that its product is no cosine")
    return rows

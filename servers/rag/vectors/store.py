"""An index of vectors: what each kind can do, what is checked, and how it is brought up to date."""

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from core.base.frozen import frozen
from servers.rag.errors import VectorsRefused
from servers.rag.ports import Vectors

LENGTH_TOLERANCE = 0.01
"""How much longer than 1 a vector may be: half precision loses less."""


class VectorStore(Protocol):
    """Finds the nearest of many vectors, by chunk id. A cache: SQLite holds the truth."""

    @property
    def description(self) -> str:
        """What is told to people: `faiss, fp16`, `milvus at db.example.org:19530`."""
        ...

    def add(self, chunk_ids: Sequence[int], vectors: Vectors) -> None:
        """Take up vectors; an id that is known gets its new one."""
        ...

    def remove(self, chunk_ids: Sequence[int]) -> None:
        """Forget vectors; unknown ids don't matter."""
        ...

    def search(
        self, query: Vectors, count: int, among: Sequence[int] | None = None
    ) -> list[tuple[int, float]]:
        """The `count` nearest chunk ids with their cosine, best first; only `among` if given."""
        ...

    def __len__(self) -> int:
        """How many vectors it holds."""
        ...

    def chunk_ids(self) -> NDArray[np.int64]:
        """The ids of all that it holds, in no order, shape (n,)."""
        ...

    def settle(self) -> None:
        """Build what changes have made due, if anything; searches go on meanwhile.

        It may take a minute at a million vectors.
        """
        ...

    def close(self) -> None:
        """Release what it holds."""
        ...


def fill(
    store: VectorStore, batches: Iterable[tuple[Sequence[int] | NDArray[np.int64], Vectors]]
) -> None:
    """Make a store hold exactly the vectors that come, those of all chunks in SQLite.

    An empty store takes them all; one that outlives the process (Milvus) only what it lacks, and
    it forgets what doesn't come. It goes by ids alone, so a chunk's vector must never change
    under its id, nor an id be given twice. Ascending ids are quickest. Searches go on meanwhile
    and find what is there so far; what is removed while this runs may come back, so a search
    drops ids that SQLite doesn't know. Call `settle` when all else that is urgent is done.

    Raises:
        VectorsRefused: the vectors don't fit.
        VectorsUnavailable: the store can't be reached now; it keeps what it got.
    """
    held = np.sort(store.chunk_ids())
    came = np.zeros(len(held), dtype=np.bool_)
    for given, vectors in batches:
        ids = ids_array(given)
        places = np.minimum(np.searchsorted(held, ids), max(len(held) - 1, 0))
        known = held[places] == ids if len(held) else np.zeros(len(ids), dtype=np.bool_)
        came[places[known]] = True
        if not bool(known.all()):
            store.add(ids[~known].tolist(), vectors[~known] if known.any() else vectors)
    superfluous: list[int] = held[~came].tolist()
    store.remove(superfluous)


@frozen
class Rows:
    """Chunk ids, each once, and their vectors: shapes (n,) and (n, dimension)."""

    ids: NDArray[np.int64]
    vectors: Vectors

    def __len__(self) -> int:
        """How many there are."""
        return len(self.ids)

    def part(self, start: int, count: int) -> "Rows":
        """At most `count` of them from `start` on, without a copy."""
        return Rows(self.ids[start : start + count], self.vectors[start : start + count])


def checked_rows(chunk_ids: Sequence[int], vectors: Vectors, dimension: int) -> Rows:
    """Ids with their vectors, fit for an index; of an id that comes twice the last vector holds.

    Raises:
        VectorsRefused: not one vector of this dimension for each id, an id below 0, or numbers
            that are not finite or don't make a vector of length 1 (all zeros pass: such a vector
            is near to nothing).
    """
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


def checked_query(query: Vectors, dimension: int) -> Vectors:
    """What is searched for, shape (1, dimension).

    Raises:
        VectorsRefused: it is of another shape, or as `checked_rows` says.
    """
    row = _finite(query, dimension)
    if len(row) != 1:
        raise VectorsRefused(f"a search takes one vector, and {len(row)} came")
    return row


def ids_array(chunk_ids: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    """Ids as FAISS and numpy take them, shape (n,)."""
    return np.ascontiguousarray(chunk_ids, dtype=np.int64).reshape(-1)


def _finite(vectors: Vectors, dimension: int) -> Vectors:
    """The vectors in 32 bits and one piece, if they can be compared."""
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

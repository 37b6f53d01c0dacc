"""An index of vectors that tells which chunks it holds, and how it is brought up to the truth."""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from servers.rag.ports import VectorIndex
from servers.rag.vectors.checking import ids_array

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from servers.rag.ports import Vectors


class VectorStore(VectorIndex, Protocol):
    """A `VectorIndex` that can be compared with the truth in SQLite."""

    @property
    def description(self) -> str:
        """What is told to people: `faiss, flat`, `milvus at db.example.org:19530`."""
        ...

    def filling(self) -> AbstractContextManager[None]:
        """While it is filled: puts off what would take minutes of building, until `settle`."""
        ...

    def settle(self) -> None:
        """Build what was put off; searches go on meanwhile. Nothing happens where nothing was.

        It may take a minute at a million vectors; the next change would do it otherwise.
        """
        ...

    def chunk_ids(self) -> "NDArray[np.int64]":
        """The ids of all that it holds, in no order, shape (n,)."""
        ...


@dataclass(frozen=True, slots=True)
class Filled:
    """How many vectors an index lacked, and how many it held too many."""

    added: int
    removed: int


def fill(
    store: VectorStore, batches: "Iterable[tuple[Sequence[int] | NDArray[np.int64], Vectors]]"
) -> Filled:
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
    import numpy as np

    held = np.sort(store.chunk_ids())
    came = np.zeros(len(held), dtype=np.bool_)
    added = 0
    with store.filling():
        for given, vectors in batches:
            ids = ids_array(given)
            places = np.minimum(np.searchsorted(held, ids), max(len(held) - 1, 0))
            known = held[places] == ids if len(held) else np.zeros(len(ids), dtype=np.bool_)
            came[places[known]] = True
            if not bool(known.any()):
                store.add(ids.tolist(), vectors)
            elif not bool(known.all()):
                store.add(ids[~known].tolist(), vectors[~known])
            added += len(ids) - int(known.sum())
        superfluous: list[int] = held[~came].tolist()
        store.remove(superfluous)
    return Filled(added, len(superfluous))

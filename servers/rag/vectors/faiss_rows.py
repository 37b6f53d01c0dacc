"""Vectors that FAISS compares one by one: whole, or in half precision."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from servers.rag.vectors.checking import Rows
from servers.rag.vectors.faiss_types import Library
from servers.rag.vectors.kinds import KindName

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from servers.rag.ports import Vectors


class RowsInFaiss:
    """One of the two smaller kinds. Not thread-safe: `FaissIndex` sees to that."""

    def __init__(self, faiss: Library, kind: KindName, dimension: int) -> None:
        self.kind: KindName = kind
        self._faiss = faiss
        metric = faiss.METRIC_INNER_PRODUCT
        if kind == "flat":
            self._rows = faiss.IndexFlatIP(dimension)
        else:
            code = faiss.ScalarQuantizer.QT_fp16
            self._rows = faiss.IndexScalarQuantizer(dimension, code, metric)
        self._index = faiss.IndexIDMap(self._rows)

    def __len__(self) -> int:
        """How many vectors it holds."""
        return self._index.ntotal

    @property
    def outgrown(self) -> bool:
        """Whether it should be built anew in its own kind: never."""
        return False

    def add(self, rows: Rows) -> None:
        """Append vectors with ids that it doesn't hold."""
        self._index.add_with_ids(rows.vectors, rows.ids)

    def remove(self, ids: "NDArray[np.int64]") -> None:
        """Forget those of them that it holds."""
        self._index.remove_ids(self._faiss.IDSelectorBatch(ids))

    def search(
        self, query: "Vectors", count: int, among: "NDArray[np.int64] | None"
    ) -> "tuple[Vectors, NDArray[np.int64]]":
        """Products and ids, shape (1, count); id -1 where there is none."""
        if among is None:
            return self._index.search(query, count)
        chosen = self._faiss.IDSelectorBatch(among)
        return self._index.search(query, count, params=self._faiss.SearchParameters(sel=chosen))

    def ids(self) -> "NDArray[np.int64]":
        """The ids of all, in their order."""
        return self._faiss.vector_to_array(self._index.id_map)

    def sample(self, places: "NDArray[np.int64]") -> "Vectors":
        """The vectors at some places below its length."""
        return self._rows.reconstruct_batch(places)

    def parts(self, size: int) -> Iterator[Rows]:
        """All that it holds, so many at a time."""
        ids = self.ids()
        for start in range(0, len(ids), size):
            part = ids[start : start + size]
            yield Rows(part, self._rows.reconstruct_n(start, len(part)))

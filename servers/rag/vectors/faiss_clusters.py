"""Vectors in clusters, 8 bits a number: a search looks into the nearest clusters only.

An inverted file as in J. Sivic, A. Zisserman, "Video Google" (ICCV 2003), with the cluster's
centre taken off before a vector is shortened, as FAISS does it.
"""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from servers.rag.vectors.checking import Rows
from servers.rag.vectors.faiss_types import InvertedFile, Library
from servers.rag.vectors.kinds import OUTGROWN_TIMES, KindName, cluster_count

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from servers.rag.ports import Vectors

TRAINING_VECTORS_A_CLUSTER = 64
"""FAISS asks for 39 at least; more move the centres little and cost in proportion."""


class ClustersInFaiss:
    """The kind for large indexes. Not thread-safe: `FaissIndex` sees to that."""

    kind: KindName = "ivf-sq8"

    def __init__(self, faiss: Library, training: "Vectors", expected: int, searched: int) -> None:
        """Find the clusters for an expected number of vectors from some of them.

        `searched` is how many clusters a search looks into.
        """
        dimension = training.shape[1]
        clusters = min(cluster_count(expected), len(training))
        self._faiss = faiss
        self._index: InvertedFile = faiss.IndexIVFScalarQuantizer(
            faiss.IndexFlatIP(dimension),
            dimension,
            clusters,
            faiss.ScalarQuantizer.QT_8bit,
            faiss.METRIC_INNER_PRODUCT,
        )
        self._index.cp.min_points_per_centroid = 1  # we choose how many; it would print a warning
        self._index.train(training)
        self._expected = expected
        self._searched = searched

    def __len__(self) -> int:
        """How many vectors it holds."""
        return self._index.ntotal

    @property
    def outgrown(self) -> bool:
        """Whether it holds so many by now that its clusters have become too large."""
        return len(self) > OUTGROWN_TIMES * self._expected

    def add(self, rows: Rows) -> None:
        """Take up vectors with ids that it doesn't hold."""
        self._index.add_with_ids(rows.vectors, rows.ids)

    def remove(self, ids: "NDArray[np.int64]") -> None:
        """Forget those of them that it holds."""
        self._index.remove_ids(self._faiss.IDSelectorBatch(ids))

    def search(
        self, query: "Vectors", count: int, among: "NDArray[np.int64] | None"
    ) -> "tuple[Vectors, NDArray[np.int64]]":
        """Products and ids, shape (1, count); id -1 where there is none.

        Among given ids every cluster is looked into, which costs little: only they are compared.
        """
        if among is None:
            near = self._faiss.SearchParametersIVF(nprobe=self._searched)
        else:
            chosen = self._faiss.IDSelectorBatch(among)
            near = self._faiss.SearchParametersIVF(nprobe=self._index.nlist, sel=chosen)
        return self._index.search(query, count, params=near)

    def ids(self) -> "NDArray[np.int64]":
        """The ids of all, cluster by cluster."""
        import numpy as np

        lists = self._index.invlists
        sizes = [(number, lists.list_size(number)) for number in range(self._index.nlist)]
        held = [
            self._faiss.rev_swig_ptr(lists.get_ids(number), size).copy()
            for number, size in sizes
            if size
        ]
        return np.concatenate(held) if held else np.empty(0, dtype=np.int64)

    def sample(self, places: "NDArray[np.int64]") -> "Vectors":
        """The vectors at some places of `ids()`."""
        with self._ways():
            return self._index.reconstruct_batch(self.ids()[places])

    def parts(self, size: int) -> Iterator[Rows]:
        """All that it holds, so many at a time, as exact as 8 bits a number are."""
        ids = self.ids()
        with self._ways():
            for start in range(0, len(ids), size):
                part = ids[start : start + size]
                yield Rows(part, self._index.reconstruct_batch(part))

    @contextmanager
    def _ways(self) -> Generator[None]:
        """Keep a table from ids to vectors; while there is one, nothing can be removed."""
        self._index.set_direct_map_type(self._faiss.DirectMap.Hashtable)
        try:
            yield
        finally:
            self._index.set_direct_map_type(self._faiss.DirectMap.NoMap)

"""Which kind of FAISS index suits how many vectors.

Up to 100,000 vectors, whole ones compared one by one: exact, 1.5 kB a vector of 384 numbers. From
there on the same in half precision, which halves memory and changes products by 0.0001. Above
500,000 an inverted file with 8 bits a number: a search looks into the clusters nearest to the
query only. HNSW is none of them: it can't remove.
"""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, TypeAlias

import faiss
import numpy as np
from numpy.typing import NDArray

from servers.rag.ports import Vectors
from servers.rag.vectors.store import Rows

KindName: TypeAlias = Literal["flat", "fp16", "ivf-sq8"]

FLAT_MAX = 100_000
FP16_MAX = 500_000
CLUSTERS_SEARCHED = 64
"""A sixteenth of a million vectors. 32 found all of the ten nearest of 200,000 vectors that lie in
fields, topics and documents, but 0.63 of those of a million with little in common but noise; see
tests/benchmarks/vectors.py."""

TRAINING_VECTORS_A_CLUSTER = 64
"""FAISS asks for 39 at least; more move the centres little and cost in proportion."""

SHRINK_SHARE = 0.8
"""An index goes back to a smaller kind below this share of the limit: not at every file."""

OUTGROWN_TIMES = 4
"""An inverted file is trained anew when it holds this many times what it was trained for."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How many vectors the two smaller kinds hold at most, and how far the largest kind looks."""

    flat: int = FLAT_MAX
    fp16: int = FP16_MAX
    clusters_searched: int = CLUSTERS_SEARCHED


DEFAULT_LIMITS = Limits()


def suitable_kind(count: int, now: KindName, limits: Limits) -> KindName:
    """The kind for so many vectors, given what there is now."""
    wanted = _kind_for(count, limits)
    if _ORDER[wanted] >= _ORDER[now]:
        return wanted
    # Going back: as if there were somewhat more, so that a count near a limit doesn't sway.
    return min(now, _kind_for(int(count / SHRINK_SHARE) + 1, limits), key=lambda k: _ORDER[k])


def cluster_count(count: int) -> int:
    """How many clusters an inverted file has that is made when there are so many vectors.

    A power of 2 near the root of twice as many, since it is made while the index grows: 1,024 from
    half a million on. More would make a search a little quicker, but training and adding cost in
    proportion to it, at each start.
    """
    return 1 << ((2 * count).bit_length() // 2)


_ORDER: dict[KindName, int] = {"flat": 0, "fp16": 1, "ivf-sq8": 2}


def _kind_for(count: int, limits: Limits) -> KindName:
    if count <= limits.flat:
        return "flat"
    return "fp16" if count <= limits.fp16 else "ivf-sq8"


class RowsInFaiss:
    """One of the two smaller kinds. Not thread-safe: `FaissIndex` sees to that."""

    def __init__(self, kind: KindName, dimension: int) -> None:
        self.kind: KindName = kind
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

    def remove(self, ids: NDArray[np.int64]) -> None:
        """Forget those of them that it holds."""
        self._index.remove_ids(faiss.IDSelectorBatch(ids))

    def search(
        self, query: Vectors, count: int, among: NDArray[np.int64] | None
    ) -> tuple[Vectors, NDArray[np.int64]]:
        """Products and ids, shape (1, count); id -1 where there is none."""
        if among is None:
            return self._index.search(query, count)
        chosen = faiss.IDSelectorBatch(among)
        return self._index.search(query, count, params=faiss.SearchParameters(sel=chosen))

    def ids(self) -> NDArray[np.int64]:
        """The ids of all, in their order."""
        return faiss.vector_to_array(self._index.id_map)

    def sample(self, places: NDArray[np.int64]) -> Vectors:
        """The vectors at some places below its length."""
        return self._rows.reconstruct_batch(places)

    def parts(self, size: int) -> Iterator[Rows]:
        """All that it holds, so many at a time."""
        ids = self.ids()
        for start in range(0, len(ids), size):
            part = ids[start : start + size]
            yield Rows(part, self._rows.reconstruct_n(start, len(part)))


class ClustersInFaiss:
    """The kind for large indexes. Not thread-safe: `FaissIndex` sees to that.

    An inverted file as in J. Sivic, A. Zisserman, "Video Google" (ICCV 2003), with the cluster's
    centre taken off before a vector is shortened, as FAISS does it.
    """

    kind: KindName = "ivf-sq8"

    def __init__(self, training: Vectors, expected: int, searched: int) -> None:
        """Find the clusters for an expected number of vectors from some of them.

        `searched` is how many clusters a search looks into.
        """
        dimension = training.shape[1]
        clusters = min(cluster_count(expected), len(training))
        self._index = faiss.IndexIVFScalarQuantizer(
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

    def remove(self, ids: NDArray[np.int64]) -> None:
        """Forget those of them that it holds."""
        self._index.remove_ids(faiss.IDSelectorBatch(ids))

    def search(
        self, query: Vectors, count: int, among: NDArray[np.int64] | None
    ) -> tuple[Vectors, NDArray[np.int64]]:
        """Products and ids, shape (1, count); id -1 where there is none.

        Among given ids every cluster is looked into, which costs little: only they are compared.
        """
        if among is None:
            near = faiss.SearchParametersIVF(nprobe=self._searched)
        else:
            chosen = faiss.IDSelectorBatch(among)
            near = faiss.SearchParametersIVF(nprobe=self._index.nlist, sel=chosen)
        return self._index.search(query, count, params=near)

    def ids(self) -> NDArray[np.int64]:
        """The ids of all, cluster by cluster."""
        lists = self._index.invlists
        sizes = [(number, lists.list_size(number)) for number in range(self._index.nlist)]
        held = [
            faiss.rev_swig_ptr(lists.get_ids(number), size).copy() for number, size in sizes if size
        ]
        return np.concatenate(held) if held else np.empty(0, dtype=np.int64)

    def sample(self, places: NDArray[np.int64]) -> Vectors:
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
        self._index.set_direct_map_type(faiss.DirectMap.Hashtable)
        try:
            yield
        finally:
            self._index.set_direct_map_type(faiss.DirectMap.NoMap)

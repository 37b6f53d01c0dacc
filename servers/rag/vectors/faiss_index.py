"""Nearest vectors with FAISS, in this process's memory.

Up to 500,000 vectors they are compared one by one, in half precision: exact, for SQLite has them
so, and 100,000 of 384 numbers take 13 ms (33 ms in 32 bits, with twice the memory). Above that an
inverted file with 8 bits a number: a search looks into the clusters nearest to the query only.
HNSW is neither of them: it can't remove.
"""

import os
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, TypeAlias

import faiss
import numpy as np
from numpy.typing import NDArray

from servers.rag.ports import Vectors
from servers.rag.vectors.store import Rows, checked_query, checked_rows, ids_array

ROWS_MAX = 500_000
CLUSTERS_SEARCHED = 64
"""A sixteenth of a million vectors. 32 found all of the ten nearest of 200,000 vectors that lie in
fields, topics and documents, but 0.63 of those of a million with little in common but noise; see
tests/benchmarks/vectors.py."""

TRAINING_VECTORS_A_CLUSTER = 64
"""FAISS asks for 39 at least; more move the centres little and cost in proportion."""

SHRINK_SHARE = 0.8
"""Clusters are given up below this share of `ROWS_MAX`: not at every file."""

OUTGROWN_TIMES = 4
"""An inverted file is trained anew when it holds this many times what it was trained for."""

ROWS_AT_ONCE = 1024
"""What is added under the lock at once; in clusters that takes about 30 ms."""

ROWS_A_COPY = 8192
"""What is copied at once from one kind into another."""

SEARCH_THREADS = 1
"""OpenMP's bound holds for the thread that sets it, so each operation sets its own."""

BUILDING_THREADS = max(1, (os.cpu_count() or 1) // 2)
SAMPLE_SEED = 20031013


class RowsInFaiss:
    """The kind for most indexes. Not thread-safe: `FaissIndex` sees to that."""

    kind: Final = "fp16"

    def __init__(self, dimension: int) -> None:
        code = faiss.ScalarQuantizer.QT_fp16
        self._rows = faiss.IndexScalarQuantizer(dimension, code, faiss.METRIC_INNER_PRODUCT)
        self._index = faiss.IndexIDMap(self._rows)

    def __len__(self) -> int:
        """How many vectors it holds."""
        return self._index.ntotal

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

    kind: Final = "ivf-sq8"

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
        with self._found_by_id():
            return self._index.reconstruct_batch(self.ids()[places])

    def parts(self, size: int) -> Iterator[Rows]:
        """All that it holds, so many at a time, as exact as 8 bits a number are."""
        ids = self.ids()
        with self._found_by_id():
            for start in range(0, len(ids), size):
                part = ids[start : start + size]
                yield Rows(part, self._index.reconstruct_batch(part))

    @contextmanager
    def _found_by_id(self) -> Generator[None]:
        """Keep a table from ids to vectors; while there is one, nothing can be removed."""
        self._index.set_direct_map_type(faiss.DirectMap.Hashtable)
        try:
            yield
        finally:
            self._index.set_direct_map_type(faiss.DirectMap.NoMap)


Held: TypeAlias = RowsInFaiss | ClustersInFaiss


class FaissIndex:
    """A `VectorStore` that goes over to clusters, and back, by itself.

    Its methods may be called from several threads. A search waits at most for one batch that is
    added, or for a removal. Another kind is built aside, while searches go on in the old one; other
    changes wait that long.
    """

    def __init__(
        self,
        dimension: int,
        rows_max: int = ROWS_MAX,
        clusters_searched: int = CLUSTERS_SEARCHED,
        train: Callable[[Vectors, int, int], ClustersInFaiss] = ClustersInFaiss,
    ) -> None:
        """Hold nothing; more than `rows_max` vectors are put into clusters, which `train` makes."""
        self._dimension = dimension
        self._rows_max = rows_max
        self._clusters_searched = clusters_searched
        self._train = train
        self._changing = threading.Lock()
        self._using = FairLock()
        self._held: Held = RowsInFaiss(dimension)
        self._highest = -1

    @property
    def description(self) -> str:
        """`faiss, fp16`, or the other kind."""
        return f"faiss, {self._held.kind}"

    def __len__(self) -> int:
        """How many vectors it holds."""
        with self._using:
            return len(self._held)

    def add(self, chunk_ids: Sequence[int], vectors: Vectors) -> None:
        """Take up vectors; an id that is known gets its new one.

        Raises:
            VectorsRefused: they don't fit; nothing was taken up.
        """
        rows = checked_rows(chunk_ids, vectors, self._dimension)
        with self._changing:
            faiss.omp_set_num_threads(BUILDING_THREADS)
            for start in range(0, len(rows), ROWS_AT_ONCE):
                self._put(rows.part(start, ROWS_AT_ONCE))

    def remove(self, chunk_ids: Sequence[int]) -> None:
        """Forget vectors; unknown ids don't matter."""
        ids = ids_array(chunk_ids)
        if len(ids):
            with self._changing:
                faiss.omp_set_num_threads(BUILDING_THREADS)
                with self._using:
                    self._held.remove(ids)

    def search(
        self, query: Vectors, count: int, among: Sequence[int] | None = None
    ) -> list[tuple[int, float]]:
        """The nearest chunk ids with their cosine, best first; equals by id.

        Up to 500,000 vectors the nearest are found for certain, above that nearly always. Cosines
        are exact to about 0.0001 in half precision and 0.001 in 8 bits.

        Raises:
            VectorsRefused: the query doesn't fit.
        """
        row = checked_query(query, self._dimension)
        chosen = None if among is None else ids_array(among)
        most = count if chosen is None else min(count, len(chosen))
        with self._using:
            most = min(most, len(self._held))
            if most < 1:
                return []
            faiss.omp_set_num_threads(SEARCH_THREADS)
            products, ids = self._held.search(row, most, chosen)
        pairs = zip(ids[0].tolist(), products[0].tolist(), strict=True)
        found = [(chunk_id, cosine) for chunk_id, cosine in pairs if chunk_id >= 0]
        return sorted(found, key=lambda pair: (-pair[1], pair[0]))

    def settle(self) -> None:
        """Go over to the other kind if it is due; a search is kept out for the swap only."""
        with self._changing:
            faiss.omp_set_num_threads(BUILDING_THREADS)
            new = self._other_kind()
            if new is None:
                return
            for part in self._held.parts(ROWS_A_COPY):
                new.add(part)
            with self._using:
                self._held = new

    def chunk_ids(self) -> NDArray[np.int64]:
        """The ids of all that it holds, shape (n,)."""
        with self._using:
            return self._held.ids()

    def close(self) -> None:
        """Forget everything."""
        with self._changing, self._using:
            self._held = RowsInFaiss(self._dimension)
            self._highest = -1

    def _put(self, rows: Rows) -> None:
        """Add rows; only ids that may be known are looked for, which costs a walk over all."""
        known = rows.ids[rows.ids <= self._highest]
        with self._using:
            if len(known):
                self._held.remove(known)
            self._held.add(rows)
        self._highest = max(self._highest, int(rows.ids.max()))

    def _other_kind(self) -> Held | None:
        """Where what is held should lie from now on, still empty; None if it lies well."""
        old = self._held
        if isinstance(old, ClustersInFaiss):
            if len(old) <= SHRINK_SHARE * self._rows_max:
                return RowsInFaiss(self._dimension)
            return self._trained(old) if old.outgrown else None
        return self._trained(old) if len(old) > self._rows_max else None

    def _trained(self, old: Held) -> ClustersInFaiss:
        """Empty clusters for what is held now, found from a sample of it."""
        size = min(len(old), TRAINING_VECTORS_A_CLUSTER * cluster_count(len(old)))
        places = np.random.default_rng(SAMPLE_SEED).choice(len(old), size, replace=False)
        return self._train(old.sample(np.sort(places)), len(old), self._clusters_searched)


class FairLock:
    """Keeps one that takes the lock again and again from starving another that waits for it.

    `threading.Lock` goes to whoever asks first after it was released, and that is mostly the
    thread that held it. Here one who waits holds the turnstile already, so that the holder finds
    it taken when it comes back.
    """

    def __init__(self) -> None:
        self._turnstile = threading.Lock()
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        """Wait for one's turn."""
        with self._turnstile:
            self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        """Leave it to the next."""
        self._lock.release()


def cluster_count(count: int) -> int:
    """How many clusters an inverted file has that is made when there are so many vectors.

    A power of 2 near the root of twice as many, since it is made while the index grows: 1,024 from
    half a million on. More would make a search a little quicker, but training and adding cost in
    proportion to it, at each start.
    """
    return 1 << ((2 * count).bit_length() // 2)

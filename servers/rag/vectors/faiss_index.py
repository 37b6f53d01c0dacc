"""Nearest vectors with FAISS, in this process's memory."""

import os
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import TypeAlias

import faiss
import numpy as np
from numpy.typing import NDArray

from servers.rag.ports import Vectors
from servers.rag.vectors.faiss_kinds import (
    DEFAULT_LIMITS,
    TRAINING_VECTORS_A_CLUSTER,
    ClustersInFaiss,
    KindName,
    Limits,
    RowsInFaiss,
    cluster_count,
    suitable_kind,
)
from servers.rag.vectors.store import Rows, checked_query, checked_rows, ids_array

Held: TypeAlias = RowsInFaiss | ClustersInFaiss

ROWS_A_TURN = 1024
"""What is added under the lock at once; in clusters that takes about 30 ms."""

ROWS_A_COPY = 8192
"""What is copied at once from one kind into another."""

SEARCH_THREADS = 1
"""OpenMP's bound holds for the thread that sets it, so each operation sets its own."""

BUILDING_THREADS = max(1, (os.cpu_count() or 1) // 2)
SAMPLE_SEED = 20031013


class FaissIndex:
    """A `VectorStore` that grows and shrinks between the kinds of `faiss_kinds` by itself.

    Its methods may be called from several threads. A search waits at most for one batch that is
    added, or for a removal. When another kind is due, whoever changes the index builds it aside,
    while searches go on in the old one; other changes wait that long.
    """

    def __init__(
        self,
        dimension: int,
        limits: Limits = DEFAULT_LIMITS,
        make_rows: Callable[[KindName, int], RowsInFaiss] = RowsInFaiss,
    ) -> None:
        """Hold nothing; `make_rows` makes the smaller kinds, by name and dimension."""
        self._dimension = dimension
        self._limits = limits
        self._make_rows = make_rows
        self._changing = threading.Lock()
        self._using = FairLock()
        self._held: Held = make_rows("flat", dimension)
        self._highest = -1
        self._filling = False

    @property
    def description(self) -> str:
        """`faiss, flat`, or another kind."""
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
            for start in range(0, len(rows), ROWS_A_TURN):
                self._put(rows.part(start, ROWS_A_TURN))
                self._suit()

    def remove(self, chunk_ids: Sequence[int]) -> None:
        """Forget vectors; unknown ids don't matter."""
        ids = ids_array(chunk_ids)
        if not len(ids):
            return
        with self._changing:
            faiss.omp_set_num_threads(BUILDING_THREADS)
            with self._using:
                self._held.remove(ids)
            self._suit()

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

    @contextmanager
    def filling(self) -> Generator[None]:
        """While it is filled, it grows to half precision at most, which takes no time."""
        self._filling = True
        try:
            yield
        finally:
            self._filling = False

    def settle(self) -> None:
        """Go over to clusters if there are so many vectors; searches go on meanwhile."""
        with self._changing:
            faiss.omp_set_num_threads(BUILDING_THREADS)
            self._suit()

    def chunk_ids(self) -> NDArray[np.int64]:
        """The ids of all that it holds, shape (n,)."""
        with self._using:
            return self._held.ids()

    def close(self) -> None:
        """Forget everything."""
        with self._changing, self._using:
            self._held = self._make_rows("flat", self._dimension)
            self._highest = -1

    def _put(self, rows: Rows) -> None:
        """Add rows; only ids that may be known are looked for, which costs a walk over all."""
        known = rows.ids[rows.ids <= self._highest]
        with self._using:
            if len(known):
                self._held.remove(known)
            self._held.add(rows)
        self._highest = max(self._highest, int(rows.ids.max()))

    def _suit(self) -> None:
        """Go over to another kind when one is due; a search is kept out for the swap only."""
        old = self._held
        kind = suitable_kind(len(old), old.kind, self._limits)
        if self._filling and kind == "ivf-sq8":
            kind = old.kind if old.kind == "ivf-sq8" else "fp16"
        outgrown = old.outgrown and not self._filling
        if kind == old.kind and not outgrown:
            return
        new = self._trained(old) if kind == "ivf-sq8" else self._make_rows(kind, self._dimension)
        for part in old.parts(ROWS_A_COPY):
            new.add(part)
        with self._using:
            self._held = new

    def _trained(self, old: Held) -> ClustersInFaiss:
        """Empty clusters for what is held now, found from a sample of it."""
        size = min(len(old), TRAINING_VECTORS_A_CLUSTER * cluster_count(len(old)))
        places = np.random.default_rng(SAMPLE_SEED).choice(len(old), size, replace=False)
        training = old.sample(np.sort(places))
        return ClustersInFaiss(training, len(old), self._limits.clusters_searched)


class FairLock:
    """Keeps one that takes the lock again and again from starving another that waits for it.

    `threading.Lock` goes to whoever asks first after it was released, and that is mostly the
    thread that held it. Here one who waits already stands at the door, so that the holder finds
    the door taken when it comes back.
    """

    def __init__(self) -> None:
        self._door = threading.Lock()
        self._room = threading.Lock()

    def __enter__(self) -> None:
        """Wait for one's turn."""
        with self._door:
            self._room.acquire()

    def __exit__(self, *_: object) -> None:
        """Leave it to the next."""
        self._room.release()

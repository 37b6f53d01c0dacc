"""The reference: a dictionary of vectors, and every product computed."""

from collections.abc import Sequence
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from servers.rag.vectors.store import checked_query, checked_rows


class ExactIndex:
    """A `VectorStore` with nothing to speed it up."""

    description = "exact"

    def __init__(self, dimension: int) -> None:
        self._dimension = dimension
        self._rows: dict[int, NDArray[np.float32]] = {}
        self._using = Lock()

    def __len__(self) -> int:
        """How many vectors it holds."""
        return len(self._rows)

    def add(self, chunk_ids: Sequence[int], vectors: NDArray[np.float32]) -> None:
        rows = checked_rows(chunk_ids, vectors, self._dimension)
        with self._using:
            self._rows.update(zip(rows.ids.tolist(), rows.vectors, strict=True))

    def remove(self, chunk_ids: Sequence[int]) -> None:
        with self._using:
            for chunk_id in chunk_ids:
                self._rows.pop(chunk_id, None)

    def search(
        self, query: NDArray[np.float32], count: int, among: Sequence[int] | None = None
    ) -> list[tuple[int, float]]:
        row = checked_query(query, self._dimension)[0]
        with self._using:
            ids = self._rows.keys() if among is None else self._rows.keys() & set(among)
            products = [(chunk_id, float(self._rows[chunk_id] @ row)) for chunk_id in ids]
        return sorted(products, key=lambda pair: (-pair[1], pair[0]))[: max(0, count)]

    def settle(self) -> None:
        pass

    def chunk_ids(self) -> NDArray[np.int64]:
        with self._using:
            return np.array(sorted(self._rows), dtype=np.int64)

    def close(self) -> None:
        self._rows.clear()

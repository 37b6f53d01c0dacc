"""Nearest vectors with Milvus: Milvus Lite in this process, or a server or cluster.

What one machine's memory no longer holds goes there.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from servers.rag.vectors.checking import checked_query, checked_rows, ids_array
from servers.rag.vectors.milvus_address import Address
from servers.rag.vectors.milvus_failures import Failures
from servers.rag.vectors.milvus_types import Client, Hit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from servers.rag.ports import Vectors

SEARCH_TIMEOUT_SECONDS = 10.0
CHANGE_TIMEOUT_SECONDS = 60.0

ROWS_A_CALL = 1000
"""At 3,072 numbers a vector these are 12 MB; a server takes 64 MB in a message."""

IDS_A_CALL = 10_000
"""How many ids one filter names."""

LIMIT_MAX = 16_384
"""What Milvus gives at most for one search, and in one part of a listing."""

FLUSHED_ROWS = 1000
"""Milvus Lite searches what was not flushed slowly (5,000 rows: 0.8 s); a server sees to itself."""

NEAREST = {"metric_type": "IP"}
OWN_WRITES = "Session"
"""A search sees what this process wrote; all others' writes it sees a little later."""

ALL_WRITES = "Strong"


class MilvusIndex:
    """A `VectorStore` in one collection. Its methods may be called from several threads.

    Every call is bounded in time and raises `VectorsUnavailable` when Milvus fails.
    """

    def __init__(
        self, client: Client, address: Address, collection: str, dimension: int, failures: Failures
    ) -> None:
        self._client = client
        self._address = address
        self._collection = collection
        self._dimension = dimension
        self._failures = failures
        self._unflushed = 0
        with failures.told_plainly():
            self._have_collection()

    @property
    def description(self) -> str:
        """`milvus at HOST:PORT`, or a file's name."""
        return f"milvus at {self._address.told}"

    def __len__(self) -> int:
        """How many vectors it holds."""
        with self._failures.told_plainly():
            rows = self._client.query(
                self._collection,
                filter="",
                output_fields=["count(*)"],
                consistency_level=ALL_WRITES,
                timeout=SEARCH_TIMEOUT_SECONDS,
            )
        return int(rows[0]["count(*)"])

    def add(self, chunk_ids: Sequence[int], vectors: "Vectors") -> None:
        """Take up vectors; an id that is known gets its new one.

        Raises:
            VectorsRefused: they don't fit; nothing was taken up.
        """
        rows = checked_rows(chunk_ids, vectors, self._dimension)
        for start in range(0, len(rows), ROWS_A_CALL):
            part = rows.part(start, ROWS_A_CALL)
            pairs = zip(part.ids.tolist(), part.vectors, strict=True)
            with self._failures.told_plainly():
                self._client.upsert(
                    self._collection,
                    [{"id": chunk_id, "vector": vector} for chunk_id, vector in pairs],
                    timeout=CHANGE_TIMEOUT_SECONDS,
                )
            self._written(len(part))

    def remove(self, chunk_ids: Sequence[int]) -> None:
        """Forget vectors; unknown ids don't matter."""
        for part in _parts(ids_array(chunk_ids).tolist(), IDS_A_CALL):
            with self._failures.told_plainly():
                self._client.delete(self._collection, ids=part, timeout=CHANGE_TIMEOUT_SECONDS)

    def search(
        self, query: "Vectors", count: int, among: Sequence[int] | None = None
    ) -> list[tuple[int, float]]:
        """The nearest chunk ids with their cosine, best first; at most 16,384.

        Raises:
            VectorsRefused: the query doesn't fit.
        """
        row = checked_query(query, self._dimension)
        limit = min(count, LIMIT_MAX)
        if limit < 1:
            return []
        filters = [""] if among is None else _filters(ids_array(among).tolist())
        hits = [hit for wanted in filters for hit in self._hits(row, limit, wanted)]
        found = [(int(hit["id"]), float(hit["distance"])) for hit in hits]
        return sorted(found, key=lambda pair: (-pair[1], pair[0]))[:limit]

    def filling(self) -> AbstractContextManager[None]:
        """Nothing is put off: Milvus builds by itself."""
        return nullcontext()

    def settle(self) -> None:
        """Nothing was put off."""

    def chunk_ids(self) -> "NDArray[np.int64]":
        """The ids of all that it holds, shape (n,)."""
        with self._failures.told_plainly():
            listing = self._client.query_iterator(
                self._collection,
                batch_size=LIMIT_MAX,
                output_fields=["id"],
                consistency_level=ALL_WRITES,
                timeout=CHANGE_TIMEOUT_SECONDS,
            )
            ids: list[int] = []
            while rows := listing.next():
                ids += [row["id"] for row in rows]
            listing.close()
        return ids_array(ids)

    def close(self) -> None:
        """End the connection; what was written stays."""
        self._client.close()

    def _have_collection(self) -> None:
        name, timeout = self._collection, CHANGE_TIMEOUT_SECONDS
        if self._client.has_collection(name, timeout=timeout):
            self._client.load_collection(name, timeout=timeout)
            return
        self._client.create_collection(
            name,
            dimension=self._dimension,
            primary_field_name="id",
            id_type="int",
            vector_field_name="vector",
            metric_type=NEAREST["metric_type"],
            auto_id=False,
            enable_dynamic_field=False,
            consistency_level=OWN_WRITES,
            timeout=timeout,
        )

    def _hits(self, row: "Vectors", limit: int, wanted: str) -> Sequence[Hit]:
        with self._failures.told_plainly():
            return self._client.search(
                self._collection,
                data=[row[0]],
                filter=wanted,
                limit=limit,
                output_fields=["id"],
                search_params=NEAREST,
                consistency_level=OWN_WRITES,
                timeout=SEARCH_TIMEOUT_SECONDS,
            )[0]

    def _written(self, rows: int) -> None:
        """Have Milvus Lite index what was written, every now and then."""
        self._unflushed += rows
        if self._address.is_file and self._unflushed >= FLUSHED_ROWS:
            self._unflushed = 0
            with self._failures.told_plainly():
                self._client.flush(self._collection, timeout=CHANGE_TIMEOUT_SECONDS)


def _filters(ids: list[int]) -> Iterator[str]:
    """What bounds a search to these ids; whole numbers only, so nothing else gets in."""
    for part in _parts(ids, IDS_A_CALL):
        yield f"id in [{','.join(map(str, part))}]"


def _parts(ids: list[int], size: int) -> Iterator[list[int]]:
    for start in range(0, len(ids), size):
        yield ids[start : start + size]

"""Gives vectors to the chunks that have none yet: new ones, and those that an end left over."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from servers.rag.ports import Embedder

if TYPE_CHECKING:
    from servers.rag.ports import Vectors

BATCH_CHUNKS = 32
"""Chunks embedded and written at a time: about a second's work, so that an end is quick, and a
text that is slower than the others keeps the other cores waiting seldom."""


class ChunkStore(Protocol):
    """What this needs of the index."""

    def chunks_without_vectors(self, limit: int) -> Sequence[tuple[int, str]]:
        """Ids and texts of some chunks without a vector."""
        ...

    def set_vectors(self, chunk_ids: Sequence[int], vectors: "Vectors") -> None:
        """Write vectors, in one transaction; a chunk that is gone by now is passed over."""
        ...


class VectorFiller:
    """Embeds what is left over, batch by batch."""

    def __init__(
        self,
        store: ChunkStore,
        embedder: Embedder,
        on_batch: Callable[[], None],
        is_cancelled: Callable[[], bool],
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._on_batch = on_batch
        self._is_cancelled = is_cancelled

    def fill(self) -> int:
        """Embed until nothing is left, or until cancelled; gives how many got their vector.

        `on_batch` is called after each batch that was written.

        Raises:
            EmbedderUnavailable: the rest is done by a later call.
            IndexUnusable: the disk is full, for example; nothing written is lost.
        """
        filled = 0
        while not self._is_cancelled():
            batch = self._store.chunks_without_vectors(BATCH_CHUNKS)
            if not batch:
                break
            ids = [chunk_id for chunk_id, _ in batch]
            vectors = self._embedder.embed_passages([text for _, text in batch])
            if self._is_cancelled():
                break
            self._store.set_vectors(ids, vectors)
            filled += len(ids)
            self._on_batch()
        return filled

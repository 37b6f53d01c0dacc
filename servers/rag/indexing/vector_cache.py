"""Keeps this process' index of nearest vectors in step with SQLite, whoever writes there.

Loading many vectors takes seconds, so it happens in the background; a search waits for it a little,
and goes by words then. Afterwards the same few lines take up what this process wrote and what
another one did.
"""

import threading
from collections.abc import Callable

from servers.rag.errors import RagError
from servers.rag.index.index import Index
from servers.rag.passages import VectorChanges
from servers.rag.vectors.store import VectorStore, fill

BATCH_CHUNKS = 4_096


class VectorCache:
    """Loads the vectors at the first `step`, and follows the index from then on.

    `open_store` makes an empty store, or opens one that outlives the process; it is given a text
    that tells whose vectors those are. Steps are for one thread; `store` is for all.
    """

    def __init__(self, index: Index, open_store: Callable[[str], VectorStore]) -> None:
        self._index = index
        self._open_store = open_store
        self._store: VectorStore | None = None
        self._identity = ""
        self._seen = 0
        self._failure = ""
        self._moved = threading.Condition()

    @property
    def failure(self) -> str:
        """Why the last step failed; empty if it did not."""
        return self._failure

    @property
    def store(self) -> VectorStore | None:
        """The vectors; None until they are loaded."""
        return self._store

    def wait(self, seconds: float) -> None:
        """Wait until all vectors that are in the index now can be searched, or a step fails.

        Raises:
            IndexUnusable: the index can't be read.
        """
        counter = self._index.counter

        def is_over() -> bool:
            return bool(self._failure) or (self._store is not None and self._seen >= counter)

        with self._moved:
            self._moved.wait_for(is_over, seconds)

    def step(self) -> None:
        """Load, or catch up.

        Raises:
            VectorsUnavailable: the store can't be reached now.
            IndexUnusable: the index can't be read.
        """
        try:
            self._follow()
        except RagError as error:
            self._tell(str(error))
            raise
        self._tell("")
        if self._store is not None:
            self._store.settle()  # searches are answered meanwhile, by the simpler kind

    def _follow(self) -> None:
        if self._store is None:
            self._load()
            return
        changes = self._index.changes_since(self._seen)
        if changes.complete:
            self._take(self._store, changes)
            self._seen = changes.counter
        elif changes.counter != self._seen or self._index.identity != self._identity:
            # Ids may mean other chunks now: nothing is better than something wrong.
            self.close()
            self._load()

    def close(self) -> None:
        """Release the store."""
        store, self._store = self._store, None
        if store is not None:
            store.close()

    def _load(self) -> None:
        seen, identity = self._index.counter, self._index.identity
        store = self._open_store(identity)
        try:
            fill(store, self._index.all_vectors())
            changes = self._index.changes_since(seen)
            self._take(store, changes)
        except BaseException:
            store.close()
            raise
        self._seen, self._identity, self._store = changes.counter, identity, store

    def _tell(self, failure: str) -> None:
        """Wake those who wait: something has moved, or can't."""
        with self._moved:
            self._failure = failure
            self._moved.notify_all()

    def _take(self, store: VectorStore, changes: VectorChanges) -> None:
        """Take up what changed, some at a time."""
        if changes.removed:
            store.remove(changes.removed)
        for start in range(0, len(changes.changed), BATCH_CHUNKS):
            ids, vectors = self._index.vectors(changes.changed[start : start + BATCH_CHUNKS])
            if ids:
                store.add(ids, vectors)

"""Which process writes to an index, and what it does first."""

import threading

from servers.rag.faults import IndexUnusable
from servers.rag.index import Index, IndexLock


class WriterRole:
    """The right to write, taken when it is free; threads may ask for it at the same time."""

    def __init__(self, index: Index, lock: IndexLock) -> None:
        self._index = index
        self._lock = lock
        self._taking = threading.Lock()

    @property
    def held(self) -> bool:
        """Whether this process writes."""
        return self._lock.held

    @property
    def other_holder(self) -> int | None:
        """The process that writes, or did last, if it isn't this one."""
        return self._lock.holder

    def take(self) -> bool:
        """Become the writer if no other process is; at once.

        Raises:
            IndexUnusable: the index can't be written.
        """
        with self._taking:
            if self._lock.held:
                return True
            if not self._lock.acquire():
                return False
            try:
                self._index.begin_writing()
            except BaseException:
                self._lock.release()
                raise
            return True

    def require(self) -> None:
        """Become the writer.

        Raises:
            IndexUnusable: another process is; the message tells which.
        """
        if not self.take():
            raise IndexUnusable(
                f"another process ({self.other_holder or 'of unknown number'}) keeps this index up "
                "to date, an agent or `docs watch`: it takes up changed files by itself; for more "
                "than that, end it first"
            )

    def release(self) -> None:
        """Let another process write."""
        with self._taking:
            self._lock.release()

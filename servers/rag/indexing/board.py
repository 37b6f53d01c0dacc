"""How far the indexer is, put together from its threads."""

import threading
import time
from collections.abc import Callable
from dataclasses import replace

from servers.rag.index import Index
from servers.rag.indexing.progress import IndexEvent, IndexProgress, OnEvent

COUNTED_EVERY_SECONDS = 0.25


class ProgressBoard:
    """Counts files and chunks, and tells each step to one listener, one call at a time.

    Without `has_vectors` the chunks count as done when they are written.
    """

    def __init__(
        self,
        index: Index,
        on_event: OnEvent,
        *,
        has_vectors: bool,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._index = index
        self._on_event = on_event
        self._has_vectors = has_vectors
        self._now = now
        self._counted_at = -COUNTED_EVERY_SECONDS
        self._lock = threading.RLock()
        self._progress = IndexProgress(0, 0, 0, 0)

    @property
    def progress(self) -> IndexProgress:
        """How far it is."""
        return self._progress

    def files_begin(self, total: int) -> None:
        """A run begins that reads so many files."""
        with self._lock:
            self._set(replace(self._progress, files_done=0, files_total=total))

    def file_done(self, file: str) -> None:
        """One more was read."""
        with self._lock:
            files_done = min(self._progress.files_done + 1, self._progress.files_total)
            self._set(replace(self._progress, files_done=files_done, file=file))
        if self._now() - self._counted_at >= COUNTED_EVERY_SECONDS:
            self.count()

    def count(self) -> None:
        """Ask the index how many chunks it has, and how many lack a vector."""
        counts = self._index.counts()
        lacking = counts.chunks_without_vectors if self._has_vectors else 0
        with self._lock:
            self._counted_at = self._now()
            self._set(
                replace(
                    self._progress, chunks_done=counts.chunks - lacking, chunks_total=counts.chunks
                )
            )

    def tell(self, event: IndexEvent) -> None:
        """Pass on something else."""
        with self._lock:
            self._on_event(event)

    def _set(self, progress: IndexProgress) -> None:
        if progress != self._progress:
            self._progress = progress
            self._on_event(progress)

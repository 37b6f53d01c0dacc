"""What the indexer tells while it works, put together from its threads."""

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from core.base.frozen import frozen
from servers.rag.passages import DocumentStatus, IndexCounts


@frozen
class IndexProgress:
    """How far it is: files of this run read, and chunks of the whole index with a vector.

    `file` is the one last worked at.
    """

    files_done: int
    files_total: int
    chunks_done: int
    chunks_total: int
    file: str = ""


@frozen
class FileNoted:
    """A file that is not, or not wholly, searchable, and why."""

    file: str
    status: DocumentStatus
    note: str


@frozen
class IndexNoted:
    """One line on the index as a whole: an embedder that is down, a full disk."""

    note: str


@frozen
class SyncReport:
    """What one comparison of folders and index came to.

    `failed` files hold nothing that can be read, `skipped` ones are not looked into, `unsettled`
    ones changed while they were read or could not be opened, and are looked at again by the next
    run. `complete` is False where it was cancelled.
    """

    added: int = 0
    changed: int = 0
    renamed: int = 0
    removed: int = 0
    unchanged: int = 0
    failed: int = 0
    skipped: int = 0
    unsettled: int = 0
    complete: bool = True


IndexEvent: TypeAlias = IndexProgress | FileNoted | IndexNoted | SyncReport
OnEvent: TypeAlias = Callable[[IndexEvent], None]
"""Called from the indexer's threads, one call at a time; must be quick and must not raise."""


COUNTED_EVERY_SECONDS = 0.25


class ProgressCounter:
    """Counts files and chunks, and tells each step to one listener, one call at a time.

    Without `has_vectors` the chunks count as done when they are written.
    """

    def __init__(
        self,
        read_counts: Callable[[], IndexCounts],
        on_event: OnEvent,
        *,
        has_vectors: bool,
    ) -> None:
        self._read_counts = read_counts
        self._on_event = on_event
        self.has_vectors = has_vectors
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
        if time.monotonic() - self._counted_at >= COUNTED_EVERY_SECONDS:
            self.count()

    def count(self) -> None:
        """Ask the index how many chunks it has, and how many lack a vector."""
        counts = self._read_counts()
        lacking = counts.chunks_without_vectors if self.has_vectors else 0
        with self._lock:
            self._counted_at = time.monotonic()
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

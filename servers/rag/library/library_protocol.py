"""What tools and commands ask of a library of documents."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from core.base.frozen import frozen
from servers.rag.indexing.progress import IndexProgress, SyncReport
from servers.rag.passages import DocumentEntry, IndexCounts, SearchMode, SearchResult
from servers.reading.source import Extracted


@frozen
class LibraryStatus:
    """How it stands.

    `embedder` and `vectors` say what finds by meaning; empty if nothing does, or not yet.
    `writer_process` keeps the index up to date, or would if asked to: this one, unless another
    does already; None if that one's number can't be read. `notes` are lines on what
    doesn't work, or was done otherwise than expected.
    """

    counts: IndexCounts
    embedder: str
    vectors: str
    writer_process: int | None
    notes: tuple[str, ...]


class Library(Protocol):
    """What is asked of the documents; every method may block, and be called from any thread."""

    @property
    def progress(self) -> IndexProgress | None:
        """How far indexing is; None while nothing is to be done."""
        ...

    @property
    def has_compared(self) -> bool:
        """Whether the folders have been looked through since it was opened."""
        ...

    def start(self) -> None:
        """Begin to index, and to watch where that is wanted, in the background."""
        ...

    def search(
        self, query: str, top_k: int = 5, file: str | None = None, mode: SearchMode = "hybrid"
    ) -> SearchResult:
        """The passages that fit best."""
        ...

    def documents(self) -> list[DocumentEntry]:
        """All files that the index knows."""
        ...

    def text(self, file: str) -> str | None:
        """A document as markdown; None if there is none of that name."""
        ...

    def extract(self, path: Path) -> Extracted:
        """The text of a file, read now.

        Raises:
            ExtractionError: it can't be read.
        """
        ...

    def failures(self) -> Sequence[str]:
        """What doesn't work at the moment, a line each."""
        ...

    def sync(self, *, embed: bool = True) -> SyncReport:
        """Bring the index up to date, with its vectors if `embed`, while the caller waits."""
        ...

    def reindex(self) -> SyncReport:
        """Read every document anew."""
        ...

    def status(self) -> LibraryStatus:
        """How it stands."""
        ...

    def close(self) -> None:
        """End what runs; bounded in time."""
        ...

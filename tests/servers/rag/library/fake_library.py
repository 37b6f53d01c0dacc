"""A library of a few documents in memory, for what asks one."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from servers.rag.errors import RagError
from servers.rag.indexing.progress import IndexProgress, SyncReport
from servers.rag.library.library_protocol import LibraryStatus
from servers.rag.passages import DocumentEntry, IndexCounts, Passage, SearchMode, SearchResult
from servers.reading.source import Extracted, ExtractionError

DONE = IndexProgress(2, 2, 5, 5, "b.md")


def passage(text: str, file: str = "garden.md", **changes: object) -> Passage:
    fields: dict[str, object] = {
        "chunk_id": 12,
        "score": 0.831,
        "cosine": 0.5,
        "line": 3,
        "page": None,
        "headings": ("Garden", "Watering"),
    }
    return Passage(file=file, text=text, **{**fields, **changes})  # pyright: ignore[reportArgumentType] - a test double's defaults


def entry(file: str, path: str = "", **changes: object) -> DocumentEntry:
    fields: dict[str, object] = {
        "status": "indexed",
        "size_bytes": 2048,
        "modified_ns": 0,
        "chunks": 3,
    }
    return DocumentEntry(file=file, path=path or f"/docs/{file}", **{**fields, **changes})  # pyright: ignore[reportArgumentType] - as above


@dataclass
class FakeLibrary:
    """Says what it was told to say, and keeps what it was asked."""

    found: SearchResult = field(default_factory=lambda: SearchResult((passage("Water it."),)))
    texts: dict[str, str] = field(default_factory=dict[str, str])
    entries: list[DocumentEntry] = field(default_factory=list[DocumentEntry])
    later_entries: list[list[DocumentEntry]] = field(default_factory=list[list[DocumentEntry]])
    steps: list[IndexProgress | None] = field(default_factory=list[IndexProgress | None])
    broken: RagError | None = None
    has_compared: bool = True
    asked: list[tuple[str, int, str | None, SearchMode]] = field(
        default_factory=list[tuple[str, int, str | None, SearchMode]]
    )
    trouble: tuple[str, ...] = ()
    writer_process: int | None = None
    syncs: list[str] = field(default_factory=list[str])
    started: bool = False
    closed: bool = False

    @property
    def progress(self) -> IndexProgress | None:
        if len(self.steps) > 1:
            return self.steps.pop(0)
        return self.steps[0] if self.steps else None

    def start(self) -> None:
        self.started = True

    def search(
        self, query: str, top_k: int = 5, file: str | None = None, mode: SearchMode = "hybrid"
    ) -> SearchResult:
        self.asked.append((query, top_k, file, mode))
        if self.broken is not None:
            raise self.broken
        return self.found

    def documents(self) -> list[DocumentEntry]:
        return self.later_entries.pop(0) if self.later_entries else self.entries

    def text(self, file: str) -> str | None:
        return self.texts.get(file)

    def extract(self, path: Path) -> Extracted:
        if path.suffix == ".bad":
            raise ExtractionError(f"{path.name} is damaged")
        return Extracted(path.read_text(encoding="utf-8"), notes=("page 2 holds no text",))

    def failures(self) -> Sequence[str]:
        return self.trouble

    def sync(self, *, embed: bool = True) -> SyncReport:
        self.syncs.append("sync" if embed else "sync without vectors")
        return SyncReport()

    def reindex(self) -> SyncReport:
        self.syncs.append("reindex")
        return SyncReport()

    def status(self) -> LibraryStatus:
        counts = IndexCounts(documents=2, chunks=7, chunks_without_vectors=1)
        return LibraryStatus(counts, "minilm", "faiss", self.writer_process, ("slow disk",))

    def close(self) -> None:
        self.closed = True

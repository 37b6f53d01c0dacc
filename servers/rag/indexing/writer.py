"""What is written to the index, and which process writes it."""

import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from core.base.text import one_line
from servers.rag.errors import IndexUnusable
from servers.rag.folders.scan import FoundFile
from servers.rag.index import Index, IndexLock
from servers.rag.indexing.reading import DOUBTFUL_BY_NS, FileFailed, FileRead, Reading
from servers.rag.passages import Chunk, DocumentEntry, DocumentStatus
from servers.rag.ports import Embedder

if TYPE_CHECKING:
    from servers.rag.ports import Vectors

NOTE_CHARACTERS_MAX = 500
TITLE_CHARACTERS_MAX = 300

NO_TEXT = "it holds no text"


class DocumentWriter:
    """Writes documents, and gives back the entries that the index then has of them."""

    def __init__(self, index: Index) -> None:
        self._index = index

    def write(self, read: FileRead, chunks: Sequence[Chunk], cutting_note: str) -> DocumentEntry:
        """A document's text, found by words from now on; its new chunks have no vectors yet."""
        extracted = read.extracted
        status: DocumentStatus = "indexed" if chunks else "empty"
        notes = list(extracted.notes)
        if cutting_note:
            notes.append(cutting_note)
        if not chunks and not notes:
            notes.append(NO_TEXT)
        if not read.settled:
            notes.append(f"it was being written when it was read at {time.strftime('%H:%M:%S')}")
        entry = _entry(read.file, read.reading, status, "; ".join(notes), extracted.title)
        # Without a hash it is read once more, whatever its content is then.
        content_hash = read.reading.content_hash if read.settled else ""
        self._index.replace_document(entry, content_hash, extracted, chunks)
        return entry

    def failure(self, failed: FileFailed) -> DocumentEntry:
        """What `mark` would write."""
        return _entry(failed.file, failed.reading, "failed", failed.reason)

    def mark(self, entry: DocumentEntry, failed: FileFailed) -> None:
        """A file that can't be read, in the place of what it held before."""
        self._index.replace_document(
            entry, failed.reading.content_hash if failed.reading is not None else ""
        )

    def refuse(self, file: FoundFile) -> DocumentEntry:
        """A file that is not looked into."""
        entry = _entry(file, None, "skipped", file.refusal)
        self._index.replace_document(entry, "")
        return entry

    def touch(self, known: DocumentEntry, file: FoundFile, reading: Reading) -> None:
        """A file with other times, or in another place, and the content that it had."""
        modified_ns = reading.trusted_modified_ns
        if known.path != file.path:
            self._index.rename_document(file.file, file.file, file.path, modified_ns)
        else:
            self._index.touch_document(file.file, reading.size_bytes, modified_ns)

    def move(self, old: str, file: FoundFile, reading: Reading | None = None) -> None:
        """A document under another name, or in another place."""
        modified_ns = file.modified_ns if reading is None else reading.trusted_modified_ns
        self._index.rename_document(old, file.file, file.path, modified_ns)

    def remove(self, file: str) -> None:
        """A document whose file is gone."""
        self._index.remove_document(file)


def _entry(
    file: FoundFile, reading: Reading | None, status: DocumentStatus, note: str, title: str = ""
) -> DocumentEntry:
    """The entry of a file; one that could not be opened gets a time that can't be right."""
    return DocumentEntry(
        file=file.file,
        path=file.path,
        status=status,
        size_bytes=file.size_bytes if reading is None else reading.size_bytes,
        modified_ns=(
            file.modified_ns - DOUBTFUL_BY_NS if reading is None else reading.trusted_modified_ns
        ),
        chunks=0,
        title=one_line(title, TITLE_CHARACTERS_MAX),
        note=one_line(note, NOTE_CHARACTERS_MAX),
    )


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

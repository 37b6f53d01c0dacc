"""What the indexer writes of a file: one transaction each."""

import time
from collections.abc import Sequence

from core.base.text import one_line
from servers.rag.folders.scan import FoundFile
from servers.rag.index.index import Index
from servers.rag.indexing.reading import DOUBTFUL_BY_NS, FileFailed, FileRead, Reading
from servers.rag.passages import Chunk, DocumentEntry, DocumentStatus

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

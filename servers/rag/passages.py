"""What flows through the engine: texts, chunks, what the index holds, what a search finds."""

import os
from typing import Literal, TypeAlias

from core.base.frozen import frozen

SearchMode: TypeAlias = Literal["hybrid", "words", "vectors"]
"""How a search ranks: by words and meaning together, or by one of them."""

DocumentStatus: TypeAlias = Literal["indexed", "empty", "failed", "skipped"]
"""`empty`: read, but holds no text; `failed`: can't be read; `skipped`: not looked into."""


DOUBTFUL_BY_NS = 1
"""How far a time that is not to be trusted is put back; nobody sees the difference."""


@frozen
class Chunk:
    """A part of a document that is found as one.

    `text` is `markdown[start:end]` of the document, `headings` the path of headings above it.
    `line` and `page` are counted from 1 and tell where it begins; `page` is None without pages.
    """

    text: str
    start: int
    end: int
    line: int
    page: int | None = None
    headings: tuple[str, ...] = ()


@frozen
class StoredChunk:
    """A chunk in the index; `ordinal` counts a document's chunks from 0."""

    chunk_id: int
    file: str
    ordinal: int
    chunk: Chunk


@frozen
class DocumentEntry:
    """A file as the index knows it.

    `file` names it for people and tools: its path below its folder, with `/`, and the folder's
    name before it where there are several folders. `note` says why nothing, or not all, of it
    is searchable.
    """

    file: str
    path: str
    status: DocumentStatus
    size_bytes: int
    modified_ns: int
    chunks: int
    title: str = ""
    note: str = ""

    def tells_of(self, status: os.stat_result) -> bool:
        """Whether the file was read as it is now; that of a new one may be in doubt."""
        apart_ns = status.st_mtime_ns - self.modified_ns
        return self.size_bytes == status.st_size and apart_ns in (0, DOUBTFUL_BY_NS)


@frozen
class Passage:
    """What a search gives: one chunk, or neighbouring ones merged into one text.

    `score` lies between 0 and 1, `cosine` between -1 and 1 (None without vectors). `chunk_id` is
    the best chunk's.
    """

    file: str
    chunk_id: int
    text: str
    score: float
    cosine: float | None
    line: int
    page: int | None
    headings: tuple[str, ...]


@frozen
class WordHit:
    """A chunk that holds words of a question.

    `score` is BM25, above 0, the higher the better; it compares within one search only. `rare`
    tells that one of the words in it is rare in the whole index, and no everyday word.
    """

    chunk_id: int
    score: float
    rare: bool


@frozen
class VectorChanges:
    """What happened to the vectors after a point in time, by whatever process.

    `counter` is the present point, to be given the next time. `changed` are the ids of chunks
    whose vector is new, `removed` of those that have none any more. If not `complete`, too much
    has happened since: all vectors must be read anew, and both are empty.
    """

    counter: int
    changed: tuple[int, ...]
    removed: tuple[int, ...]
    complete: bool = True


@frozen
class IndexCounts:
    """How much the index holds."""

    documents: int
    chunks: int
    chunks_without_vectors: int


NOTHING_FITS = "Nothing in the documents fits the query."
"""The note of a search that found nothing."""


@frozen
class SearchResult:
    """Passages, best first, and what should be said about them, in whole sentences."""

    passages: tuple[Passage, ...]
    note: str = ""

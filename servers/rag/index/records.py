"""What the index gives beside the chunks and entries of `servers.rag.passages`."""

from dataclasses import dataclass

from servers.rag.passages import DocumentEntry, Extracted


@dataclass(frozen=True, slots=True)
class Document:
    """A document with its text; `content_hash` is what the indexer gave for the file's bytes."""

    entry: DocumentEntry
    content_hash: str
    extracted: Extracted


@dataclass(frozen=True, slots=True)
class WordHit:
    """A chunk that holds words of a question.

    `score` is BM25, above 0, the higher the better; it compares within one search only. `rare`
    tells that one of the words in it is rare in the whole index, and no everyday word.
    """

    chunk_id: int
    score: float
    rare: bool


@dataclass(frozen=True, slots=True)
class Changes:
    """What happened to the vectors after a point in time, by whatever process.

    `counter` is the present point, to be given the next time. `changed` are the ids of chunks
    whose vector is new, `removed` of those that have none any more. If not `complete`, too much
    has happened since: all vectors must be read anew, and both are empty.
    """

    counter: int
    changed: tuple[int, ...]
    removed: tuple[int, ...]
    complete: bool = True


@dataclass(frozen=True, slots=True)
class IndexCounts:
    """How much the index holds."""

    documents: int
    chunks: int
    chunks_without_vectors: int

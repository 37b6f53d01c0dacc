"""Documents made for tests of the index."""

from collections.abc import Sequence

from servers.rag.index.index import Index
from servers.rag.passages import Chunk, DocumentEntry, DocumentStatus
from servers.reading.source import Extracted

FINGERPRINT = "counting-1"


def entry(file: str, modified_ns: int = 1, status: DocumentStatus = "indexed") -> DocumentEntry:
    """A file as the indexer finds it."""
    return DocumentEntry(file, f"/documents/{file}", status, 100, modified_ns, 0)


def cut(texts: Sequence[str]) -> tuple[Extracted, list[Chunk]]:
    """A document whose paragraphs are its chunks, each on a line of its own."""
    chunks: list[Chunk] = []
    start = 0
    for ordinal, text in enumerate(texts):
        chunks.append(Chunk(text, start, start + len(text), 2 * ordinal + 1, None, ("Top", "Sub")))
        start += len(text) + 2
    return Extracted("\n\n".join(texts)), chunks


def put(index: Index, file: str, *texts: str) -> list[int]:
    """Write a document of such chunks; gives their ids."""
    extracted, chunks = cut(texts)
    index.replace_document(entry(file), f"hash of {texts}", extracted, chunks)
    return index.chunk_ids(file)


def found(index: Index, query: str, file: str | None = None) -> list[str]:
    """The texts that hold words of a question, best first."""
    ids = [hit.chunk_id for hit in index.search_words(query, 10, file)]
    return [stored.chunk.text for stored in index.chunks(ids)]

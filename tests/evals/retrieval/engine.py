"""The parts of the program that are measured, put together as the program does: files and all."""

import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from servers.rag.chunking.chunker import chunk_document
from servers.rag.index.index import Index
from servers.rag.library.parts import open_vectors
from servers.rag.passages import Chunk, DocumentEntry, Passage, SearchMode
from servers.rag.ports import Embedder, Vectors
from servers.rag.search.searcher import Searcher, no_vectors
from servers.rag.vectors.store import VectorStore
from servers.reading.source import Extracted
from tests.evals.retrieval.collections import Item, Paper
from tests.evals.retrieval.metrics import DEPTH

PASSAGES_READ = 20
"""More than fill 900 words."""


@dataclass(frozen=True, slots=True)
class Source:
    """A document and the chunks it is cut into."""

    file: str
    extracted: Extracted
    chunks: tuple[Chunk, ...]


@dataclass(frozen=True)
class Engine:
    """An index with a search over it; without an embedder words alone are searched."""

    index: Index
    vectors: VectorStore | None
    embedder: Embedder | None

    def searcher(self, word_weight: float) -> Searcher:
        """A search with that share of words."""
        vectors = self.vectors
        find = no_vectors if vectors is None else lambda: vectors
        return Searcher(self.index, self.embedder, find, word_weight)

    @property
    def modes(self) -> tuple[SearchMode, ...]:
        """What can be measured."""
        return ("words",) if self.embedder is None else ("words", "vectors", "hybrid")


@contextmanager
def indexed(sources: Sequence[Source], embedder: Embedder | None) -> Generator[Engine]:
    """An index of the sources in a folder of its own, gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        index = Index.open(Path(folder), embedder.fingerprint if embedder else "")
        try:
            _fill(index, sources, embedder)
            vectors = None if embedder is None else _loaded(index, embedder)
            yield Engine(index, vectors, embedder)
            if vectors is not None:
                vectors.close()
        finally:
            index.close()


def whole(items: Sequence[Item]) -> list[Source]:
    """Each item as a document of one chunk, so that what is measured is ranking alone."""
    return [
        Source(each.key, Extracted(each.text), (Chunk(each.text, 0, len(each.text), 1),))
        for each in items
        if each.text
    ]


def cut(papers: Sequence[Paper]) -> list[Source]:
    """Each paper cut by our chunker."""
    given = ((paper.key, Extracted(paper.text, paper.title)) for paper in papers)
    return [Source(key, extracted, tuple(chunk_document(extracted))) for key, extracted in given]


def keys(searcher: Searcher, question: str, mode: SearchMode) -> list[str]:
    """What a ranking of items holds: each document's name once."""
    found = searcher.search(question, DEPTH, mode=mode).passages
    return list(dict.fromkeys(passage.file for passage in found))


def passages(searcher: Searcher, question: str, mode: SearchMode) -> Sequence[Passage]:
    """What a reader gets."""
    return searcher.search(question, PASSAGES_READ, mode=mode).passages


def _fill(index: Index, sources: Sequence[Source], embedder: Embedder | None) -> None:
    texts = [chunk.text for source in sources for chunk in source.chunks]
    vectors: Vectors | None = embedder.embed_passages(texts) if embedder and texts else None
    start = 0
    for source in sources:
        size = len(source.extracted.markdown.encode())
        entry = DocumentEntry(source.file, source.file, "indexed", size, 0, len(source.chunks))
        end = start + len(source.chunks)
        index.replace_document(entry, source.file, source.extracted, source.chunks)
        if vectors is not None:
            index.set_vectors(index.chunk_ids(source.file), vectors[start:end])
        start = end
    index.tidy()


def _loaded(index: Index, embedder: Embedder) -> VectorStore:
    vectors = open_vectors("faiss", embedder.dimension)
    for ids, rows in index.all_vectors():
        vectors.add(ids.tolist(), rows)
    return vectors

"""Documents in an index on disk, an embedder that counts words, and a search over both."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from servers.rag.chunking.chunker import chunk_document
from servers.rag.index.index import Index
from servers.rag.passages import DocumentEntry, SearchMode
from servers.rag.ports import Embedder, Vectors
from servers.rag.search.searcher import Searcher
from servers.rag.vectors.store import VectorStore
from servers.reading.source import Extracted
from tests.servers.rag.vectors.exact_index import ExactIndex


class WordCountEmbedder:
    """A dimension for each word of its vocabulary, which it meets in order; synonyms share one."""

    name = "counting"
    fingerprint = "counting-1"

    def __init__(self, dimension: int = 64, synonyms: dict[str, str] | None = None) -> None:
        self.dimension = dimension
        self.asked: list[str] = []
        self._synonyms = synonyms or {}
        self._places: dict[str, int] = {}

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return np.concatenate([self._vector(text) for text in texts])

    def embed_query(self, text: str) -> Vectors:
        self.asked.append(text)
        return self._vector(text)

    def start(self) -> None:
        pass

    def close(self) -> None:
        pass

    def _vector(self, text: str) -> Vectors:
        vector = np.zeros((1, self.dimension), dtype=np.float32)
        for word in text.lower().split():
            known = self._synonyms.get(word, word)
            vector[0, self._places.setdefault(known, len(self._places)) % self.dimension] += 1
        return vector / max(float(np.linalg.norm(vector)), 1e-9)


class Shelf:
    """Documents of a few words, with their vectors."""

    def __init__(self, folder: Path, texts: dict[str, str], noise_cosine: float = 0.25) -> None:
        self.embedder = WordCountEmbedder(
            synonyms={"automobile": "car", "feline": "cat", "decalcify": "descale"}
        )
        self.index = Index.open(folder, self.embedder.fingerprint)
        self.vectors: VectorStore = ExactIndex(self.embedder.dimension)
        self.searcher = Searcher(
            self.index, self.embedder, lambda: self.vectors, noise_cosine=noise_cosine
        )
        for file, text in texts.items():
            self.put(file, text)

    def put(self, file: str, text: str, *, has_vectors: bool = True) -> None:
        """Index a document; the vectors of what is no more go."""
        extracted = Extracted(text)
        chunks = chunk_document(extracted, words=15 if "#" in text else 180)
        rows = self.embedder.embed_passages([chunk.text for chunk in chunks])
        entry = DocumentEntry(file, f"/{file}", "indexed", len(text), 0, len(chunks))
        self.vectors.remove(self.index.chunk_ids(file))
        self.index.replace_document(entry, text, extracted, chunks)
        if has_vectors:
            self.index.set_vectors(self.index.chunk_ids(file), rows)
            self.vectors.add(self.index.chunk_ids(file), rows)

    def files(self, query: str, mode: SearchMode = "hybrid", top_k: int = 5) -> list[str]:
        return [hit.file for hit in self.searcher.search(query, top_k, mode=mode).passages]

    def asking(self, embedder: Embedder) -> Searcher:
        """The same documents and vectors, asked by another embedder."""
        return Searcher(self.index, embedder, lambda: self.vectors)

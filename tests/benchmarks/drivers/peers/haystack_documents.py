"""Haystack: its store in memory, its splitter, BM25 and vectors joined by reciprocal ranks."""

from collections.abc import Sequence
from dataclasses import replace

from haystack import Document
from haystack.components.joiners import DocumentJoiner
from haystack.components.preprocessors import DocumentSplitter
from haystack.components.retrievers.in_memory import (
    InMemoryBM25Retriever,
    InMemoryEmbeddingRetriever,
)
from haystack.document_stores.in_memory import InMemoryDocumentStore

from tests.benchmarks.drivers.document_task import PASSAGES_READ, TimedEmbedder, take_task


class HaystackDocuments:
    """A `DocumentSearch`."""

    def __init__(self, embedder: TimedEmbedder) -> None:
        self._embedder = embedder
        self._store = InMemoryDocumentStore()
        self._words = InMemoryBM25Retriever(self._store, top_k=PASSAGES_READ)
        self._near = InMemoryEmbeddingRetriever(self._store, top_k=PASSAGES_READ)
        self._joiner = DocumentJoiner(join_mode="reciprocal_rank_fusion", top_k=PASSAGES_READ)
        self._splitter = DocumentSplitter()

    def index(self, documents: dict[str, str]) -> None:
        """From texts in memory."""
        self._splitter.warm_up()
        given = [Document(content=text, meta={"key": key}) for key, text in documents.items()]
        parts = self._splitter.run(documents=given)["documents"]
        rows = self._embedder.embed_passages([part.content for part in parts]).tolist()
        pairs = zip(parts, rows, strict=True)
        self._store.write_documents([replace(part, embedding=row) for part, row in pairs])

    def search(self, question: str) -> Sequence[tuple[str, str]]:
        """Both retrievers, joined."""
        row = self._embedder.embed_query(question)[0].tolist()
        by_words = self._words.run(query=question)["documents"]
        near = self._near.run(query_embedding=row)["documents"]
        joined = self._joiner.run(documents=[by_words, near])["documents"]
        return [(each.meta["key"], each.content) for each in joined]


if __name__ == "__main__":
    take_task(HaystackDocuments)

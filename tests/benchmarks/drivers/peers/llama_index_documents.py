"""LlamaIndex: its vector index in memory with its own splitter, as its first example has it.

A second argument is the splitter's size of a chunk in tokens; by default it is LlamaIndex's own.
"""

import sys
from collections.abc import Sequence

from llama_index.core import Document, VectorStoreIndex
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.node_parser import SentenceSplitter
from pydantic import PrivateAttr

from tests.benchmarks.drivers.document_task import PASSAGES_READ, TimedEmbedder, take_task


class OurEmbedding(BaseEmbedding):
    """Our embedder behind its interface."""

    _embedder: TimedEmbedder = PrivateAttr()

    def __init__(self, embedder: TimedEmbedder) -> None:
        super().__init__(model_name="minilm")
        self._embedder = embedder

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._embedder.embed_passages([text])[0].tolist()

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return self._embedder.embed_passages(texts).tolist()

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._embedder.embed_query(query)[0].tolist()

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


class LlamaIndexDocuments:
    """A `DocumentSearch`."""

    def __init__(self, embedder: TimedEmbedder) -> None:
        self._embedding = OurEmbedding(embedder)
        sizes = {"chunk_size": int(sys.argv[2]), "chunk_overlap": 0} if len(sys.argv) > 2 else {}
        self._splitter = SentenceSplitter(**sizes)

    def index(self, documents: dict[str, str]) -> None:
        """From texts in memory."""
        given = [Document(text=text, metadata={"key": key}) for key, text in documents.items()]
        index = VectorStoreIndex.from_documents(
            given, embed_model=self._embedding, transformations=[self._splitter]
        )
        self._retriever = index.as_retriever(similarity_top_k=PASSAGES_READ)

    def search(self, question: str) -> Sequence[tuple[str, str]]:
        """The nearest chunks."""
        found = self._retriever.retrieve(question)
        return [(each.node.metadata["key"], each.node.get_content()) for each in found]


if __name__ == "__main__":
    take_task(LlamaIndexDocuments)

"""Where nearest vectors are looked up: FAISS in this process, or Milvus elsewhere."""

from servers.rag.vectors.store import Filled, VectorStore, fill, open_vectors

__all__ = ["Filled", "VectorStore", "fill", "open_vectors"]

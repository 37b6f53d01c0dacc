"""Where nearest vectors are looked up: FAISS in this process, or Milvus elsewhere."""

from servers.rag.vectors.opening import open_vectors
from servers.rag.vectors.store import Filled, VectorStore, fill

__all__ = ["Filled", "VectorStore", "fill", "open_vectors"]

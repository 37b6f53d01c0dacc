"""The index: one SQLite file that holds documents, chunks, words and vectors; it is the truth."""

from servers.rag.index.index import Index
from servers.rag.index.lock import IndexLock

__all__ = ["Index", "IndexLock"]

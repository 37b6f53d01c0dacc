"""The index: words, vectors, documents, and what they survive."""

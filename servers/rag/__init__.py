"""The engine behind the documents server: chunks, embeddings, index, search."""

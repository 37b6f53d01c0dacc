"""The engine behind the documents server: extraction, chunks, embeddings, index, search.

It imports nothing of `core` or `modules`, and nothing heavy before it is needed.
"""

"""The index: one SQLite file that holds documents, chunks, words and vectors; it is the truth."""

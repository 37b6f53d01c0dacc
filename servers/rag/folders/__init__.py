"""The document folders: looked through, watched, copied into, and what in them may be read."""

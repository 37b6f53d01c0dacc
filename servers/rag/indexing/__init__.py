"""Keeps the index true to the folders: compares, reads, writes, embeds, in the background."""

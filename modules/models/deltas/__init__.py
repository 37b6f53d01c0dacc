"""Pieces of replies: thinking kept apart, and whole replies as streams."""

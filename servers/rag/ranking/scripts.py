"""Which questions an embedder can't read: those in a script that its training texts lacked.

all-MiniLM-L6-v2 was trained on English. Other languages in Latin letters share words and names with
it, and gain from its vectors still. Of Chinese it knows some characters and puts all the rest into
one token, so that everything lies near everything.
"""

import unicodedata

LATIN_ONLY = frozenset({"minilm"})
"""Embedders, by name, that read no other script."""

UNREAD_WORD_WEIGHT = 0.85
"""The words' share for a question wholly in such a script; names in Latin letters within it, and
signs that are known by themselves, are what is left to the vectors."""


def unread_share(query: str, embedder: str) -> float:
    """How much of a question's letters an embedder can't read, from 0 to 1."""
    if embedder not in LATIN_ONLY or query.isascii():
        return 0.0
    letters = [char for char in query if char.isalpha()]
    foreign = sum(not unicodedata.name(char, "").startswith("LATIN") for char in letters)
    return foreign / len(letters) if letters else 0.0


def word_weight_for(unread: float, word_weight: float) -> float:
    """The words' share of the score for a question of which so much can't be read."""
    return word_weight + unread * max(0.0, UNREAD_WORD_WEIGHT - word_weight)

"""How much of a question an embedder can read, for the words' share of the score.

all-MiniLM-L6-v2 was trained on English. A word that its vocabulary lacks reaches it in pieces: a
word of another language, a gene, a part number. It often knows what the pieces are about, and often
not; so the more of them a question has, the more its words count. Of Chinese it knows some signs
and puts all the rest into one token, so that everything lies near everything.
"""

import re
import unicodedata
from collections.abc import Container
from functools import cached_property

ENGLISH_ONLY = frozenset({"minilm"})
"""Embedders, by name, that were trained on English alone."""

UNREAD_WORD_WEIGHT = 0.85
"""The words' share for a question of which every word comes in pieces; the rest is left to what
the embedder makes of them. Tuned as `search.WORD_WEIGHT` is."""

_WORD = re.compile(r"\w+")


class Legibility:
    """What the embedder of a name can read; `""` for none at all."""

    def __init__(self, embedder: str) -> None:
        self._is_english = embedder in ENGLISH_ONLY

    @cached_property
    def vocabulary(self) -> Container[str]:
        """The words that the embedder knows whole; read when first asked for."""
        from servers.rag.embedding.vocabulary import read_vocabulary

        return read_vocabulary()

    def foreign_share(self, query: str) -> float:
        """How much of a question's letters are of a script that it can't read, from 0 to 1."""
        if not self._is_english or query.isascii():
            return 0.0
        letters = [char for char in query if char.isalpha()]
        foreign = sum(not unicodedata.name(char, "").startswith("LATIN") for char in letters)
        return foreign / len(letters) if letters else 0.0

    def broken_share(self, query: str) -> float:
        """How many of a question's words reach it in pieces, from 0 to 1."""
        words = _WORD.findall(query.lower()) if self._is_english else []
        return sum(word not in self.vocabulary for word in words) / len(words) if words else 0.0

    def word_weight(self, query: str, least: float) -> float:
        """The words' share of the score, from `least` for a question that is read word by word.

        It is 1 for one in a script that the embedder can't read at all: its vectors are noise.
        """
        weight = least + self.broken_share(query) * max(0.0, UNREAD_WORD_WEIGHT - least)
        return weight + self.foreign_share(query) * (1 - weight)

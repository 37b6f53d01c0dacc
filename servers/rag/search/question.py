"""A question: cleaned, how much of it an embedder reads, and whether it is answered at all."""

import re
import unicodedata
from collections.abc import Callable, Sequence

from core.base.frozen import frozen
from servers.rag.embedding.wordpiece import vocabulary
from servers.rag.passages import WordHit
from servers.rag.search.fusion import Candidates

QUERY_CHARACTERS_MAX = 2_000
"""Three hundred words: more than a question, and what the embedder looks at (256 tokens)."""

ENGLISH_ONLY = frozenset({"minilm"})
"""Embedders, by name, that were trained on English alone."""

UNREAD_WORD_WEIGHT = 0.85
"""The words' share for a question of which every word comes in pieces; the rest is left to what
the embedder makes of them. Tuned as `searcher.WORD_WEIGHT` is."""

NOISE_COSINE = 0.25
"""With all-MiniLM-L6-v2, the nearest text is nearer for all of Cranfield's odd questions (at least
0.33), for all of XQuAD-es and all but one of SciFact's 809 training claims. Embedders whose cosines
are higher throughout never get below it: with them, nothing is held to be noise."""

RARE_COSINE = 0.2
"""An ordinary word that happens to be rare counts in a text that is at least as near as this."""

KEYWORDS_MAX = 2
"""Who types no more than this wants texts with these words."""

UNREAD_MAX = 0.5
"""Where more of a question is in a script that the embedder can't read, its cosines say nothing."""

_PLAIN_WORD = re.compile(r"\w+")
_WORD = re.compile(r"\w+(?:[-.]\w+)*")


def cleaned(query: str) -> str:
    """The query as one line without characters that no text should hold, cut where it is huge."""
    some = query[: 4 * QUERY_CHARACTERS_MAX]
    plain = "".join(" " if unicodedata.category(char) in ("Cc", "Cs") else char for char in some)
    return " ".join(plain.split())[:QUERY_CHARACTERS_MAX].rstrip()


class Legibility:
    """What the embedder of a name can read, for the words' share of the score; `""` for none.

    all-MiniLM-L6-v2 was trained on English. A word that its vocabulary lacks reaches it in pieces:
    a word of another language, a gene, a part number. It often knows what the pieces are about, and
    often not; so the more of them a question has, the more its words count. Of Chinese it knows
    some signs and puts all the rest into one token, so that everything lies near everything.
    """

    def __init__(self, embedder: str) -> None:
        self._is_english = embedder in ENGLISH_ONLY

    def foreign_share(self, query: str) -> float:
        """How much of a question's letters are of a script that it can't read, from 0 to 1."""
        if not self._is_english or query.isascii():
            return 0.0
        letters = [char for char in query if char.isalpha()]
        foreign = sum(not unicodedata.name(char, "").startswith("LATIN") for char in letters)
        return foreign / len(letters) if letters else 0.0

    def broken_share(self, query: str) -> float:
        """How many of a question's words reach it in pieces, from 0 to 1."""
        words = _PLAIN_WORD.findall(query.lower()) if self._is_english else []
        return sum(word not in vocabulary() for word in words) / len(words) if words else 0.0

    def word_weight(self, query: str, least: float) -> float:
        """The words' share of the score, from `least` for a question that is read word by word.

        It is 1 for one in a script that the embedder can't read at all: its vectors are noise.
        """
        weight = least + self.broken_share(query) * max(0.0, UNREAD_WORD_WEIGHT - least)
        return weight + self.foreign_share(query) * (1 - weight)


@frozen
class Question:
    """A question, how much of it the embedder can't read, and how to ask for some words only."""

    text: str
    unread: float
    find_words: Callable[[str], Sequence[WordHit]]


def is_noise(asked: Question, found: Candidates, noise_cosine: float = NOISE_COSINE) -> bool:
    """Whether even the best that was found has nothing to do with what was asked.

    Vectors tell it for questions in ordinary words: what answers them lies nearer than the nearest
    text does to a question about something else. But vectors know nothing of names, numbers and
    codes; a text that holds the one asked for is an answer however far it is. Words alone can't
    tell, and where the embedder can't read the question, its cosines don't.
    """
    top = found.top_cosine
    if not found.all or top is None:
        return not found.all
    if asked.unread > UNREAD_MAX:
        return not found.any_word_found
    if top >= noise_cosine:
        return False
    if not found.rare:
        return True
    if found.top_rare_cosine >= RARE_COSINE or len(_WORD.findall(asked.text)) <= KEYWORDS_MAX:
        return False
    names = _names_in(asked.text)
    return not (names and any(hit.rare for hit in asked.find_words(" ".join(names))))


def _names_in(question: str) -> list[str]:
    """Its words that are no ordinary English: names, numbers, codes, words of other languages."""
    return [
        word
        for place, word in enumerate(_WORD.findall(question))
        if word.lower() not in vocabulary()
        or any(char.isdigit() for char in word)
        or (place > 0 and word[0].isupper())
    ]

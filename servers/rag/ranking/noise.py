"""Whether the best that was found is no answer at all.

Vectors tell it for questions in ordinary words: what answers them lies nearer than the nearest text
does to a question about something else. But vectors know nothing of names, numbers and codes; a
text that holds the one asked for is an answer however far it is.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from servers.rag.ranking.candidates import Candidates
from servers.rag.ranking.source import FoundByWords

NOISE_COSINE = 0.25
"""With all-MiniLM-L6-v2, the nearest text is nearer for all of Cranfield's odd questions (at least
0.33), for all of XQuAD-es and all but one of SciFact's 809 training claims. Embedders whose cosines
are higher throughout never get below it: with them, nothing is held to be noise."""

RARE_COSINE = 0.2
"""An ordinary word that happens to be rare counts in a text that is at least as near as this."""

KEYWORDS_MAX = 2
"""Who types no more than this wants texts with these words."""

MOSTLY = 0.5

_WORD = re.compile(r"\w+(?:[-.]\w+)*")


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, how much of it the embedder can't read, and how to ask for some words only."""

    text: str
    unread: float
    find_words: Callable[[str], Sequence[FoundByWords]]


def is_noise(asked: Asked, found: Candidates, noise_cosine: float = NOISE_COSINE) -> bool:
    """Whether even the best has nothing to do with what was asked.

    Words alone can't tell, and where the embedder can't read the question, its cosines don't.
    """
    top = found.top_cosine
    if not found.all or top is None:
        return not found.all
    if asked.unread > MOSTLY:
        return not found.any_word_found
    if top >= noise_cosine:
        return False
    if not found.rare:
        return True
    if found.top_rare_cosine >= RARE_COSINE or len(_WORD.findall(asked.text)) <= KEYWORDS_MAX:
        return False
    names = names_in(asked.text)
    return not (names and any(hit.rare for hit in asked.find_words(" ".join(names))))


def names_in(question: str) -> list[str]:
    """Its words that are no ordinary English: names, numbers, codes, words of other languages."""
    from servers.rag.embedding.vocabulary import read_vocabulary

    ordinary = read_vocabulary()
    return [
        word
        for place, word in enumerate(_WORD.findall(question))
        if word.lower() not in ordinary
        or any(char.isdigit() for char in word)
        or (place > 0 and word[0].isupper())
    ]

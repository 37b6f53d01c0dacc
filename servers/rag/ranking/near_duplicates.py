"""Whether two chunks say the same: an old copy of a file, a page's footer, a mail quoted again.

Overlap of word triples (shingles, Broder 1997), and agreement on every number: two quarterly
reports differ in nothing else, and are not the same.
"""

import re
import unicodedata
from dataclasses import dataclass

SHINGLE_WORDS = 3

OVERLAP_MIN = 0.9
"""Share of triples in common (Jaccard) from which two texts are the same."""

OVERLAP_MIN_ALIKE = 0.8
"""The same for texts whose vectors point the same way."""

COSINE_ALIKE = 0.97

_WORD = re.compile("[\u3040-\u30ff\u3400-\u9fff]|[^\\W\u3040-\u30ff\u3400-\u9fff]+")
"""Kana and ideographs stand alone: there is no space between words."""

_DIGIT = re.compile(r"\d")


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What of a text is compared."""

    words: tuple[str, ...]
    shingles: frozenset[tuple[str, ...]]
    numbers: frozenset[str]


def fingerprint(text: str) -> Fingerprint:
    """The words of a text without regard to case, marks and spacing."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    words = tuple(_WORD.findall(plain)) or tuple(plain.split())
    last = max(1, len(words) - SHINGLE_WORDS + 1)
    return Fingerprint(
        words,
        frozenset(words[place : place + SHINGLE_WORDS] for place in range(last)),
        frozenset(word for word in words if _DIGIT.search(word)),
    )


def says_the_same(one: Fingerprint, other: Fingerprint, cosine: float | None) -> bool:
    """Whether showing both would show one text twice; `cosine` is that between them, if known."""
    if one.words == other.words:
        return True
    if one.numbers != other.numbers:
        return False
    common = len(one.shingles & other.shingles)
    overlap = common / (len(one.shingles) + len(other.shingles) - common)
    alike = cosine is not None and cosine >= COSINE_ALIKE
    return overlap >= (OVERLAP_MIN_ALIKE if alike else OVERLAP_MIN)

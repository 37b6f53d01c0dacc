"""Pseudo-relevance feedback: the question's vector is moved towards what was found first.

Rocchio 1971; on vectors of sentences Li et al. 2021, "Pseudo Relevance Feedback with Deep Language
Models and Dense Retrievers". The first of a hybrid ranking are mostly about the question's subject,
also those that only words have found; what lies near them is about it too. Only candidates are
scored again: looking for new ones as well made no difference on the sets that we tuned on.
"""

from servers.rag.ranking.candidates import Candidates
from servers.rag.ranking.fusion import Ranked, fuse

FEEDBACK_CHUNKS = 3
FEEDBACK_WEIGHT = 0.5
"""How far towards their mean, where the question itself counts 1. Tuned as `WORD_WEIGHT` is."""


def fuse_with_feedback(found: Candidates, word_weight: float) -> list[Ranked]:
    """The candidates by words and vectors, best first; they keep their cosine to the question."""
    first = fuse(found.all, word_weight, full_match=found.full_match)
    best = [each.candidate.chunk_id for each in first[:FEEDBACK_CHUNKS]]
    cosines = found.cosines_towards(best, FEEDBACK_WEIGHT)
    return fuse(found.all, word_weight, cosines, found.full_match) if cosines else first

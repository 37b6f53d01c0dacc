"""Which chunks may be answers, and their two scores as one (Fox and Shaw 1994, CombSUM).

Cosines are normalised from the lowest to the highest. Words are held against what a full match
would score: the best of texts that share one incidental word with a question is no better for it,
and must not push aside what says the same in other words.

Scores and not ranks, because a clear lead should count as one: reciprocal rank fusion (Cormack et
al. 2009) throws that away and loses on every set we measured. Bruch et al. (2023), "An Analysis of
Fusion Functions for Hybrid Retrieval", find the same.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from core.base.frozen import frozen
from servers.rag.index.index import Index
from servers.rag.passages import WordHit
from servers.rag.ports import Vectors

CANDIDATES = 200
"""How many are taken from either side."""

FULL_MATCH_SHARE = 0.8
"""How much of a full match counts as one, if nothing scores more. Tuned as `WORD_WEIGHT` is. Beside
the best hit alone (0) it lifts nDCG@10 of 22 paraphrases held out from 0.416 to 0.694, of XQuAD in
German by 0.006, of the other sets by 0.000 to 0.003."""

FEEDBACK_CHUNKS = 3
FEEDBACK_WEIGHT = 0.5
"""How far towards their mean, where the question itself counts 1. Tuned as `WORD_WEIGHT` is."""


@frozen
class Candidate:
    """A chunk that may be an answer.

    `words` is its positive BM25 score, None where no word of the question was found in it (or in
    more than 200 others better); `cosine` is None where it has no vector (yet). `score` lies
    between 0 and 1 once it is ranked.
    """

    chunk_id: int
    words: float | None
    cosine: float | None
    score: float = 0.0


@dataclass(frozen=True)
class Candidates:
    """Chunks that may be answers.

    `rare` are the ids of those that hold a rare word of the question; `vectors` has a row for each
    of those that `rows` names. `question` is the question's own, shape (1, dimension);
    `full_match` is what words would score for a chunk with all of its words.
    """

    all: tuple[Candidate, ...]
    rare: frozenset[int]
    rows: dict[int, int]
    vectors: Vectors | None
    question: Vectors | None = None
    full_match: float = 0.0

    @property
    def top_cosine(self) -> float | None:
        """The nearest one's cosine; None without any vector."""
        return max((c.cosine for c in self.all if c.cosine is not None), default=None)

    @property
    def top_rare_cosine(self) -> float:
        """The nearest's of those with a rare word; one without a vector counts as 1."""
        found = [c.cosine for c in self.all if c.chunk_id in self.rare]
        return max((1.0 if cosine is None else cosine for cosine in found), default=-1.0)

    @property
    def any_word_found(self) -> bool:
        """Whether any of them holds a word of the question."""
        return any(each.words is not None for each in self.all)

    def cosine_between(self, one: int, other: int) -> float | None:
        """How alike two chunks are; None where one has no vector."""
        first, second = self.rows.get(one), self.rows.get(other)
        if self.vectors is None or first is None or second is None:
            return None
        return float(self.vectors[first] @ self.vectors[second])

    def cosines_towards(self, chunk_ids: Sequence[int], weight: float) -> dict[int, float]:
        """Cosines, by id, to the question moved towards the mean of some chunks.

        Empty where there are no vectors.
        """
        rows = [self.rows[chunk_id] for chunk_id in chunk_ids if chunk_id in self.rows]
        if self.vectors is None or self.question is None or not rows:
            return {}
        moved = self.question[0] + weight * self.vectors[rows].mean(axis=0)
        length = float((moved @ moved) ** 0.5)
        cosines: list[float] = (self.vectors @ (moved / (length or 1.0))).tolist()
        return {chunk_id: cosines[row] for chunk_id, row in self.rows.items()}


def only_words(found: Sequence[WordHit]) -> Candidates:
    """What words alone have found."""
    every = tuple(Candidate(each.chunk_id, each.score, None) for each in found)
    return Candidates(every, _rare(found), {}, None)


def with_vectors(
    found: Sequence[WordHit],
    question: Vectors,
    near: Sequence[tuple[int, float]],
    index: Index,
    full_match: float = 0.0,
) -> Candidates:
    """What words have found and what lies near, each with its exact cosine.

    The nearest come from an index that may be coarse (fp16, 8 bits a number); their cosines are
    computed anew from the vectors stored, as are those of chunks that only words have found.
    """
    by_words = {each.chunk_id: each.score for each in found}
    ids = list(dict.fromkeys([*by_words, *(chunk_id for chunk_id, _ in near)]))
    known, stored = index.vectors(ids)
    cosines: list[float] = (stored @ question[0]).tolist() if known else []
    exact = dict(zip(known, cosines, strict=True))
    # What is near but has no vector any more was removed between the two questions.
    every = tuple(
        Candidate(chunk_id, by_words.get(chunk_id), exact.get(chunk_id))
        for chunk_id in ids
        if chunk_id in by_words or chunk_id in exact
    )
    rows = {chunk_id: row for row, chunk_id in enumerate(known)}
    return Candidates(every, _rare(found), rows, stored, question, full_match)


def fuse(
    candidates: Iterable[Candidate],
    word_weight: float,
    cosines: Mapping[int, float] | None = None,
    full_match: float = 0.0,
) -> list[Candidate]:
    """The candidates, best first; `word_weight` is the words' share, the rest is the cosine's.

    A chunk that no word found has the words' score 0. One without a vector is taken to be as near
    as the candidates are on average, so that a chunk is neither lost nor favoured while vectors
    are still being made. `cosines`, by chunk id, count in the place of the candidates' own.
    `full_match` is what a text with all words of the question would score.
    """
    all_of_them = list(candidates)
    found = [each.words or 0.0 for each in all_of_them]
    most = max([*found, FULL_MATCH_SHARE * full_match])
    words = [score / most if most > 0 else 0.0 for score in found]
    near = _normalised(
        [each.cosine if cosines is None else cosines.get(each.chunk_id) for each in all_of_them]
    )
    scores = [
        word_weight * by_words + (1 - word_weight) * by_vector
        for by_words, by_vector in zip(words, near, strict=True)
    ]
    return _ranked(all_of_them, scores)


def fuse_with_feedback(found: Candidates, word_weight: float) -> list[Candidate]:
    """The candidates by words and vectors, best first; they keep their cosine to the question.

    Pseudo-relevance feedback: the question's vector is moved towards what was found first. Rocchio
    1971; on vectors of sentences Li et al. 2021, "Pseudo Relevance Feedback with Deep Language
    Models and Dense Retrievers". The first of a hybrid ranking are mostly about the question's
    subject, also those that only words have found; what lies near them is about it too. Only
    candidates are scored again: looking for new ones as well made no difference on the sets that
    we tuned on.
    """
    first = fuse(found.all, word_weight, full_match=found.full_match)
    best = [each.chunk_id for each in first[:FEEDBACK_CHUNKS]]
    cosines = found.cosines_towards(best, FEEDBACK_WEIGHT)
    return fuse(found.all, word_weight, cosines, found.full_match) if cosines else first


def by_words(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Those that words found, scored in relation to the best of them."""
    found = [each for each in candidates if each.words is not None]
    best = max((each.words or 0.0 for each in found), default=0.0)
    return _ranked(found, [(each.words or 0.0) / best if best > 0 else 0.0 for each in found])


def by_vectors(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Those that have a vector, scored by its cosine."""
    found = [each for each in candidates if each.cosine is not None]
    return _ranked(found, [min(max(each.cosine or 0.0, 0.0), 1.0) for each in found])


def _rare(found: Sequence[WordHit]) -> frozenset[int]:
    return frozenset(each.chunk_id for each in found if each.rare)


def _normalised(scores: Sequence[float | None]) -> list[float]:
    """From 0, the lowest, to 1, the highest; all alike are 1, or 0 if they are nothing."""
    known = [score for score in scores if score is not None]
    if not known:
        return [0.0] * len(scores)
    low, high = min(known), max(known)
    if high == low:
        return [float(high > 0)] * len(scores)
    mean = sum(known) / len(known)
    return [((mean if score is None else score) - low) / (high - low) for score in scores]


def _ranked(candidates: Sequence[Candidate], scores: Sequence[float]) -> list[Candidate]:
    """With their scores, best first; of equals, the one that came into the index first."""
    scored = [replace(each, score=score) for each, score in zip(candidates, scores, strict=True)]
    return sorted(scored, key=lambda each: (-each.score, each.chunk_id))

"""Which chunks may be answers: the best by words, the best by vectors, both scores for all."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from servers.rag.ranking.fusion import Candidate
from servers.rag.ranking.source import FoundByWords, SearchableIndex

if TYPE_CHECKING:
    from servers.rag.ports import Vectors

CANDIDATES = 200
"""How many are taken from either side."""


@dataclass(frozen=True)
class Candidates:
    """Chunks that may be answers.

    `rare` are the ids of those that hold a rare word of the question; `vectors` has a row for each
    of those that `rows` names. `question` is the question's own, shape (1, dimension);
    `full_match` is what words would score for a chunk with all of its words.
    """

    all: tuple[Candidate, ...]
    rare: frozenset[int]
    rows: "dict[int, int]"
    vectors: "Vectors | None"
    question: "Vectors | None" = None
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


def only_words(found: Sequence[FoundByWords]) -> Candidates:
    """What words alone have found."""
    every = tuple(Candidate(each.chunk_id, each.score, None) for each in found)
    return Candidates(every, _rare(found), {}, None)


def with_vectors(
    found: Sequence[FoundByWords],
    question: "Vectors",
    near: Sequence[tuple[int, float]],
    index: SearchableIndex,
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


def _rare(found: Sequence[FoundByWords]) -> frozenset[int]:
    return frozenset(each.chunk_id for each in found if each.rare)

"""The questions of a set, put to a search in each mode, and what each answer is worth."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from servers.rag.passages import SearchMode
from tests.evals.retrieval.collections import Question
from tests.evals.retrieval.metrics import Interval, bootstrap, ndcg, recall, reciprocal_rank

DEPTH = 10

Rank: TypeAlias = Callable[[str, SearchMode], Sequence[str]]
"""The keys of what a search finds for a question, best first."""


@dataclass(frozen=True, slots=True)
class Worth:
    """What the answers to all questions are worth, question by question."""

    ndcg: tuple[float, ...]
    recall: tuple[float, ...]
    reciprocal_rank: tuple[float, ...]
    unanswered: int

    @property
    def means(self) -> tuple[Interval, Interval, Interval]:
        """Means with their intervals, in that order."""
        return bootstrap(self.ndcg), bootstrap(self.recall), bootstrap(self.reciprocal_rank)


def worth(rank: Rank, questions: Sequence[Question], mode: SearchMode) -> Worth:
    """Ask every question; one without an answer is worth nothing."""
    rankings = [(rank(question.text, mode), question.grades) for question in questions]
    return Worth(
        tuple(ndcg(found, grades, DEPTH) for found, grades in rankings),
        tuple(recall(found, grades) for found, grades in rankings),
        tuple(reciprocal_rank(found, grades) for found, grades in rankings),
        sum(not found for found, _ in rankings),
    )


def worth_by_mode(
    rank: Rank, questions: Sequence[Question], modes: Sequence[SearchMode]
) -> dict[SearchMode, Worth]:
    """The same for several modes."""
    return {mode: worth(rank, questions, mode) for mode in modes}


def gain(by_mode: Mapping[SearchMode, Worth]) -> tuple[SearchMode, Interval] | None:
    """The better half by nDCG, and what both together gain over it, question by question."""
    if {"words", "vectors", "hybrid"} - {*by_mode}:
        return None
    halves: tuple[SearchMode, SearchMode] = ("words", "vectors")
    better = max(halves, key=lambda mode: sum(by_mode[mode].ndcg))
    pairs = zip(by_mode["hybrid"].ndcg, by_mode[better].ndcg, strict=True)
    return better, bootstrap([both - alone for both, alone in pairs])

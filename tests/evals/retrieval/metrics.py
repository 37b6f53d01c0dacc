"""How good rankings are: nDCG, recall, reciprocal rank, mode by mode; how sure their means are.

nDCG as in Järvelin and Kekäläinen (2002) with the gain linear in the grade, as trec_eval has it:
the discount of place i, counted from 1, is log2(i + 1), and the best ranking there could be is 1.
"""

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TypeAlias

from servers.rag.passages import SearchMode
from tests.evals.retrieval.collections import Question

DEPTH = 10

Rank: TypeAlias = Callable[[str, SearchMode], Sequence[str]]
"""The keys of what a search finds for a question, best first."""

RESAMPLES = 1000
_SEED = 20261122


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and where it lies with 95%."""

    mean: float
    low: float
    high: float


def ndcg(ranking: Sequence[str], grades: Mapping[str, int], depth: int = 10) -> float:
    """Discounted gain of the first `depth` over that of the best order; 0 if none is wanted."""
    best = _discounted(sorted(grades.values(), reverse=True)[:depth])
    found = _discounted([grades.get(key, 0) for key in ranking[:depth]])
    return found / best if best > 0 else 0.0


def recall(ranking: Sequence[str], grades: Mapping[str, int], depth: int = 5) -> float:
    """The share of what is to find that is among the first `depth`."""
    wanted = {key for key, grade in grades.items() if grade > 0}
    return len(wanted & {*ranking[:depth]}) / len(wanted) if wanted else 0.0


def reciprocal_rank(ranking: Sequence[str], grades: Mapping[str, int]) -> float:
    """One over the place of the first hit; 0 without a hit."""
    for place, key in enumerate(ranking, start=1):
        if grades.get(key, 0) > 0:
            return 1 / place
    return 0.0


def bootstrap(values: Sequence[float], resamples: int = RESAMPLES) -> Interval:
    """The mean with its percentile interval (Efron 1979), from samples drawn with a fixed seed.

    For a difference between two rankings, pass the differences question by question.
    """
    if not values:
        return Interval(math.nan, math.nan, math.nan)
    draw = random.Random(_SEED)  # noqa: S311 — resampling, no secret
    means = sorted(fmean(draw.choices(values, k=len(values))) for _ in range(resamples))
    tail = round(0.025 * resamples)
    return Interval(fmean(values), means[tail], means[-1 - tail])


def _discounted(gains: Sequence[int]) -> float:
    return sum(gain / math.log2(place + 1) for place, gain in enumerate(gains, start=1))


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

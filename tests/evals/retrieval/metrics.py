"""How good a ranking is: nDCG, recall, reciprocal rank; and how sure their means are.

nDCG as in Järvelin and Kekäläinen (2002) with the gain linear in the grade, as trec_eval has it:
the discount of place i, counted from 1, is log2(i + 1), and the best ranking there could be is 1.
"""

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

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

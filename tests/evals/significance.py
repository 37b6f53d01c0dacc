"""How sure figures are: Wilson's interval for a share, McNemar's exact test for pairs.

Both as in Agresti, "Categorical Data Analysis": what is counted are right answers, and two ways
of answering are compared on the same requests only.
"""

import math
from dataclasses import dataclass

Z_95 = 1.959963984540054
"""Quantile of the normal distribution that leaves 2.5% above."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """How two ways fared on the same requests, as counts."""

    both: int
    only_first: int
    only_second: int
    neither: int

    @property
    def total(self) -> int:
        """All pairs."""
        return self.both + self.only_first + self.only_second + self.neither


def wilson_interval(right: int, total: int, z: float = Z_95) -> tuple[float, float]:
    """Wilson's score interval for a share (Wilson 1927); of nothing, everything is possible."""
    if total == 0:
        return 0.0, 1.0
    share = right / total
    middle = share + z * z / (2 * total)
    half = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    scale = 1 + z * z / total
    return max(0.0, (middle - half) / scale), min(1.0, (middle + half) / scale)


def mcnemar_exact(only_first: int, only_second: int) -> float:
    """Two-sided p that two ways differ no more than by chance, from the pairs that differ.

    Without a difference between the ways, each such pair is a toss of a coin (McNemar 1947, in
    its exact binomial form).
    """
    tosses = only_first + only_second
    fewer = min(only_first, only_second)
    tail = sum(math.comb(tosses, k) for k in range(fewer + 1))
    return min(1.0, 2 * tail / 2**tosses)

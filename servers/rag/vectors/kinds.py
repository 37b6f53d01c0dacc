"""Which kind of FAISS index suits how many vectors.

Up to 100,000 vectors, whole ones compared one by one: exact, 1.5 kB a vector of 384 numbers. From
there on the same in half precision, which halves memory and changes products by 0.0001. Above
500,000 an inverted file with 8 bits a number: a search looks into the clusters nearest to the
query only. HNSW is none of them: it can't remove.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

KindName: TypeAlias = Literal["flat", "fp16", "ivf-sq8"]

FLAT_MAX = 100_000
FP16_MAX = 500_000
CLUSTERS_SEARCHED = 64
"""A sixteenth of a million vectors. 32 found all of the ten nearest of 200,000 vectors that lie in
fields, topics and documents, but 0.63 of those of a million with little in common but noise; see
tests/benchmarks/vectors.py."""

SHRINK_SHARE = 0.8
"""An index goes back to a smaller kind below this share of the limit: not at every file."""

OUTGROWN_TIMES = 4
"""An inverted file is trained anew when it holds this many times what it was trained for."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How many vectors the two smaller kinds hold at most, and how far the largest kind looks."""

    flat: int = FLAT_MAX
    fp16: int = FP16_MAX
    clusters_searched: int = CLUSTERS_SEARCHED


def suitable_kind(count: int, now: KindName, limits: Limits) -> KindName:
    """The kind for so many vectors, given what there is now."""
    wanted = _kind_for(count, limits)
    if _ORDER[wanted] >= _ORDER[now]:
        return wanted
    # Going back: as if there were somewhat more, so that a count near a limit doesn't sway.
    return min(now, _kind_for(int(count / SHRINK_SHARE) + 1, limits), key=lambda k: _ORDER[k])


def cluster_count(count: int) -> int:
    """How many clusters an inverted file has that is made when there are so many vectors.

    A power of 2 near the root of twice as many, since it is made while the index grows: 1,024 from
    half a million on. More would make a search a little quicker, but training and adding cost in
    proportion to it, at each start.
    """
    return 1 << ((2 * count).bit_length() // 2)


_ORDER: dict[KindName, int] = {"flat": 0, "fp16": 1, "ivf-sq8": 2}


def _kind_for(count: int, limits: Limits) -> KindName:
    if count <= limits.flat:
        return "flat"
    return "fp16" if count <= limits.fp16 else "ivf-sq8"

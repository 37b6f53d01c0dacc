"""Figures of the first measurement, which ours stand beside, and what ours should be at least.

From the README of the data sets: SQLite's FTS5 (`porter unicode61`; bigrams for Chinese),
all-MiniLM-L6-v2 int8, and both fused by min-max normalised scores. Cranfield's are those of its
even questions: ours for words agree there, not over all. Of COVID-QA the first measurement had
another selection of questions (it counts 2,019 in 147 papers, our file 1,380 in 98).
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Baseline:
    """nDCG@10 as measured first, and the aim for ours; None where there is none."""

    words: float | None = None
    vectors: float | None = None
    hybrid: float | None = None
    aim: float | None = None


BASELINES: Mapping[str, Baseline] = {
    "scifact": Baseline(0.685, 0.652, 0.741, 0.745),
    "cranfield": Baseline(0.532, 0.502, 0.568, 0.57),
    "xquad-en": Baseline(0.968, 0.943, 0.979, 0.98),
    "xquad-de": Baseline(0.928, 0.693, 0.943),
    "xquad-es": Baseline(0.955, 0.634, 0.958),
    "xquad-zh": Baseline(0.964),
    "covidqa": Baseline(0.668, 0.408, 0.675, 0.675),
}

PAPERS_WINDOWS = 0.49
"""Answers within 900 words when papers are cut into windows of 512 words."""

PAPERS_CHUNKS = 0.87
"""The same with chunks of about 180 words; at least that is the aim."""

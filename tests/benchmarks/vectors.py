"""Search time, memory, recall and loading of the kinds of vector index, by number of chunks.

Each kind in a process of its own, filled from the same SQLite file of blobs as at a start of the
server. Recall is the share of the ten truly nearest that are among the ten found.
"""

import json
import sys
from pathlib import Path
from subprocess import run
from typing import TypedDict, cast

import numpy as np

from servers.rag.vectors.faiss_index import ROWS_MAX
from tests.benchmarks.table import Row, at_most, middle_half
from tests.benchmarks.vector_sets import VectorSet, make_set
from tests.command_line import ROOT, environment

SIZES = (100_000, 1_000_000)
KINDS = ("fp16", "ivf-sq8")
DRIVER = "tests.benchmarks.drivers.vector_kinds"
DRIVER_TIMEOUT_SECONDS = 900
SEARCH_AIM_MS = 40.0
"""For a whole search at 100,000 chunks, words included, besides embedding the query."""

MEGABYTE = 1_000_000


class Measured(TypedDict):
    """What the driver prints: times in seconds, sizes in bytes, searches one after the other."""

    read: float
    load: float
    settle: float
    searches: list[float]
    held: int
    peak: int
    found: list[list[int]]


def measure(home: Path, sizes: tuple[int, ...] = SIZES) -> list[Row]:
    """All kinds at all sizes; what an index of that size is by itself is marked."""
    rows: list[Row] = []
    for size in sizes:
        vectors = make_set(size, home)
        np.save(home / "queries.npy", vectors.queries)
        for kind in KINDS:
            rows += _rows(size, kind, vectors, _measured(home, vectors, kind, size))
        vectors.database.unlink()
    return rows


def _measured(home: Path, vectors: VectorSet, kind: str, size: int) -> Measured:
    arguments = [str(vectors.database), str(home / "queries.npy"), kind, str(size)]
    done = run(
        [sys.executable, "-m", DRIVER, *arguments],
        capture_output=True,
        text=True,
        check=True,
        cwd=home,
        env=environment(home, PYTHONPATH=str(ROOT)),
        timeout=DRIVER_TIMEOUT_SECONDS,
    )
    return cast("Measured", json.loads(done.stdout))


def _rows(size: int, kind: str, vectors: VectorSet, figures: Measured) -> list[Row]:
    mark = " (its own kind)" if kind == _own_kind(size) else ""
    title = f"{size:,}, {kind}{mark}"
    median_ms = float(np.median(figures["searches"])) * 1000
    aim = at_most(median_ms, SEARCH_AIM_MS, " ms") if mark and size == SIZES[0] else ""
    memory = f"{figures['held'] / MEGABYTE:,.0f} MB, peak {figures['peak'] / MEGABYTE:,.0f} MB"
    loading = f"{figures['load']:.2f} s, of which reading SQLite {figures['read']:.2f} s"
    if kind == "ivf-sq8":
        loading += f"; then clustering {figures['settle']:.2f} s, beside searches"
    return [
        Row(f"{title}: a search", middle_half(figures["searches"]), aim),
        Row("  recall@10", f"{_recall(vectors, figures['found']):.3f}"),
        Row("  memory", memory),
        Row("  loading", loading),
    ]


def _recall(vectors: VectorSet, found: list[list[int]]) -> float:
    """The mean over the queries."""
    pairs = zip(vectors.nearest.tolist(), found, strict=True)
    return float(np.mean([len({*truth} & {*ids}) / len(truth) for truth, ids in pairs]))


def _own_kind(size: int) -> str:
    return "fp16" if size <= ROWS_MAX else "ivf-sq8"

"""Measure recall on the made-up history and print the table: `python -m tests.evals.memory`.

The history is written as session files, and asked as the memory server asks them. An embedder that
its packages are missing for leaves the words.
"""

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from servers.memory.library import MemoryLibrary
from servers.memory.options import MemoryOptions
from servers.memory.ranking import HALF_LIFE_DAYS, RECENT, Memory
from servers.rag.embedding import minilm
from servers.rag.passages import SearchMode
from tests.benchmarks.table import print_machine
from tests.core.base.memory.session_files import write_session
from tests.evals.memory.history import NOW, SEED, SESSIONS, History, history
from tests.evals.report import columns, show

TOP = 5

WAYS: tuple[tuple[str, SearchMode, float], ...] = (
    ("words", "words", 0.0),
    ("meaning", "vectors", 0.0),
    ("fused", "hybrid", 0.0),
    ("words, with recency", "words", NOW),
    ("fused, with recency", "hybrid", NOW),
)
"""Name, mode, and the time of asking: at time 0 nothing is old."""


def main() -> int:
    """Measure."""
    made = history()
    missing = minilm.missing_packages()
    print_machine()
    with tempfile.TemporaryDirectory() as folder:
        for session_id, exchanges in made.sessions.items():
            write_session(Path(folder), session_id, exchanges)
        rows = [
            measured(made, Path(folder), way) for way in WAYS if not missing or way[1] == "words"
        ]
    exchanges = sum(map(len, made.sessions.values()))
    embedder = f"without minilm ({', '.join(missing)} missing)" if missing else "minilm"
    show(
        f"memory: {exchanges:,} exchanges in {SESSIONS} sessions, {len(made.questions)} questions, "
        f"seed {SEED}; {embedder}; a share of {RECENT:g} passes, half of it in "
        f"{HALF_LIFE_DAYS:g} days",
        columns([("", f"recall@{TOP}", "first", "newer first"), *rows]),
    )
    return 0


def measured(
    made: History, folder: Path, way: tuple[str, SearchMode, float]
) -> tuple[str, str, str, str]:
    """Recall, how often the answer comes first, and a newer answer before an older one."""
    name, mode, now = way
    library = MemoryLibrary(MemoryOptions(folder=folder), clock=lambda: now)
    try:
        found = [library.search(each.text, TOP, mode) for each in made.questions]
        while any("so far" in note for note in found[0].notes):  # vectors are still being made
            found = [library.search(each.text, TOP, mode) for each in made.questions]
        ranks = [
            _rank(each.request, one.memories)
            for each, one in zip(made.questions, found, strict=True)
        ]
        asked = [(each, library.search(each.text, TOP, mode).memories) for each in made.changed]
    finally:
        library.close()
    newer = [each for each, best in asked if _answers(best)[:1] == [each.newer_answer]]
    within = sum(rank is not None for rank in ranks)
    first = sum(rank == 0 for rank in ranks)
    return (
        name,
        f"{within / len(ranks):.2f}",
        f"{first / len(ranks):.2f}",
        f"{len(newer)} of {len(asked)}",
    )


def _answers(memories: Sequence[Memory]) -> list[str | None]:
    return [each.past.exchange.answer for each in memories]


def _rank(request: str, memories: Sequence[Memory]) -> int | None:
    requests = [each.past.exchange.request for each in memories]
    return requests.index(request) if request in requests else None


if __name__ == "__main__":
    sys.exit(main())

"""What `python -m tests.evals.retrieval` is told on its command line."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from servers.rag.search.searcher import WORD_WEIGHT
from tests.command_line import ROOT
from tests.evals.retrieval.sets import DATA_VARIABLE, SETS

CACHE_FOLDER = ROOT / ".venv" / "evals"


@dataclass(frozen=True)
class Options:
    """What to measure; `questions` are so many of each set, spread over it."""

    sets: tuple[str, ...]
    embedder: str
    is_tuning: bool
    questions: int | None
    word_weight: float
    cache: Path


def parse_options(argv: Sequence[str]) -> Options:
    """The options in `argv`; ends the program with a message where they can't be used."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.evals.retrieval",
        description="Measure search on public sets of questions, through the real index files.",
        epilog=f"The sets are looked for in ${DATA_VARIABLE}, else in ../shared/data.",
    )
    parser.add_argument("sets", nargs="*", metavar="SET", help=f"of {', '.join(SETS)}; or all")
    parser.add_argument(
        "--embedder", default="auto", help="as in the profile; `none` measures words alone"
    )
    parser.add_argument(
        "--tune",
        action="store_true",
        help="try weights of words, on the questions that are for tuning only",
    )
    parser.add_argument("--questions", type=int, metavar="N", help="so many of each set")
    parser.add_argument("--word-weight", type=float, default=WORD_WEIGHT, metavar="0…1")
    parser.add_argument(
        "--cache", type=Path, default=CACHE_FOLDER, help="where vectors are kept for the next run"
    )
    given = parser.parse_args(argv)
    if unknown := [name for name in given.sets if name not in SETS]:
        parser.error(f"no such set: {', '.join(unknown)}; there are {', '.join(SETS)}")
    if given.questions is not None and given.questions < 1:
        parser.error("--questions takes a number from 1 on")
    if not 0 <= given.word_weight <= 1:
        parser.error("--word-weight takes a number from 0 to 1")
    return Options(
        sets=tuple(given.sets) or SETS,
        embedder=given.embedder,
        is_tuning=given.tune,
        questions=given.questions,
        word_weight=given.word_weight,
        cache=given.cache,
    )

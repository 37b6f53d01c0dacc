"""The first search of a cold process, by words alone and by words and meaning, in turn.

`agent.py call search_stored_documents`, from start to exit, on an index that is up to date: what a
person waits for who asks the documents one question. How often meaning was asked in time is
counted: on a machine that is too busy to start the embedder in a second, words answer alone.
"""

import json
import os
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from servers.rag.library.library import DocumentLibrary
from servers.rag.library.options import DocumentOptions
from servers.rag.passages import SearchMode
from servers.rag.search.searcher import WORDS_ALONE
from tests.benchmarks.table import Row, at_most, spread
from tests.command_line import ROOT, environment

ROUNDS = 11
NOTES = 200
RATIO_AIM = 1.5
TIMEOUT_SECONDS = 120
QUERY = "who looks after the pump"


def measure(home: Path, notes: int = NOTES, rounds: int = ROUNDS) -> list[Row]:
    """Both kinds after one warming round each; the ratio is taken within a round."""
    folder = home / "documents"
    folder.mkdir()
    for number in range(notes):
        text = f"# Note {number}\n\nThe pump of plot {number} is serviced by gardener {number}.\n"
        (folder / f"{number}.md").write_text(text, encoding="utf-8")
    options = DocumentOptions(folders=(folder,), index_folder=home / "faiss_index", watch=False)
    with closing(DocumentLibrary.open(options, os.environ)) as library:
        library.sync()
        lacking = library.status().counts.chunks_without_vectors
    if lacking:
        return [Row("first search", "not measured", f"{lacking} passages have no vector")]
    for mode in ("words", "hybrid"):
        searched(home, mode)
    pairs = [(searched(home, "words"), searched(home, "hybrid")) for _ in range(rounds)]
    ratio = median(hybrid.seconds / words.seconds for words, hybrid in pairs)
    in_time = sum(hybrid.is_in_time for _, hybrid in pairs)
    verdict = "met" if in_time == rounds else "MISSED"
    return [
        Row(f"{notes} notes, words alone", spread([words.seconds for words, _ in pairs])),
        Row(f"{notes} notes, words and meaning", spread([hybrid.seconds for _, hybrid in pairs])),
        Row("  that / words alone", f"{ratio:.2f}", at_most(ratio, RATIO_AIM)),
        Row("  went by meaning", f"{in_time} of {rounds}", f"aim: all: {verdict}"),
    ]


@dataclass(frozen=True)
class Searched:
    """How long a process took, and whether it searched as it was asked to."""

    seconds: float
    is_in_time: bool


def searched(home: Path, mode: SearchMode) -> Searched:
    """One process that searches so."""
    tool = ["call", "search_stored_documents", f"query={QUERY}", f"mode={mode}", "--json"]
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, str(ROOT / "agent.py"), *tool],
        env=environment(home),
        capture_output=True,
        text=True,
        check=True,
        timeout=TIMEOUT_SECONDS,
    )
    seconds = time.perf_counter() - began
    found: str = json.loads(done.stdout)["value"]
    assert "is serviced by gardener" in found, found
    return Searched(seconds, WORDS_ALONE not in found)

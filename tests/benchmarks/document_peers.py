"""The same papers with the same embedder in other libraries: time to index, to search, recall.

Papers and questions are COVID-QA's. An answer counts as found if it stands in the first 900 words
of what a library gives, in the paper that it is from. All run alone, one after the other.
"""

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from servers.rag.passages import Passage
from tests.benchmarks.drivers.document_task import Outcome, Task
from tests.benchmarks.environments import (
    Environment,
    NotInstalled,
    installed_versions,
    own_environment,
    prepare,
)
from tests.benchmarks.table import Row, listed, middle_half
from tests.command_line import ROOT, environment
from tests.evals.retrieval.collections import DataMissing, Paper
from tests.evals.retrieval.sets import load_papers
from tests.evals.retrieval.whole import holds

PAPERS = 12
TIMEOUT_SECONDS = 1_800
_DRIVERS = "tests.benchmarks.drivers"


@dataclass(frozen=True)
class Library:
    """Who takes part; `package` is whose version is told."""

    name: str
    driver: str
    environment: str = ""
    package: str = ""
    arguments: tuple[str, ...] = ()

    def prepare(self) -> Environment | NotInstalled:
        """Its environment."""
        return prepare(self.environment) if self.environment else own_environment()


OURS = Library("ours", f"{_DRIVERS}.our_documents")
_LLAMA_INDEX = f"{_DRIVERS}.peers.llama_index_documents"
PEERS = (
    Library("LlamaIndex", _LLAMA_INDEX, "llama-index", "llama-index-core"),
    Library("LlamaIndex, chunks of 256", _LLAMA_INDEX, "llama-index", "llama-index-core", ("256",)),
    Library(
        "Haystack, words and vectors",
        f"{_DRIVERS}.peers.haystack_documents",
        "haystack",
        "haystack-ai",
    ),
)


def measure(home: Path, papers: int = PAPERS, libraries: Sequence[Library] = PEERS) -> list[Row]:
    """Each library once over the first papers; ours first."""
    try:
        chosen = load_papers()[:papers]
    except DataMissing as error:
        return [Row("document libraries", "not measured", str(error))]
    asked = [question for paper in chosen for question, _ in paper.answers]
    task = Task({paper.key: paper.text for paper in chosen}, asked)
    file = home / "task.json"
    file.write_text(json.dumps({"documents": task.documents, "questions": task.questions}))
    rows = [Row("papers and questions", f"{len(chosen)}, {len(asked)}")]
    ours: Outcome | None = None
    for library in (OURS, *libraries):
        place = library.prepare()
        if isinstance(place, NotInstalled):
            rows.append(Row(library.name, "not measured", f"not installed: {place.reason}"))
            continue
        try:
            outcome = run_driver(library, place, file, home)
        except subprocess.SubprocessError as error:
            rows.append(Row(library.name, "not measured", str(error)[:200]))
            continue
        ours = ours or (outcome if library is OURS else None)
        rows += _rows(library, place, outcome, chosen, ours)
    return rows


def recall(outcome: Outcome, papers: Sequence[Paper]) -> float:
    """The share of the questions whose answer is in what would be read."""
    spans = [(span, paper.key) for paper in papers for _, span in paper.answers]
    hits = [
        holds([_passage(file, text) for file, text in found], key, span)
        for found, (span, key) in zip(outcome.found, spans, strict=True)
    ]
    return sum(hits) / len(hits)


def _passage(file: str, text: str) -> Passage:
    return Passage(file, 0, text, score=0.0, cosine=None, line=1, page=None, headings=())


def run_driver(library: Library, place: Environment, file: Path, home: Path) -> Outcome:
    """What a library made of the task in a file; raises SubprocessError."""
    done = subprocess.run(
        [place.python, "-m", library.driver, str(file), *library.arguments],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        cwd=home,
        env=environment(home, PYTHONPATH=str(ROOT)),
        timeout=TIMEOUT_SECONDS,
    )
    return Outcome(**json.loads(done.stdout.splitlines()[-1]))


def _rows(
    library: Library,
    place: Environment,
    outcome: Outcome,
    papers: Sequence[Paper],
    ours: Outcome | None,
) -> list[Row]:
    versions = installed_versions(place, library.package) if library.package else {}
    beside = outcome.indexing - outcome.embedding
    against = ""
    if ours is not None and outcome is not ours:
        against = (
            f"ours / this: indexing {ours.indexing / outcome.indexing:.2f}, "
            f"searching {median(ours.searches) / median(outcome.searches):.2f}"
        )
    return [
        Row(
            library.name,
            f"indexed in {outcome.indexing:.1f} s, {beside:.1f} s of it not the embedder's",
            listed(versions),
        ),
        Row("  a search besides embedding", middle_half(outcome.searches), against),
        Row("  answers within 900 words", f"{recall(outcome, papers):.3f}"),
    ]

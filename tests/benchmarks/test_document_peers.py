"""The contest of document libraries: what counts as found, and what is printed where one lacks."""

import json
from pathlib import Path

import pytest

from tests.benchmarks import document_peers
from tests.benchmarks.drivers.document_task import Outcome
from tests.benchmarks.environments import Environment, NotInstalled
from tests.evals.retrieval.collections import Paper, Span

PAPERS = (
    Paper(
        "0", "Bread", "Bread keeps in linen.", (("How does bread keep?", Span(15, 20, "linen")),)
    ),
    Paper("1", "Cheese", "Cheese sweats in linen.", (("What sweats?", Span(0, 6, "Cheese")),)),
)


def outcome(*found: list[tuple[str, str]]) -> Outcome:
    return Outcome(indexing=2.0, embedding=1.5, searches=[0.004, 0.006], found=[*found])


def test_an_answer_counts_in_the_paper_that_it_is_from_only() -> None:
    right = [("0", "Bread keeps in linen.")]
    other_paper = [("0", "Cheese sweats in linen.")]
    assert document_peers.recall(outcome(right, other_paper), PAPERS) == 0.5


def test_an_answer_after_900_words_is_not_read() -> None:
    late = [("1", "word " * 900), ("0", "Bread keeps in linen.")]
    early = [("1", "word " * 800), ("1", "Cheese sweats.")]
    assert document_peers.recall(outcome(late, early), PAPERS) == 0.5


def test_a_library_that_is_not_there_costs_the_others_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Missing(document_peers.Library):
        def prepare(self) -> Environment | NotInstalled:
            return NotInstalled(self.name, "no such package")

    asked: list[str] = []

    def run(library: document_peers.Library, _: Environment, file: Path, __: Path) -> Outcome:
        asked.extend(json.loads(file.read_text())["questions"])
        return outcome([("0", "linen")], [("1", "Cheese")])

    monkeypatch.setattr(document_peers, "load_papers", lambda: PAPERS)
    monkeypatch.setattr(document_peers, "run_driver", run)
    rows = document_peers.measure(tmp_path, 2, [Missing("other", "no.such.driver")])
    assert asked == ["How does bread keep?", "What sweats?"]
    assert [(row.what, row.value) for row in rows] == [
        ("papers and questions", "2, 2"),
        ("ours", "indexed in 2.0 s, 0.5 s of it not the embedder's"),
        ("  a search besides embedding", "5.00 ms (4.50 … 5.50)"),
        ("  answers within 900 words", "1.000"),
        ("other", "not measured"),
    ]
    assert rows[-1].aim == "not installed: no such package"

"""Measure search on public sets of questions and print the tables; `--help` says what there is.

Vectors are kept in `.venv/evals`: a run that was interrupted goes on where it stopped.
"""

import os
import sys
from collections.abc import Sequence
from functools import partial

from servers.rag.errors import RagError
from servers.rag.library.parts import open_embedder
from servers.rag.ports import Embedder
from tests.benchmarks.table import print_machine
from tests.evals.report import show
from tests.evals.retrieval.collections import Collection, DataMissing, Question
from tests.evals.retrieval.engine import Engine, cut, indexed, keys, passages, whole
from tests.evals.retrieval.metrics import worth, worth_by_mode
from tests.evals.retrieval.options import Options, parse_options
from tests.evals.retrieval.report import (
    BASELINES,
    PAPERS_CHUNKS,
    PAPERS_WINDOWS,
    Baseline,
    answers_lines,
    noise_line,
    ranking_table,
    tuning_table,
)
from tests.evals.retrieval.sets import PAPERS, load_collection, load_papers
from tests.evals.retrieval.vector_cache import CachedEmbedder, say
from tests.evals.retrieval.whole import read_answers

FOREIGN = {"cranfield": "xquad-en", "xquad-en": "cranfield", "covidqa": "cranfield"}
"""Sets whose questions have no answer in another: aircraft, general knowledge, viruses."""

FOREIGN_QUESTIONS = 100

TUNED_ON = ("scifact", "cranfield", "xquad-es", "paraphrases")
WEIGHTS = (0.3, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.8)


def main(argv: Sequence[str]) -> int:
    """Measure; the exit code is 1 where something is missing, 2 for unusable options."""
    options = parse_options(argv)
    try:
        inner = open_embedder(options.embedder, os.environ)
        embedder = None if inner is None else CachedEmbedder(inner, options.cache)
        print_machine()
        show(f"embedder: {embedder.fingerprint if embedder else 'none, words alone'}", [])
        if options.is_tuning:
            _tune(options, embedder)
        else:
            for name in options.sets:
                _measure(name, options, embedder)
    except (RagError, DataMissing) as error:
        say(f"not measured: {error}")
        return 1
    except KeyboardInterrupt:
        say("interrupted; the vectors computed are kept")
        return 130
    return 0


def _measure(name: str, options: Options, embedder: Embedder | None) -> None:
    if name == PAPERS:
        _measure_papers(options, embedder)
        return
    collection = load_collection(name)
    questions = _spread(collection.of_part("report") or collection.questions, options.questions)
    with indexed(whole(collection.items), embedder) as engine:
        rank = partial(keys, engine.searcher(options.word_weight))
        by_mode = worth_by_mode(rank, questions, engine.modes)
        lines = ranking_table(
            by_mode,
            BASELINES.get(name, Baseline()),
            tuned_on=not collection.of_part("report"),
        )
        show(
            f"{collection.name}: {len(questions)} questions, {len(collection.items)} texts",
            [*lines, *_noise(name, engine, options)],
        )


def _noise(name: str, engine: Engine, options: Options) -> list[str]:
    """Whether questions about something else get nothing, as they should."""
    if (foreign := FOREIGN.get(name)) is None or engine.embedder is None:
        return []
    other = load_collection(foreign)
    asked = _spread(other.questions, min(FOREIGN_QUESTIONS, options.questions or 10**9))
    searcher = engine.searcher(options.word_weight)
    refused = sum(not searcher.search(question.text).passages for question in asked)
    return [noise_line(other.name, refused, len(asked))]


def _measure_papers(options: Options, embedder: Embedder | None) -> None:
    papers = load_papers()
    questions = sum(len(paper.answers) for paper in papers)
    every = max(1, questions // options.questions) if options.questions else 1
    with indexed(cut(papers), embedder) as engine:
        search = partial(passages, engine.searcher(options.word_weight))
        lines = [
            line
            for mode in engine.modes
            for line in answers_lines(
                mode,
                read_answers(search, papers, mode, every),
                PAPERS_CHUNKS if mode == "hybrid" else None,
            )
        ]
        show(
            f"COVID-QA's papers, from document to answer: {len(papers)} papers, "
            f"{engine.index.counts().chunks} chunks; first measured on 472 questions: "
            f"{PAPERS_CHUNKS:.0%}, with windows of 512 words {PAPERS_WINDOWS:.0%}",
            lines,
        )


def _tune(options: Options, embedder: Embedder | None) -> None:
    """nDCG@10 for some weights, on the questions that no figure is stated for."""
    if embedder is None:
        say("without an embedder there is no weight to tune")
        return
    rows = [
        (name, _by_weight(load_collection(name), options, embedder))
        for name in TUNED_ON
        if name in options.sets
    ]
    show("nDCG@10 by the words' share of the score", tuning_table(WEIGHTS, rows))


def _by_weight(collection: Collection, options: Options, embedder: Embedder) -> list[float]:
    questions = _spread(collection.of_part("tuning"), options.questions)
    with indexed(whole(collection.items), embedder) as engine:
        return [
            worth(partial(keys, engine.searcher(weight)), questions, "hybrid").means[0].mean
            for weight in WEIGHTS
        ]


def _spread(questions: Sequence[Question], count: int | None) -> Sequence[Question]:
    """So many of them, from all over."""
    if count is None or count >= len(questions):
        return questions
    return [questions[place * len(questions) // count] for place in range(count)]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""How often the offline planner quotes a sentence that answers, and how often one that doesn't.

`python -m tests.evals.offline_answers` asks XQuAD's questions in English as "according to my
documents, …", of its own paragraphs and of those of other articles, where nothing answers. Words
alone are searched; plans run in Python itself. A quote is right if it holds the answer's words. The
questions of the first half were looked at while the rules were written, those of the second not.
"""

import asyncio
import sys
from collections import Counter
from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

from servers.rag.library.wording import passages_text
from servers.rag.search.searcher import WORD_WEIGHT, Searcher
from tests.evals.report import show
from tests.evals.retrieval.collections import Item, Paper, Span
from tests.evals.retrieval.engine import indexed, whole
from tests.evals.retrieval.sets import data_folder
from tests.evals.retrieval.squad import load_papers
from tests.modules.models.offline.quotes.test_document_plans import bench

ARTICLES: Final = 48
"""XQuAD's; their paragraphs follow each other, five of each."""

Outcome: TypeAlias = Literal[
    "right quote", "wrong quote", "passages with the answer", "other passages", "nothing"
]


def main() -> int:
    """Measure and print; the exit code is 1 where the set is missing."""
    file = data_folder() / "xquad" / "xquad.en.json"
    if not file.exists():
        sys.stderr.write(f"not measured: {file} is not on this machine\n")
        return 1
    papers = load_papers(file)
    per_article = len(papers) // ARTICLES
    looked_at = [p for at, p in enumerate(papers) if at // per_article % 2 == 1]
    unseen = [p for at, p in enumerate(papers) if at // per_article % 2 == 0]
    for name, asked, others in (
        ("odd articles, looked at", looked_at, unseen),
        ("even articles, not looked at", unseen, looked_at),
    ):
        _report(f"{name}, all paragraphs there", asked, papers)
        _report(f"{name}, only those of other articles there", asked, others)
    return 0


def _report(name: str, asked: Sequence[Paper], stored: Sequence[Paper]) -> None:
    texts = [Item(f"text-{paper.key}.txt", paper.text) for paper in stored]
    with indexed(whole(texts), None) as engine:
        counts = asyncio.run(_outcomes(engine.searcher(WORD_WEIGHT), asked))
    show(name, [f"{count:5} {outcome}" for outcome, count in sorted(counts.items())])


async def _outcomes(searcher: Searcher, asked: Sequence[Paper]) -> Counter[Outcome]:
    counts: Counter[Outcome] = Counter()
    for paper in asked:
        for question, answer in paper.answers:
            counts[await _outcome(searcher, question, answer)] += 1
    return counts


async def _outcome(searcher: Searcher, question: str, answer: Span) -> Outcome:
    found = searcher.search(question)
    notes = [found.note] if found.note else []
    here = bench(passages_text(found.passages, notes))
    outcome = await here.run(f"according to my documents, {question}")
    has_answer = answer.text.lower() in (outcome.answer or outcome.text).lower()
    if not outcome.declined:
        return "right quote" if has_answer else "wrong quote"
    if "nearest passages" not in outcome.text:
        return "nothing"
    return "passages with the answer" if has_answer else "other passages"


if __name__ == "__main__":
    sys.exit(main())

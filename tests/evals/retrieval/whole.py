"""From papers to answers: our chunker, our index, our search; is the answer in what is read?"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from servers.rag.passages import Passage, SearchMode
from tests.evals.retrieval.collections import Paper, Span

BUDGET_WORDS = 900
"""What a reader, or a model, is given to read for one question."""

SHORT_WORDS = 5
"""Answers of up to five words can hardly be cut by a chunk's end; 471 of the 1,380 are that short,
about as many as the first measurement asked (472)."""

Search = Callable[[str, SearchMode], Sequence[Passage]]


@dataclass(frozen=True, slots=True)
class Read:
    """Whether an answer was in what was read: in any paper, and in the one that it is from."""

    answer_words: int
    found: bool
    found_in_its_paper: bool

    @property
    def is_short(self) -> bool:
        """Whether the answer is a few words."""
        return self.answer_words <= SHORT_WORDS


def read_answers(
    search: Search, papers: Sequence[Paper], mode: SearchMode, every: int = 1
) -> list[Read]:
    """Ask each (or every n-th) question and read what is found, `BUDGET_WORDS` words of it."""
    return [
        _read(search(question, mode), paper.key, span)
        for question, span, paper in islice(_questions(papers), 0, None, every)
    ]


def holds(passages: Sequence[Passage], file: str | None, answer: Span) -> bool:
    """Whether the first words of the passages hold the answer, in a paper or in any (None)."""
    left = BUDGET_WORDS
    wanted = " ".join(answer.text.split())
    for passage in passages:
        words = passage.text.split()[:left]
        if file in (None, passage.file) and wanted in " ".join(words):
            return True
        left -= len(words)
    return False


def _read(passages: Sequence[Passage], file: str, answer: Span) -> Read:
    words = len(answer.text.split())
    return Read(words, holds(passages, None, answer), holds(passages, file, answer))


def _questions(papers: Sequence[Paper]) -> Iterator[tuple[str, Span, Paper]]:
    for paper in papers:
        for question, span in paper.answers:
            yield question, span, paper

"""Questions about spans of paragraphs, in SQuAD's JSON: XQuAD (Artetxe et al. 2020), COVID-QA.

XQuAD's paragraphs are short, and each is an item. COVID-QA's are whole papers (Möller et al. 2020):
cut into passages of 200 words for ranking, or taken whole for the way from document to answer.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel, TypeAdapter

from tests.evals.retrieval.collections import Collection, Item, Paper, Part, Question, Span

PASSAGE_WORDS = 200

_WORD = re.compile(r"\S+")


class _Answer(BaseModel):
    text: str
    answer_start: int


class _Asked(BaseModel):
    id: str | int
    question: str
    answers: list[_Answer]


class _Paragraph(BaseModel):
    context: str
    qas: list[_Asked]


class _Article(BaseModel):
    title: str = ""
    paragraphs: list[_Paragraph]


class _File(BaseModel):
    data: list[_Article]


_FILE = TypeAdapter(_File)


def load_paragraphs(file: Path, name: str, part: Part) -> Collection:
    """Each paragraph an item, each question with the one paragraph it was asked about."""
    items: list[Item] = []
    questions: list[Question] = []
    for paragraph in _paragraphs(file):
        item = Item(str(len(items)), paragraph.context)
        items.append(item)
        questions += [
            Question(str(asked.id), asked.question, {item.key: 1}, part) for asked in paragraph.qas
        ]
    return Collection(name, tuple(items), tuple(questions))


def load_passages(file: Path, name: str) -> Collection:
    """Papers cut every 200 words; the passages that the answer lies in are what to find."""
    items: list[Item] = []
    questions: list[Question] = []
    for paper in load_papers(file):
        passages = [
            (Item(f"{paper.key}:{place}", paper.text[start:end]), start, end)
            for place, (start, end) in enumerate(windows(paper.text, PASSAGE_WORDS))
        ]
        items += [item for item, _, _ in passages]
        for number, (text, span) in enumerate(paper.answers):
            hit = {i.key: 1 for i, start, end in passages if start < span.end and span.start < end}
            questions.append(Question(f"{paper.key}:{number}", text, hit))
    return Collection(name, tuple(items), tuple(questions))


def load_papers(file: Path) -> tuple[Paper, ...]:
    """The papers whole, each with its questions and where their answers stand."""
    papers: list[Paper] = []
    for paragraph in _paragraphs(file):
        text = paragraph.context
        answers = tuple(
            (asked.question, located(text, asked.answers[0].text, asked.answers[0].answer_start))
            for asked in paragraph.qas
            if asked.answers
        )
        title = text.split("\n", 1)[0].strip()
        papers.append(Paper(str(len(papers)), title, text, answers))
    return tuple(papers)


def located(text: str, answer: str, start: int) -> Span:
    """Where an answer stands, without space around it; offsets in these files are off by a few.

    Raises:
        ValueError: the text doesn't hold the answer.
    """
    bare = answer.strip()
    places = [found.start() for found in re.finditer(re.escape(bare), text)]
    if not bare or not places:
        raise ValueError(f"the answer {bare[:60]!r} does not stand in its text")
    nearest = min(places, key=lambda place: abs(place - start))
    return Span(nearest, nearest + len(bare), bare)


def windows(text: str, words: int) -> Iterator[tuple[int, int]]:
    """Where each run of so many words begins and ends, in characters; the last may be shorter."""
    places = [found.span() for found in _WORD.finditer(text)]
    for first in range(0, len(places), words):
        run = places[first : first + words]
        yield run[0][0], run[-1][1]


def _paragraphs(file: Path) -> Iterator[_Paragraph]:
    for article in _FILE.validate_json(file.read_bytes()).data:
        yield from article.paragraphs

"""Words in an index of 100,000 chunks: how long to write, open, search and change one document.

The texts are made up: words drawn by Zipf's law, of which the most frequent are English stop words.
A question is ten words in a row of some text. Beside it, FTS5 as one would first use it: the same
rows in a table that keeps lengths, `ORDER BY rank`, all words of the question asked for.
"""

import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import ParamSpec

import numpy as np

from servers.rag.index.index import Index
from servers.rag.index.words import STOP_WORDS, query_terms
from servers.rag.passages import Chunk, DocumentEntry
from servers.reading.source import Extracted
from tests.benchmarks.table import Row, at_most, middle_half

CHUNKS, CHUNK_WORDS, CHUNKS_PER_DOCUMENT = 100_000, 170, 20
VOCABULARY = 300_000
QUESTIONS, QUESTION_WORDS, ANSWERS = 60, 10, 200
SEED = 7

SEARCH_MS_MAX, OPEN_MS_MAX = 40, 300

Given = ParamSpec("Given")


def measure(home: Path, chunks: int = CHUNKS) -> list[Row]:
    """All of it, in one process and one thread."""
    texts = _texts(chunks)
    written = _timed(_write, home, texts)
    opened = [_timed(_open_and_close, home) for _ in range(5)]
    index = Index.open(home, "")
    questions = _questions(texts)
    first, again = (
        [_timed(index.search_words, asked, ANSWERS) for asked in questions] for _ in range(2)
    )
    one = [_timed(_put, index, 0, texts[place : place + 20]) for place in range(10, 60, 10)]
    size = index.path.stat().st_size
    index.close()
    plain = _plain(home / "plain.sqlite3", texts, questions)
    ours = float(np.mean([*first, *again]))
    return [
        Row("chunks written", f"{written / chunks * 1000:.2f} ms each"),
        Row("file", f"{size / chunks * 100_000 / 1e6:.0f} MB per 100,000 chunks, no vectors"),
        Row("opened", middle_half(opened), at_most(max(opened) * 1000, OPEN_MS_MAX, " ms")),
        Row("searched, new words", middle_half(first), _under(first)),
        Row("searched, words asked before", middle_half(again), _under(again)),
        Row("  FTS5 with lengths, by rank", middle_half(plain)),
        Row("  ours / that, mean", f"{ours / float(np.mean(plain)):.2f}"),
        Row("one document of 20 chunks changed", middle_half(one)),
    ]


def _under(seconds: Sequence[float]) -> str:
    return at_most(float(np.quantile(seconds, 0.9)) * 1000, SEARCH_MS_MAX, " ms in nine of ten")


def _texts(chunks: int) -> list[str]:
    """Made-up texts; rank r of the vocabulary has a share near 1 / r."""
    chance = np.random.default_rng(SEED)
    shares = 1 / (np.arange(VOCABULARY) + 2.7) ** 1.05
    bounds = np.cumsum(shares / shares.sum())
    names = [*sorted(STOP_WORDS)]
    names += [_name(number) for number in range(len(names), VOCABULARY)]
    texts: list[str] = []
    for _ in range(chunks):
        ranks: list[int] = np.searchsorted(bounds, chance.random(CHUNK_WORDS)).tolist()
        texts.append(" ".join(names[min(rank, VOCABULARY - 1)] for rank in ranks))
    return texts


def _name(number: int) -> str:
    """A word of syllables that no other number has."""
    syllables = [f"{consonant}{vowel}" for consonant in "bdfgklmnprtvz" for vowel in "aiou"]
    name = ""
    while number:
        number, place = divmod(number, len(syllables))
        name += syllables[place]
    return name + "k"


def _questions(texts: Sequence[str]) -> list[str]:
    """Ten words in a row of texts here and there."""
    step = len(texts) // QUESTIONS
    return [" ".join(texts[number * step].split()[:QUESTION_WORDS]) for number in range(QUESTIONS)]


def _write(home: Path, texts: Sequence[str]) -> None:
    index = Index.open(home, "")
    for number in range(0, len(texts), CHUNKS_PER_DOCUMENT):
        _put(index, number, texts[number : number + CHUNKS_PER_DOCUMENT])
    index.tidy()
    index.close()


def _put(index: Index, number: int, texts: Sequence[str]) -> None:
    chunks: list[Chunk] = []
    start = 0
    for text in texts:
        chunks.append(Chunk(text, start, start + len(text), 1))
        start += len(text) + 1
    entry = DocumentEntry(f"{number}.txt", f"/{number}.txt", "indexed", start, 1, 0)
    index.replace_document(entry, str(start), Extracted("\n".join(texts)), chunks)


def _plain(path: Path, texts: Sequence[str], questions: Sequence[str]) -> list[float]:
    """Seconds a question takes in a plain table."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(
            "CREATE VIRTUAL TABLE words USING fts5("
            "text, content='', tokenize='porter unicode61 remove_diacritics 2')"
        )
        with connection:
            connection.executemany("INSERT INTO words (text) VALUES (?)", ((t,) for t in texts))
            connection.execute("INSERT INTO words (words) VALUES ('optimize')")
        statement = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?"
        asked = [" OR ".join(query_terms(question)) for question in questions]

        def search(terms: str) -> list[tuple[int]]:
            return connection.execute(statement, (terms, ANSWERS)).fetchall()

        return [_timed(search, terms) for terms in asked]


def _open_and_close(home: Path) -> None:
    Index.open(home, "").close()


def _timed(work: Callable[Given, object], *args: Given.args, **kwargs: Given.kwargs) -> float:
    """How many seconds a call takes."""
    begun = time.perf_counter()
    work(*args, **kwargs)
    return time.perf_counter() - begun

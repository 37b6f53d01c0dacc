"""The table of words in FTS5: told of chunks that come and go, and searched by BM25.

What costs in a search is the number of rows that hold any of the words: each is counted, and
scored. So a question takes its words from the rarest on, until `ROWS_MAX` rows are to be looked at.
The most frequent ones are left out then; they have little to say anyway, as the weight of a word is
the logarithm of its rarity, and none once half of all chunks hold it. On 91,000 chunks 99 in 100 of
the ten best are the same as without this bound; up to some 40,000 chunks it hardly ever applies.

FTS5's `bm25()` spends most of its time looking up how long each matching row is. So the table is
made without those lengths (`columnsize=0`), which makes it five times as fast: every row then
counts as -1 word a column, which leaves the ranking without any normalisation of length. It comes
back through the columns: a chunk's words lie in the column of its class of length, and `bm25()`
takes a weight for each column, by which it multiplies the term frequency f. With K for what it
computes for every row,

    (k1 + 1) w f / (w f + K)  =  (k1 + 1) f / (f + K / w)

so that the weight w = K / (k1 (1 - b + b length / average)) gives exactly the BM25 of a chunk of
that length (Robertson and Zaragoza, 2009, section 3.4). Lengths within a class count as its mean.
"""

import sqlite3
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, pairwise
from math import log

from core.base.frozen import frozen
from servers.rag.index.schema import LENGTH_COLUMNS
from servers.rag.index.words import EVERYDAY_WORDS, count_words, indexed, query_terms
from servers.rag.passages import WordHit

MERGED_PAGES = 256
"""Written in one transaction: about 50 ms, so that others need not wait long."""

_CHANGES_OF_NOTHING = 2
"""A merge that finds nothing to do counts fewer changes than this (sqlite.org/fts5.html, 6.6)."""

ROWS_MAX = 120_000
"""Of all words together: about 20 ms."""

RARE_SHARE = 0.01
RARE_ROWS_MAX = 2_000
"""A term is rare if this share of all chunks holds it, or just one; never more than so many."""

CLASS_LIMITS_WORDS = (20, 40, 60, 80, 100, 120, 145, 175, 210, 255, 320)
"""A class ends below each of these; the last one has no end. With twelve classes the figures are
those of FTS5 with lengths, with eight they lose 0.006 on Cranfield."""

_LAST_CLASS_WORDS = 420

K1, B = 1.2, 0.75
"""FTS5's own constants, which can't be changed there; others gained nothing on SciFact's training
claims, Cranfield's odd questions and XQuAD-es."""

K_MIN = 0.02
"""K falls with the average length, and is below 0 where that is less than 36 words."""

_THERE_OR_NOT = 1_000.0
"""A weight at which a term's frequency and K vanish: in texts as short as that, few words come
twice, and it is enough to ask whether they are there."""


@frozen
class Lengths:
    """How many chunks a class holds, and how many words they have together."""

    chunks: int = 0
    words: int = 0


@frozen
class _Term:
    """A term of the question; `rows` is how many chunks hold it."""

    expression: str
    rows: int


class WordTable:
    """Adds and removes the words of chunks, and keeps count of lengths; within one transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._chunks = Counter[int]()
        self._words = Counter[int]()

    def add(self, chunk_id: int, text: str) -> None:
        """Make a chunk findable by the words of its text."""
        words, number = self._counted(text, 1)
        self._connection.execute(
            f"INSERT INTO words (rowid, c{number}) VALUES (?, ?)",  # noqa: S608 - a column's number
            (chunk_id, words),
        )

    def remove(self, chunk_id: int, text: str) -> None:
        """Forget a chunk; `text` must be what it was added with."""
        words, number = self._counted(text, -1)
        self._connection.execute(
            f"INSERT INTO words (words, rowid, c{number}) VALUES ('delete', ?, ?)",  # noqa: S608 - as above
            (chunk_id, words),
        )

    def write_lengths(self) -> None:
        """Write down what the lengths have become; the last thing to do."""
        self._connection.executemany(
            "INSERT INTO lengths (class, chunks, words) VALUES (?, ?, ?) ON CONFLICT (class) "
            "DO UPDATE SET chunks = chunks + excluded.chunks, words = words + excluded.words",
            [(number, self._chunks[number], self._words[number]) for number in self._chunks],
        )

    def _counted(self, text: str, sign: int) -> tuple[str, int]:
        """What FTS5 is given for a text, and the column that it belongs in."""
        words = indexed(text)
        count = count_words(words)
        number = length_class(count)
        self._chunks[number] += sign
        self._words[number] += sign * count
        return words, number


def read_lengths(connection: sqlite3.Connection) -> Mapping[int, Lengths]:
    """How many chunks there are of each class of length."""
    rows: Iterable[tuple[int, int, int]] = connection.execute("SELECT * FROM lengths")
    return {number: Lengths(chunks, words) for number, chunks, words in rows}


def merge_words(connection: sqlite3.Connection) -> bool:
    """Merge some of what writes have scattered; whether there was anything to merge."""
    before = connection.total_changes
    connection.execute("INSERT INTO words (words, rank) VALUES ('merge', ?)", (-MERGED_PAGES,))
    return connection.total_changes - before >= _CHANGES_OF_NOTHING


def search_words(
    connection: sqlite3.Connection,
    query: str,
    count: int,
    document: int | None = None,
    rows_max: int = ROWS_MAX,
) -> list[WordHit]:
    """The best `count` chunks, best first; only of one document if given."""
    lengths = read_lengths(connection)
    chunks = sum(each.chunks for each in lengths.values())
    terms = [term for term in _counted(connection, query) if term.rows]
    if not terms:
        return []
    # In one document few rows are scored in any case, and each word may be needed.
    asked = terms if document is not None else _telling(terms, rows_max)
    hits = _ranked(connection, _any_of(asked), column_weights(lengths), count, document)
    rare = _holding_rare(connection, terms, chunks)
    return [WordHit(chunk_id, -score, chunk_id in rare) for chunk_id, score in hits]


def full_match(connection: sqlite3.Connection, query: str) -> float:
    """What a chunk of average length scores that holds every word of the query once.

    The sum of the words' idf (FTS5's, which is next to 0 from half of all chunks on); a word that
    no chunk holds counts as the rarest that there can be.
    """
    lengths = read_lengths(connection)
    chunks = sum(each.chunks for each in lengths.values())
    terms = _counted(connection, query)
    ratios = ((chunks - term.rows + 0.5) / (term.rows + 0.5) for term in terms)
    return weight_of_one(lengths) * sum(max(0.0, log(ratio)) for ratio in ratios)


def _counted(connection: sqlite3.Connection, query: str) -> list[_Term]:
    """The terms of a question, from the rarest on.

    Counting costs little beside scoring: 6 of 34 ms for nine words in 60,000 chunks.
    """
    counted = [_Term(term, _rows(connection, term)) for term in query_terms(query)]
    return sorted(counted, key=lambda term: term.rows)


def _rows(connection: sqlite3.Connection, term: str) -> int:
    found = connection.execute("SELECT count(*) FROM words WHERE words MATCH ?", (term,))
    return found.fetchone()[0]


def _telling(terms: Sequence[_Term], rows_max: int) -> Sequence[_Term]:
    """The first of the terms, which come from the rarest on: as many as are worth their cost."""
    rows = list(accumulate(term.rows for term in terms))
    return terms[: max(1, bisect_right(rows, rows_max))]


def _any_of(terms: Iterable[_Term]) -> str:
    return " OR ".join(term.expression for term in terms)


def _ranked(
    connection: sqlite3.Connection,
    expression: str,
    weights: Sequence[float],
    count: int,
    document: int | None,
) -> list[tuple[int, float]]:
    """Chunk ids with FTS5's score, which is below 0, the lower the better.

    Not `ORDER BY rank`: that sorts all rows, where this keeps the best `count` as it goes.
    """
    places = ", ".join("?" * len(weights))
    among = "" if document is None else "AND rowid IN (SELECT id FROM chunks WHERE document = ?)"
    statement = (
        f"SELECT rowid, bm25(words, {places}) AS score FROM words "  # noqa: S608 - question marks
        f"WHERE words MATCH ? {among} ORDER BY score LIMIT ?"
    )
    within = () if document is None else (document,)
    return connection.execute(statement, (*weights, expression, *within, count)).fetchall()


def _holding_rare(connection: sqlite3.Connection, terms: Iterable[_Term], chunks: int) -> set[int]:
    """The chunks that hold a term which is rare here, and rare by itself."""
    most = min(max(1, int(RARE_SHARE * chunks)), RARE_ROWS_MAX)
    rare = [
        term
        for term in terms
        if term.rows <= most and term.expression.strip('"') not in EVERYDAY_WORDS
    ]
    if not rare:
        return set()
    rows = connection.execute("SELECT rowid FROM words WHERE words MATCH ?", (_any_of(rare),))
    return {chunk_id for (chunk_id,) in rows}


def length_class(words: int) -> int:
    """The class of a chunk of so many words: the number of its column."""
    return bisect_right(CLASS_LIMITS_WORDS, words)


def column_weights(classes: Mapping[int, Lengths]) -> list[float]:
    """The weight of each column, given what the index holds."""
    average = _average_words(classes)
    k = _k(average)
    if k < K_MIN:
        return [_THERE_OR_NOT] * LENGTH_COLUMNS
    means = (
        _mean_words(number, classes.get(number, Lengths())) for number in range(LENGTH_COLUMNS)
    )
    return [k / (K1 * (1 - B + B * mean / average)) for mean in means]


def weight_of_one(classes: Mapping[int, Lengths]) -> float:
    """What BM25 gives for a term that a chunk of average length holds once, per unit of idf."""
    return 1.0 if _k(_average_words(classes)) >= K_MIN else K1 + 1


def _average_words(classes: Mapping[int, Lengths]) -> float:
    chunks = sum(each.chunks for each in classes.values())
    return max(1.0, sum(each.words for each in classes.values()) / max(1, chunks))


def _k(average_words: float) -> float:
    return K1 * (1 - B - B * LENGTH_COLUMNS / average_words)


def _mean_words(number: int, held: Lengths) -> float:
    """The mean length of a class; of an empty one the middle."""
    if held.chunks > 0:
        return held.words / held.chunks
    limits = list(pairwise((0, *CLASS_LIMITS_WORDS, _LAST_CLASS_WORDS)))
    return sum(limits[number]) / 2

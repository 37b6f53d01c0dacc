"""Search by words: BM25 in FTS5, cheap on many chunks too.

What costs is the number of rows that hold any of the words: each is counted, and scored. So a
question takes its words from the rarest on, until `ROWS_MAX` rows are to be looked at. The most
frequent ones are left out then; they have little to say anyway, as the weight of a word is the
logarithm of its rarity, and none once half of all chunks hold it. On 91,000 chunks 99 in 100 of the
ten best are the same as without this bound; up to some 40,000 chunks it hardly ever applies.
"""

import sqlite3
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import log

from servers.rag.index.english import EVERYDAY_WORDS
from servers.rag.index.frequencies import Frequencies
from servers.rag.index.length_classes import column_weights, weight_of_one
from servers.rag.index.records import WordHit
from servers.rag.index.word_table import read_lengths
from servers.rag.index.words import query_terms

ROWS_MAX = 120_000
"""Of all words together: about 20 ms."""

RARE_SHARE = 0.01
RARE_ROWS_MAX = 2_000
"""A term is rare if this share of all chunks holds it, or just one; never more than so many."""


@dataclass(frozen=True, slots=True)
class _Term:
    """A term of the question; `rows` is how many chunks hold it."""

    expression: str
    rows: int


def search_words(
    connection: sqlite3.Connection,
    frequencies: Frequencies,
    query: str,
    count: int,
    document: int | None = None,
    rows_max: int = ROWS_MAX,
) -> list[WordHit]:
    """The best `count` chunks, best first; only of one document if given."""
    lengths = read_lengths(connection)
    chunks = sum(each.chunks for each in lengths.values())
    terms = [term for term in _counted(connection, frequencies, query, chunks) if term.rows]
    if not terms:
        return []
    # In one document few rows are scored in any case, and each word may be needed.
    asked = terms if document is not None else _telling(terms, rows_max)
    hits = _ranked(connection, _any_of(asked), column_weights(lengths), count, document)
    rare = _holding_rare(connection, terms, chunks)
    return [WordHit(chunk_id, -score, chunk_id in rare) for chunk_id, score in hits]


def full_match(connection: sqlite3.Connection, frequencies: Frequencies, query: str) -> float:
    """What a chunk of average length scores that holds every word of the query once.

    The sum of the words' idf (FTS5's, which is next to 0 from half of all chunks on); a word that
    no chunk holds counts as the rarest that there can be.
    """
    lengths = read_lengths(connection)
    chunks = sum(each.chunks for each in lengths.values())
    terms = _counted(connection, frequencies, query, chunks)
    ratios = ((chunks - term.rows + 0.5) / (term.rows + 0.5) for term in terms)
    return weight_of_one(lengths) * sum(max(0.0, log(ratio)) for ratio in ratios)


def _counted(
    connection: sqlite3.Connection, frequencies: Frequencies, query: str, chunks: int
) -> list[_Term]:
    """The terms of a question, from the rarest on."""
    terms = query_terms(query)
    counted = [_Term(term, frequencies.rows(connection, term, chunks)) for term in terms]
    return sorted(counted, key=lambda term: term.rows)


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

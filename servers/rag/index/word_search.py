"""How many chunks hold a term: counted by FTS5, remembered where counting takes long."""

import sqlite3
import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import log

from servers.rag.index.word_table import (
    EVERYDAY_WORDS,
    column_weights,
    query_terms,
    read_lengths,
    weight_of_one,
)
from servers.rag.passages import WordHit

REMEMBERED_FROM_CHUNKS = 10_000
"""In smaller indexes a count takes some microseconds, and each new chunk may matter."""

DRIFT_MAX = 0.01
"""A count stands while the number of chunks has changed by no more than this share."""

TERMS_MAX = 20_000


@dataclass(frozen=True, slots=True)
class _Count:
    rows: int
    chunks: int


class Frequencies:
    """Counts, the latest used ones kept; safe in several threads."""

    def __init__(self) -> None:
        self._counts: OrderedDict[str, _Count] = OrderedDict()
        self._lock = threading.Lock()

    def rows(self, connection: sqlite3.Connection, term: str, chunks: int) -> int:
        """How many of the `chunks` hold a term (an expression of FTS5)."""
        known = self._known(term, chunks)
        if known is None:
            (known,) = connection.execute(
                "SELECT count(*) FROM words WHERE words MATCH ?", (term,)
            ).fetchone()
            if chunks >= REMEMBERED_FROM_CHUNKS:
                self._remember(term, _Count(known, chunks))
        return known

    def _known(self, term: str, chunks: int) -> int | None:
        with self._lock:
            count = self._counts.get(term)
            if count is None or abs(chunks - count.chunks) > DRIFT_MAX * count.chunks:
                return None
            self._counts.move_to_end(term)
            return count.rows

    def _remember(self, term: str, count: _Count) -> None:
        with self._lock:
            self._counts[term] = count
            if len(self._counts) > TERMS_MAX:
                self._counts.popitem(last=False)


# Search by words: BM25 in FTS5, cheap on many chunks too.
#
# What costs is the number of rows that hold any of the words: each is counted, and scored. So a
# question takes its words from the rarest on, until `ROWS_MAX` rows are to be looked at. The
# most frequent ones are left out then; they have little to say anyway, as the weight of a word
# is the logarithm of its rarity, and none once half of all chunks hold it. On 91,000 chunks 99
# in 100 of the ten best are the same as without this bound; up to some 40,000 chunks it hardly
# ever applies.

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

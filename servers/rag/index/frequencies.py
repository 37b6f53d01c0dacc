"""How many chunks hold a term: counted by FTS5, remembered where counting takes long."""

import sqlite3
import threading
from collections import OrderedDict
from dataclasses import dataclass

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

"""What the table of words is told: chunks that come, and chunks that go."""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping

from servers.rag.index.length_classes import Lengths, length_class
from servers.rag.index.words import count_words, indexed


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

"""The markdown of documents in compressed blocks; needs the standard library alone.

Blocks make a passage cost a block and not a book. Offsets count characters. Lone surrogates, which
broken files bring along, are kept.
"""

import sqlite3
import zlib

BLOCK_CHARACTERS = 16_384
"""About 5 KB compressed, and 60 µs to read."""

_ENCODING, _ERRORS = "utf-8", "surrogatepass"
_LEVEL = 6


def write_text(connection: sqlite3.Connection, document: int, markdown: str) -> None:
    """Make `markdown` the text of a document."""
    starts = range(0, len(markdown), BLOCK_CHARACTERS)
    connection.execute("DELETE FROM texts WHERE document = ?", (document,))
    connection.executemany(
        "INSERT INTO texts (document, block, content) VALUES (?, ?, ?)",
        (
            (document, number, _packed(markdown[start : start + BLOCK_CHARACTERS]))
            for number, start in enumerate(starts)
        ),
    )


def read_text(connection: sqlite3.Connection, document: int) -> str:
    """The whole text of a document; empty if it has none."""
    rows = connection.execute(
        "SELECT content FROM texts WHERE document = ? ORDER BY block", (document,)
    )
    return "".join(_unpacked(content) for (content,) in rows)


class TextRanges:
    """Reads ranges of texts; keeps the blocks read, so make a new one for each question."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._blocks: dict[tuple[int, int], str] = {}

    def read(self, document: int, start: int, end: int) -> str:
        """`markdown[start:end]` of a document; what is not there is left out."""
        first, last = start // BLOCK_CHARACTERS, max(start, end - 1) // BLOCK_CHARACTERS
        text = "".join(self._block(document, number) for number in range(first, last + 1))
        offset = first * BLOCK_CHARACTERS
        return text[start - offset : end - offset]

    def _block(self, document: int, number: int) -> str:
        known = self._blocks.get((document, number))
        if known is None:
            row = self._connection.execute(
                "SELECT content FROM texts WHERE document = ? AND block = ?", (document, number)
            ).fetchone()
            known = self._blocks[document, number] = _unpacked(row[0]) if row else ""
        return known


def _packed(text: str) -> bytes:
    return zlib.compress(text.encode(_ENCODING, _ERRORS), _LEVEL)


def _unpacked(content: bytes) -> str:
    return zlib.decompress(content).decode(_ENCODING, _ERRORS)

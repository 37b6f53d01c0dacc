"""Rows of cells into markdown, within bounds; shared by spreadsheets and delimited text."""

from collections.abc import Iterable, Sequence

from servers.reading.context import Reading
from servers.reading.markdown import blocks, cleaned, table, unwrapped

ROWS_BETWEEN_LOOKS = 1_000
"""Rows after which the time is looked at."""


def bounded_rows(rows: Iterable[Sequence[str]], reading: Reading, what: str) -> list[list[str]]:
    """The rows within the bounds, cleaned; a note says what is left out. `what`: `the sheet A`."""
    limits = reading.limits
    kept: list[list[str]] = []
    chars = 0
    for number, row in enumerate(rows):
        is_late = number % ROWS_BETWEEN_LOOKS == 0 and reading.clock.left() < 0
        if number >= limits.rows or is_late or chars > limits.markdown_chars:
            reading.note(f"only the first {number:,} rows of {what} are read")
            break
        if any(cell.strip() for cell in row[limits.columns :]):
            reading.note(f"only the first {limits.columns} columns of {what} are read")
        cells = [unwrapped(cleaned(cell[: limits.cell_chars])) for cell in row[: limits.columns]]
        while cells and not cells[-1]:
            cells.pop()
        chars += sum(map(len, cells)) + 3 * len(cells)
        kept.append(cells)
    return kept


def as_blocks(rows: Iterable[Sequence[str]]) -> str:
    """Tables where empty rows part them; rows of one cell before a table are its caption."""
    parts: list[str] = []
    group: list[Sequence[str]] = []
    for row in [*rows, ()]:
        if any(row):
            group.append(row)
        elif group:
            parts.append(_block(_without_empty_columns(group)))
            group = []
    return blocks(parts)


def _block(group: list[list[str]]) -> str:
    """One group of rows; a single column is text."""
    if max(len(row) for row in group) == 1:
        return "\n".join(row[0] for row in group if row)
    captions: list[str] = []
    while len(group) > 1 and sum(map(bool, group[0])) == 1:
        captions.append(next(cell for cell in group.pop(0) if cell))
    return blocks(["\n".join(captions), table(group)])


def _without_empty_columns(group: list[Sequence[str]]) -> list[list[str]]:
    """The rows without the columns on the left that are empty in all of them."""
    first = min(next(place for place, cell in enumerate(row) if cell) for row in group)
    return [list(row[first:]) for row in group]

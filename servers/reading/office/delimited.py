"""Values between commas, semicolons, tabs or bars: RFC 4180 and what programs write instead."""

import csv
import io

from servers.reading.context import Reading
from servers.reading.office.tables import as_blocks, bounded_rows
from servers.reading.source import Extracted, Source

DELIMITERS = ",;\t|"
SAMPLE_CHARS = 20_000
SAMPLE_LINES = 20


def read_csv(source: Source, reading: Reading) -> Extracted:
    """The rows as a table, its first one as head."""
    # A NUL ends a row for the parser, and is nothing that a cell holds.
    text = source.text.replace("\0", " ")
    delimiter = "\t" if source.suffix == ".tsv" else likely_delimiter(text[:SAMPLE_CHARS])
    # The parser gives up at a cell above 131,072 characters; a quote that is never closed is one.
    lines = io.StringIO(text, newline="")
    rows = csv.reader(lines, delimiter=delimiter, strict=False)
    try:
        kept = bounded_rows(rows, reading, "the file")
    except csv.Error as error:
        reading.note(f"it is read as plain text: {error}")
        return Extracted(text)
    return Extracted(as_blocks(kept))


def likely_delimiter(sample: str) -> str:
    """The one that divides the first lines into most cells, equally many in each."""
    lines = [line for line in sample.splitlines() if line.strip()][:SAMPLE_LINES]

    def fitness(delimiter: str) -> tuple[float, int]:
        counts = [len(row) for row in csv.reader(lines, delimiter=delimiter)]
        usual = max(set(counts), key=counts.count, default=1)
        agreement = counts.count(usual) / max(len(counts), 1)
        return (agreement if usual > 1 else 0.0, usual)

    try:
        return max(DELIMITERS, key=fitness)
    except csv.Error:
        return ","

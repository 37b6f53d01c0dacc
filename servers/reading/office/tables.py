"""Rows of cells into markdown, within bounds: spreadsheets and delimited text.

Spreadsheets are read by openpyxl, which streams their rows. Delimited are values between commas,
semicolons, tabs or bars: RFC 4180 and what programs write instead.
"""

import csv
import datetime
import io
import warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, cast

from servers.reading.context import Reading
from servers.reading.markdown import as_title, blocks, cleaned, heading, raised, table, unwrapped
from servers.reading.office.packages import office_title, opened_package, part_of
from servers.reading.source import Extracted, ExtractionError, Source

if TYPE_CHECKING:
    from openpyxl import Worksheet
    from openpyxl.cell.rich_text import TextBlock

ROWS_BETWEEN_LOOKS = 1_000
"""Rows after which the time is looked at."""

DELIMITERS = ",;\t|"
SAMPLE_CHARS = 20_000
SAMPLE_LINES = 20

MEDIA_FOLDER = "xl/media/"


def read_xlsx(source: Source, reading: Reading) -> Extracted:
    """The values of all sheets; formulas give what was last computed.

    Raises:
        ExtractionError: it is encrypted or damaged.
    """
    import openpyxl

    with opened_package(source.data, reading.limits) as package:
        title = office_title(package)
        images = [
            part_of(package, name) for name in package.namelist() if name.startswith(MEDIA_FOLDER)
        ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about what it does not know and nobody reads
        try:
            workbook = openpyxl.load_workbook(
                io.BytesIO(source.data),
                read_only=True,
                data_only=True,
                keep_links=False,
                rich_text=True,
            )
            sheets = [_sheet(sheet, reading) for sheet in workbook.worksheets]
            workbook.close()
        except Exception as error:
            raise ExtractionError("the workbook is damaged and can't be read") from error
    pictures = [reading.pictures.describe(image) for image in images if image]
    return Extracted(blocks([*sheets, *pictures]), as_title(title))


def _sheet(sheet: "Worksheet", reading: Reading) -> str:
    # What a sheet says of its own size may be wrong; without it, rows are read to their end.
    sheet.reset_dimensions()
    rows = ([_shown(value) for value in row] for row in sheet.iter_rows(values_only=True))
    text = as_blocks(bounded_rows(rows, reading, f"the sheet {sheet.title[:60]}"))
    return blocks([heading(2, sheet.title), text]) if text else ""


def _shown(value: object) -> str:
    """A cell as people read it: no `.0`, no midnight after a date."""
    match value:
        case None:
            return ""
        case bool():
            return "TRUE" if value else "FALSE"
        case float():
            return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
        case datetime.datetime() if value.time() == datetime.time():
            return value.date().isoformat()
        case datetime.datetime():
            return value.isoformat(sep=" ", timespec="seconds")
        case list():
            return _written_out(cast("list[str | TextBlock]", value))
        case _:
            return str(value)


def _written_out(parts: "list[str | TextBlock]") -> str:
    """Text with fonts in it; superscripts as `^48`."""
    text = ""
    for part in parts:
        if isinstance(part, str):
            text += part
        else:
            is_raised = part.font.vertAlign == "superscript"
            text += raised(text, part.text) if is_raised else part.text
    return text


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

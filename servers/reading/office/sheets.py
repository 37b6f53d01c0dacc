"""Spreadsheets: sheet by sheet as tables, by openpyxl, which streams their rows."""

import datetime
import io
import warnings
from typing import TYPE_CHECKING, cast

from servers.reading.context import Reading
from servers.reading.markdown import as_title, blocks, heading, raised
from servers.reading.office.packages import office_title, opened_package, part_of
from servers.reading.office.tables import as_blocks, bounded_rows
from servers.reading.source import Extracted, ExtractionError, Source

if TYPE_CHECKING:
    from openpyxl import Worksheet
    from openpyxl.cell.rich_text import TextBlock

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

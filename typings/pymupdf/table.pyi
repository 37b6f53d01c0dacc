"""As much of PyMuPDF's tables as is used."""

from collections.abc import Callable, Sequence

from pymupdf import Box, Page

class TableRow:
    cells: Sequence[Box | None]

class TableHeader:
    external: bool
    """Whether the names of the columns stand above the rows."""

    cells: Sequence[Box | None]

class Table:
    page: Page
    rows: Sequence[TableRow]
    header: TableHeader

    to_markdown: Callable[..., str]
    """Called by pymupdf4llm for each table, and replaced by ours."""

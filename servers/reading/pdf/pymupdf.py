"""PDF by PyMuPDF 2: pymupdf4llm finds headings by letter sizes, tables by lines, and columns.

Its layout network is left off: it takes 13 times as long (0.55 s a page instead of 0.04 s), more
than embedding the page's text does. Both packages print to stdout, which is kept from there.

What it gets wrong is written from the page's characters: it gives superscripts, underlines and
highlights as HTML tags, which are no text of the page, and drops superscripts in tables. Its tables
repeat a merged cell in each place that it covers, name columns `Col2` that have no name, and take a
second for some hundred cells.
"""

import contextlib
import importlib.util
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from servers.reading.context import Reading
from servers.reading.markdown import raised, table, without_hyphens
from servers.reading.pictures.pictures import AREA_MIN_PIXELS, SIDE_MIN_PIXELS
from servers.reading.source import ENCRYPTED, ExtractionError

if TYPE_CHECKING:
    from pymupdf import Box, Document, Line, Page, Span, TextDict
    from pymupdf.table import Table

PAGES_AT_ONCE = 8
GRAPHICS_MAX = 5_000
"""Lines and curves of a page; with more of them it is a map or a plot, without tables."""

PLAIN_SECONDS_A_PAGE = 0.02
"""What a page without structure takes at most; kept back for the pages to come."""

SCAN_DPI = 150
POINTS_AN_INCH = 72
REPEATED_PAGES = 3
"""A picture on more pages than these is a logo."""

PICTURES_MAX = 200
"""Taken out of one file; the rest is not even looked at."""

TEXT_FLAGS = 195
"""`pymupdf.TEXTFLAGS_TEXT`: no pictures, blanks as they are."""

SUPERSCRIPT = 1
"""`pymupdf.TEXT_FONT_SUPERSCRIPT`."""

_STYLE_TAGS = ("u", "mark")
_SUPERSCRIPT = re.compile(r" ?<sup>(.*?)</sup>")
_EMPHASIS = "*_~`"
_TAG = re.compile("<(sup|u|mark)>")

Convert: TypeAlias = Callable[[list[int]], list[str]]
"""Gives the markdown of some pages of one document."""


class Unreadable(Exception):
    """PyMuPDF can't open the file; another library may."""


def is_installed() -> bool:
    """Whether the package is at hand; nothing is imported."""
    return importlib.util.find_spec("pymupdf") is not None


def opened(data: bytes) -> "MuPdf":
    """Open a PDF in memory.

    Raises:
        ExtractionError: it needs a password.
        Unreadable: it can't be opened.
    """
    with contextlib.redirect_stdout(sys.stderr):
        try:
            import pymupdf

            pymupdf.TOOLS.mupdf_display_errors(False)
            pymupdf.TOOLS.mupdf_display_warnings(False)
            document = pymupdf.open(stream=data, filetype="pdf")
        except Exception as error:
            raise Unreadable(str(error)) from error
        if document.needs_pass:
            document.close()
            raise ExtractionError(ENCRYPTED)
        try:
            return MuPdf(document, _converter(document))
        except Exception as error:
            document.close()
            raise Unreadable(str(error)) from error


def _converter(document: "Document") -> Convert:
    """What writes pages of a document as markdown; looks at all of its letters first."""
    import pymupdf4llm
    from pymupdf.table import Table

    if not document.page_count:
        raise Unreadable("it has no pages")
    pymupdf4llm.use_layout(False)
    Table.to_markdown = table_markdown  # it has no option that says so
    headings = pymupdf4llm.IdentifyHeaders(document)

    def convert(pages: list[int]) -> list[str]:
        found = pymupdf4llm.to_markdown(
            document,
            pages=pages,
            hdr_info=headings,
            page_chunks=True,
            ignore_images=True,
            graphics_limit=GRAPHICS_MAX,
        )
        return [page["text"] for page in found]

    return convert


class MuPdf:
    """An open PDF."""

    def __init__(self, document: "Document", convert: Convert) -> None:
        """Takes over the document."""
        self._document = document
        self._convert = convert

    def page_count(self) -> int:
        """How many pages it has."""
        return self._document.page_count

    def title(self) -> str:
        """What its metadata give as title."""
        return (self._document.metadata or {}).get("title") or ""

    def pages(self, count: int, reading: Reading) -> list[str]:
        """The markdown of the first pages; without structure once time runs short."""
        pages: list[str] = []
        with contextlib.redirect_stdout(sys.stderr):
            while len(pages) < count:
                if reading.clock.left() < PLAIN_SECONDS_A_PAGE * (count - len(pages)):
                    after = f"after page {len(pages):,}"
                    reading.note(f"it takes too long: {after} headings and tables are not told")
                    break
                numbers = range(len(pages), min(len(pages) + PAGES_AT_ONCE, count))
                pages += self._structured(numbers, reading)
            pages += [self._plain(number, reading) for number in range(len(pages), count)]
        return pages

    def _structured(self, numbers: range, reading: Reading) -> list[str]:
        try:
            found = self._convert(list(numbers))
        except Exception:  # noqa: BLE001 - whatever a damaged page brings about
            found = []
        if len(found) == len(numbers):
            return [
                self._mended(page, number, reading)
                for page, number in zip(found, numbers, strict=True)
            ]
        if len(numbers) == 1:
            return [self._plain(numbers[0], reading)]
        # One of them is the trouble: the others keep their structure.
        return [self._structured(range(each, each + 1), reading)[0] for each in numbers]

    def _mended(self, markdown: str, number: int, reading: Reading) -> str:
        if "```" not in markdown and _TAG.search(markdown) is None:
            return markdown
        plain = self._plain(number, reading)
        return without_tags(indented(markdown, plain), plain)

    def _plain(self, number: int, reading: Reading) -> str:
        try:
            return page_text(self._document.load_page(number))
        except Exception:  # noqa: BLE001 - whatever a damaged page brings about
            reading.note(f"page {number + 1} is damaged")
            return ""

    def drawn(self, page: int, pixels_max: int) -> bytes:
        """A page as a PNG, at 150 dpi unless it is very large; empty if it can't be drawn."""
        try:
            loaded = self._document.load_page(page)
            pixmap = loaded.get_pixmap(dpi=_dpi(loaded, pixels_max), alpha=False)
            return pixmap.tobytes("png")
        except Exception:  # noqa: BLE001 - whatever a damaged page brings about
            return b""

    def pictures(self, count: int) -> dict[int, list[bytes]]:
        """The pictures on the first pages; small ones and those on many pages are left out."""
        placed: dict[int, int] = {}
        pages: Counter[int] = Counter()
        for number in range(count):
            for xref in self._picture_numbers(number):
                placed.setdefault(xref, number)
                pages[xref] += 1
        found: dict[int, list[bytes]] = {}
        few = [xref for xref in placed if pages[xref] <= REPEATED_PAGES]
        for xref in few[:PICTURES_MAX]:
            with contextlib.suppress(Exception):  # a damaged picture is as good as none
                image = self._document.extract_image(xref)["image"]
                found.setdefault(placed[xref], []).append(image)
        return found

    def _picture_numbers(self, number: int) -> set[int]:
        try:
            images = self._document.load_page(number).get_images(full=True)
        except Exception:  # noqa: BLE001 - whatever a damaged page brings about
            return set()
        return {
            image[0]
            for image in images
            if min(image[2], image[3]) >= SIDE_MIN_PIXELS and image[2] * image[3] >= AREA_MIN_PIXELS
        }

    def close(self) -> None:
        """Let go of it."""
        self._document.close()


def indented(markdown: str, plain: str) -> str:
    """The markdown with the indentation of its code as in the page's plain text.

    pymupdf4llm tells it from where lines begin, and drops blanks that are written out.
    """
    written = plain.split("\n")
    lines = markdown.split("\n")
    place, is_code = 0, False
    for index, line in enumerate(lines):
        if line.startswith("```"):
            is_code = not is_code
        elif is_code and line.strip() and not line.startswith(" "):
            found = _next_line(written, line.strip(), place)
            if found is not None:
                lines[index], place = written[found].rstrip(), found + 1
    return "\n".join(lines)


def _next_line(lines: list[str], wanted: str, place: int) -> int | None:
    """Where a line with these words comes next; None if it does not."""
    return next((at for at in range(place, len(lines)) if lines[at].strip() == wanted), None)


def _dpi(page: "Page", pixels_max: int) -> int:
    square_points = max(page.rect.width * page.rect.height, 1.0)
    most = POINTS_AN_INCH * (pixels_max / square_points) ** 0.5
    return max(1, min(SCAN_DPI, int(most)))


def page_text(page: "Page") -> str:
    """The text of a page as it is stored, line by line."""
    found = page.get_text("dict", flags=TEXT_FLAGS)
    return "\n".join(_line_text(line) for line in _lines(found))


def table_markdown(found: "Table", **_options: object) -> str:
    """A table as markdown; to stand in for `pymupdf.table.Table.to_markdown`."""
    lines = list(_lines(found.page.get_text("rawdict", flags=TEXT_FLAGS)))
    rows = [list(row.cells) for row in found.rows]
    if found.header.external:
        rows.insert(0, list(found.header.cells))
    texts = [[_cell_text(lines, cell) if cell else "" for cell in row] for row in rows]
    return f"{table(texts)}\n\n"


def without_tags(markdown: str, plain: str) -> str:
    """The markdown without the tags that pymupdf4llm wrote; those in the `plain` text stay."""
    for tag in _STYLE_TAGS:
        if f"<{tag}>" not in plain:
            markdown = markdown.replace(f"<{tag}>", "").replace(f"</{tag}>", "")
    return markdown if "<sup>" in plain else _SUPERSCRIPT.sub(_raised, markdown)


def _raised(found: re.Match[str]) -> str:
    before = found.string[max(0, found.start() - 9) : found.start()].rstrip(_EMPHASIS)
    words = found[1].strip(_EMPHASIS)
    shown = raised(before, words)
    is_apart = shown == words and not before[-1:].isdigit()
    return f" {words}" if is_apart and found[0].startswith(" ") else shown


def _lines(found: "TextDict") -> "Iterator[Line]":
    for block in found["blocks"]:
        yield from block.get("lines", ())


def _line_text(line: "Line") -> str:
    text = ""
    for span in line["spans"]:
        text += raised(text, span["text"]) if _is_raised(span) else span["text"]
    return text


def _cell_text(lines: "Sequence[Line]", cell: "Box") -> str:
    """The text of all characters whose middle lies in a cell."""
    text = ""
    for line in lines:
        if line["bbox"][3] < cell[1] or line["bbox"][1] > cell[3]:
            continue
        is_new = bool(text)
        for span in line["spans"]:
            inside = "".join(char["c"] for char in span["chars"] if _is_in(char["bbox"], cell))
            if not inside:
                continue
            if _is_raised(span):
                text += raised(text, inside)
            else:
                text += f"\n{inside}" if is_new else inside
            is_new = False
    return without_hyphens(text)


def _is_raised(span: "Span") -> bool:
    return bool(span["flags"] & SUPERSCRIPT)


def _is_in(box: "Box", cell: "Box") -> bool:
    across, down = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    return cell[0] <= across <= cell[2] and cell[1] <= down <= cell[3]

"""How PDFs are read through PyMuPDF: in portions, around damaged pages, in time, with pictures.

In their text powers are powers, tags are no text, and a cell comes once. The library itself takes
two seconds to import; `tests/real` reads with it. Here stand doubles.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import pytest

from servers.reading.context import Reading
from servers.reading.limits import Clock, Limits
from servers.reading.markdown import raised
from servers.reading.pdf.pymupdf import (
    PAGES_AT_ONCE,
    Convert,
    MuPdf,
    indented,
    page_text,
    table_markdown,
    without_tags,
)
from servers.reading.pictures.pictures import Pictures
from tests.servers.reading.pdf.pdf_characters import characters, line, page_of, span

if TYPE_CHECKING:
    from pymupdf import Box, Document, Page, TextDict
    from pymupdf.table import Table

Image = tuple[int, int, int, int]
"""Number, mask, width, height."""


@dataclass
class Size:
    width: float = 600
    height: float = 800


class Pixels:
    def __init__(self, dpi: int) -> None:
        self._dpi = dpi

    def tobytes(self, output: str) -> bytes:
        return f"{output} at {self._dpi}".encode()


@dataclass
class FakePage:
    number: int
    images: Sequence[Image]
    is_lost: bool
    rect: Size = field(default_factory=Size)
    text: "TextDict | None" = None

    def get_text(self, option: str, *, flags: int) -> "TextDict":
        if self.is_lost:
            raise RuntimeError
        return self.text or characters(span(f"plain {self.number}"))

    def get_images(self, full: bool) -> Sequence[Image]:
        return self.images

    def get_pixmap(self, *, dpi: int, alpha: bool) -> Pixels:
        return Pixels(dpi)


@dataclass
class FakeDocument:
    """A PDF with `lost` pages, and pictures by page: number, 0, width, height."""

    page_count: int
    lost: frozenset[int] = frozenset()
    images: dict[int, list[Image]] = field(default_factory=dict[int, list[Image]])
    needs_pass: int = 0
    metadata: dict[str, str] | None = None

    def load_page(self, page_id: int) -> FakePage:
        return FakePage(page_id, self.images.get(page_id, []), page_id in self.lost)

    def extract_image(self, xref: int) -> dict[str, bytes]:
        if xref == 99:
            raise RuntimeError
        return {"image": str(xref).encode()}

    def close(self) -> None:
        return


@dataclass
class FakeMarkdown:
    """Reads pages, but for those that `trouble` names; keeps which were asked for."""

    trouble: frozenset[int] = frozenset()
    asked: list[list[int]] = field(default_factory=list[list[int]])

    def __call__(self, pages: list[int]) -> list[str]:
        self.asked.append(pages)
        if self.trouble & set(pages):
            raise ValueError
        return [f"structured {page}" for page in pages]


def opened(document: FakeDocument, convert: Convert | None = None) -> MuPdf:
    return MuPdf(cast("Document", document), convert or FakeMarkdown())


def reading_with(seconds: float = 100) -> Reading:
    limits = Limits(seconds=seconds)
    clock = Clock(limits, now=lambda: 0.0, used=lambda: 0.0)
    return Reading(limits, clock, Pictures(lambda: None, limits, clock))


def test_pages_are_read_in_portions_and_only_the_damaged_one_loses_its_structure() -> None:
    markdown, reading = FakeMarkdown(frozenset({1})), reading_with()
    pages = opened(FakeDocument(PAGES_AT_ONCE + 1), markdown).pages(PAGES_AT_ONCE + 1, reading)
    assert pages[:3] == ["structured 0", "plain 1", "structured 2"]
    assert len(pages) == PAGES_AT_ONCE + 1
    assert markdown.asked[-1] == [PAGES_AT_ONCE]
    assert not reading.notes


def test_a_page_that_cannot_be_read_at_all_is_noted() -> None:
    reading = reading_with()
    document = FakeDocument(2, lost=frozenset({1}))
    assert opened(document, FakeMarkdown(frozenset({1}))).pages(2, reading) == ["structured 0", ""]
    assert reading.notes == ["page 2 is damaged"]


def test_when_time_runs_short_the_rest_is_read_without_structure() -> None:
    reading = reading_with(seconds=0)
    assert opened(FakeDocument(2)).pages(2, reading) == ["plain 0", "plain 1"]
    assert "headings and tables are not told" in reading.notes[0]


def test_code_gets_the_blanks_back_that_its_page_has() -> None:
    markdown = "return x\n```\ndef f(x):\nif x:\nreturn x\n  y = 1\n```\nif x:"
    plain = "return x\ndef f(x):\n    if x:\n        return x\ny = 1\n"
    assert indented(markdown, plain) == (
        "return x\n```\ndef f(x):\n    if x:\n        return x\n  y = 1\n```\nif x:"
    )


def test_pictures_are_taken_once_and_neither_logos_nor_icons() -> None:
    logo, icon, shared, broken = (1, 0, 300, 200), (2, 0, 9, 9), (3, 0, 300, 200), (99, 0, 300, 200)
    images: dict[int, list[Image]] = {page: [logo] for page in range(5)}
    images[1] = [logo, icon, shared]
    images[2] = [logo, shared, broken]
    assert opened(FakeDocument(5, images=images)).pictures(5) == {1: [b"3"]}


def test_a_page_is_drawn_in_as_many_pixels_as_are_allowed() -> None:
    document = opened(FakeDocument(1))
    assert document.drawn(0, 100_000_000) == b"png at 150"
    assert document.drawn(0, 120_000) == b"png at 36"


def page_with(text: "TextDict") -> FakePage:
    return FakePage(0, (), is_lost=False, text=text)


@dataclass
class FakeRow:
    cells: "Sequence[Box | None]"


@dataclass
class FakeHeader(FakeRow):
    external: bool = False


@dataclass
class FakeTable:
    page: FakePage
    rows: Sequence[FakeRow]
    header: FakeHeader = field(default_factory=lambda: FakeHeader([]))


@pytest.mark.parametrize(
    ("before", "superscript", "expected"),
    [
        ("2", "48", "2^48"),
        ("x", "n+1", "x^(n+1)"),
        ("(a + b)", "2", "(a + b)^2"),
        ("10", "\N{MINUS SIGN}3", "10^\N{MINUS SIGN}3"),
        ("the 1", "st", "the 1st"),
        ("note", "[1]", "note[1]"),
        ("Name", "®", "Name®"),
        ("", "1", "1"),
        ("end. ", "1", "end. 1"),
    ],
)
def test_a_superscript_is_written_as_a_power_where_it_is_one(
    before: str, superscript: str, expected: str
) -> None:
    assert before + raised(before, superscript) == expected


def test_the_plain_text_of_a_page_has_its_powers_and_lines() -> None:
    first = line(span("There are 2"), span("48", is_raised=True), span(" of them"))
    assert page_text(cast("Page", page_with(page_of([first, line(span("And more"))])))) == (
        "There are 2^48 of them\nAnd more"
    )


def test_the_tags_of_the_library_are_no_text() -> None:
    markdown = (
        "2 <sup>48</sup> of **x** <sup>_n+1_</sup> , 1 <sup>st</sup> <u>and</u> <mark>so</mark>"
    )
    assert without_tags(markdown, "") == "2^48 of **x**^(n+1) , 1st and so"
    assert without_tags("\n<sup>1</sup> A note", "") == "\n1 A note"
    assert without_tags("text <sup>[1]</sup> here", "") == "text [1] here"


def test_tags_that_a_page_writes_out_stay() -> None:
    markdown = "write <mark>this</mark> <u>or that</u>"
    assert without_tags(markdown, "write <mark>this</mark>") == "write <mark>this</mark> or that"
    assert without_tags("x<sup>2</sup>", "x<sup>2</sup>") == "x<sup>2</sup>"


ROWS: "tuple[tuple[Box | None, ...], ...]" = (
    ((0, 0, 50, 10), (50, 0, 150, 10), None),
    ((0, 10, 50, 40), (50, 10, 100, 40), (100, 10, 150, 40)),
)
CELLS = [
    line(span("Price", left=60)),
    line(span("Bread", top=10), span("2", left=50, top=10), top=10),
    line(span("48", left=52, top=12, is_raised=True), top=12),
    line(span("whole a|b exam-", left=50, top=20), span("9", left=120, top=20), top=20),
    line(span("ple", left=50, top=30), top=30),
]


def test_a_table_has_each_cell_once_with_its_powers_and_no_names_that_it_lacks() -> None:
    found = FakeTable(page_with(page_of(CELLS)), [FakeRow(cells) for cells in ROWS])
    expected = "|  | Price |  |\n| --- | --- | --- |\n| Bread | 2^48 whole a\\|b example | 9 |\n\n"
    assert table_markdown(cast("Table", found)) == expected
    above = FakeTable(found.page, [FakeRow(ROWS[1])], FakeHeader(ROWS[0], external=True))
    assert table_markdown(cast("Table", above), clean=False) == expected


def test_a_table_of_nothing_is_empty_cells() -> None:
    found = FakeTable(page_with(characters()), [FakeRow(ROWS[0])])
    assert table_markdown(cast("Table", found)).startswith("|  |  |  |\n")

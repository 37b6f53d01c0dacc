"""The text of a PDF's pages: powers are powers, tags are no text, a cell comes once."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import pytest

from servers.reading.markdown import raised
from servers.reading.pdf.pymupdf import page_text, table_markdown, without_tags
from tests.servers.reading.pdf.pdf_characters import characters, line, page_of, span

if TYPE_CHECKING:
    from pymupdf import Box, Page, TextDict
    from pymupdf.table import Table


@dataclass
class FakePage:
    text: "TextDict"

    def get_text(self, option: str, *, flags: int) -> "TextDict":
        return self.text


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
    assert page_text(cast("Page", FakePage(page_of([first, line(span("And more"))])))) == (
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
    found = FakeTable(FakePage(page_of(CELLS)), [FakeRow(cells) for cells in ROWS])
    expected = "|  | Price |  |\n| --- | --- | --- |\n| Bread | 2^48 whole a\\|b example | 9 |\n\n"
    assert table_markdown(cast("Table", found)) == expected
    above = FakeTable(found.page, [FakeRow(ROWS[1])], FakeHeader(ROWS[0], external=True))
    assert table_markdown(cast("Table", above), clean=False) == expected


def test_a_table_of_nothing_is_empty_cells() -> None:
    found = FakeTable(FakePage(characters()), [FakeRow(ROWS[0])])
    assert table_markdown(cast("Table", found)).startswith("|  |  |  |\n")

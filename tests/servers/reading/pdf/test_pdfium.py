"""PDF where PyMuPDF is missing or has failed: pages, scans, damages, by pdfium."""

import pytest

from servers.reading.files import FileExtractor
from servers.reading.limits import Clock, Limits, seconds_with_scans
from servers.reading.pdf.document import mended
from servers.reading.source import Extracted, ExtractionError, Source
from tests.servers.reading.pdf.pdf_bytes import pdf_of
from tests.servers.reading.reading_checks import ScriptedCaptioner

PAGES = ["The first page says something", "", "The third page ends it all"]


def careful(
    data: bytes, captioner: ScriptedCaptioner | None = None, limits: Limits | None = None
) -> Extracted:
    extractor = FileExtractor(lambda: captioner, limits=limits)
    return extractor.extract_source(Source("a.pdf", data), is_careful=True)


def test_pages_begin_where_it_is_said() -> None:
    found = careful(pdf_of(PAGES, "On pages"))
    assert found.title == "On pages"
    first, second, third = found.page_starts
    assert found.markdown[first:second].strip() == PAGES[0]
    assert found.markdown[second:third].strip() == ""
    assert found.markdown[third:] == PAGES[2]
    assert found.notes == ("1 of 3 pages are without text, and nothing here reads pictures",)


def test_a_page_without_text_is_drawn_and_read() -> None:
    captioner = ScriptedCaptioner(["What the scan says"])
    found = careful(pdf_of(PAGES), captioner, Limits(picture_pixels=100_000))
    assert found.markdown.split("\n\n")[1] == "What the scan says"
    assert len(captioner.images) == 1
    assert found.notes == ()


def test_scans_that_would_take_too_long_are_left_and_noted() -> None:
    captioner = ScriptedCaptioner(["never"])
    found = careful(pdf_of(["", ""]), captioner, Limits(seconds=2, seconds_a_scan=1))
    assert found.markdown == ""
    assert found.notes == ("2 of 2 scanned pages were not read: it takes too long",)
    assert not captioner.images


def test_powers_are_no_longer_numbers() -> None:
    line = "Of 2^{48} and 10^{-3} m^{2} the 1^{st} is 248, note^{1} and H2O is water"
    expected = "Of 2^48 and 10^-3 m^2 the 1st is 248, note^1 and H2O is water"
    assert " ".join(careful(pdf_of([line])).markdown.split()) == expected


def test_only_so_many_pages_are_read() -> None:
    found = careful(pdf_of(["some text on a page"] * 12), limits=Limits(pages=10))
    assert len(found.page_starts) == 10
    assert found.notes == ("only the first 10 of 12 pages are read",)


@pytest.mark.parametrize("data", [b"%PDF-1.7 and nothing", pdf_of(PAGES)[:100]])
def test_a_damaged_pdf_says_so(data: bytes) -> None:
    with pytest.raises(ExtractionError, match="damaged"):
        careful(data)


def test_a_page_is_mended_outside_of_its_code() -> None:
    page = "Some exam-\nple\n## **Bold** heading\ntext\n```\na-\nb  = 1\n```\n"
    assert mended(page) == "Some example\n\n## Bold heading\n\ntext\n```\na-\nb  = 1\n```"


def test_time_is_granted_for_scans_up_to_a_bound() -> None:
    limits = Limits(seconds=100, seconds_a_scan=5, seconds_in_all=300)
    assert seconds_with_scans(limits, 10) == 150
    assert seconds_with_scans(limits, 1_000) == 300
    now, used, told = [0.0], [0.0], list[int]()
    clock = Clock(limits, told.append, lambda: now[0], lambda: used[0])
    used[0] = 90
    assert clock.left() < 0  # a part is kept for handing in
    clock.grant_scans(4)
    assert clock.left() == 15
    assert told == [4]
    now[0] = 1_000
    assert clock.left() < 0  # also where another program takes the processor

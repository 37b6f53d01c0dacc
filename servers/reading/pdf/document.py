"""PDF: with PyMuPDF and its markdown where they are installed, else with pdfium.

PyMuPDF is AGPL, which not everybody may use; it knows headings, tables and columns. pdfium
(`pypdfium2`, Apache-2.0 or BSD) gives plain text. It also takes over what PyMuPDF fails on.
"""

import re
from typing import Protocol

from servers.reading.context import Reading
from servers.reading.markdown import (
    as_title,
    cleaned,
    first_heading,
    tidied,
    with_pages,
    without_hyphens,
)
from servers.reading.pdf import pdfium as pdf_pdfium
from servers.reading.pdf import pymupdf as pdf_pymupdf
from servers.reading.source import Extracted, Source

LETTERS_OF_TEXT = 10
"""A page with fewer letters and digits is taken for a picture of a page."""

SECONDS_FOR_A_SCAN = 8.0
"""With less time left no further page is drawn and read."""

_LIGATURES = str.maketrans({"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st"})
_HEADING = re.compile(r"^(#{1,6} .*)$", re.MULTILINE)
_FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_NO_TITLE = re.compile(
    r"^(microsoft |untitled|powerpoint|document\d*$|\W*$)"
    r"|\.(docx?|pptx?|xlsx?|tex|dvi|indd|pdf|qxd)$",
    re.IGNORECASE,
)


class OpenPdf(Protocol):
    """An open PDF, in either library. Pages are counted from 0."""

    def page_count(self) -> int:
        """How many pages it has."""
        ...

    def title(self) -> str:
        """What its metadata give as title."""
        ...

    def pages(self, count: int, reading: Reading) -> list[str]:
        """The markdown of the first `count` pages; notes what went wrong."""
        ...

    def drawn(self, page: int, pixels_max: int) -> bytes:
        """A page as a PNG."""
        ...

    def pictures(self, count: int) -> dict[int, list[bytes]]:
        """The pictures on the first `count` pages that are worth describing, by page."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


def read_pdf(source: Source, reading: Reading) -> Extracted:
    """The text of a PDF page by page, scanned pages and pictures by what reads pictures.

    Raises:
        ExtractionError: it is encrypted or damaged.
    """
    document = _opened(source, reading)
    try:
        count = min(document.page_count(), reading.limits.pages)
        if count < document.page_count():
            reading.note(f"only the first {count:,} of {document.page_count():,} pages are read")
        pages = [mended(page) for page in document.pages(count, reading)]
        _read_scans(document, pages, reading)
        _add_pictures(document, pages, reading)
        markdown, starts = with_pages(pages)
        title = document.title()
        if _NO_TITLE.search(title.strip()):
            title = first_heading(markdown)
        return Extracted(markdown if markdown.strip() else "", as_title(title), starts)
    finally:
        document.close()


def _opened(source: Source, reading: Reading) -> OpenPdf:
    if not reading.is_careful and pdf_pymupdf.is_installed():
        try:
            return pdf_pymupdf.opened(source.data)
        except pdf_pymupdf.Unreadable:
            pass  # pdfium repairs other damages; if it fails too, it says why
    return pdf_pdfium.opened(source.data)


def mended(page: str) -> str:
    """A page's markdown: divided words joined, headings plain and with an empty line around."""
    parts = _FENCED.split(cleaned(page).translate(_LIGATURES))
    # Every second part is a block of code, which stays as it is.
    parts[::2] = [_HEADING.sub(_plain_heading, without_hyphens(part)) for part in parts[::2]]
    return tidied("".join(parts))


def _plain_heading(found: re.Match[str]) -> str:
    return f"\n{found[1].replace('**', '').replace('`', '').rstrip()}\n"


def _read_scans(document: OpenPdf, pages: list[str], reading: Reading) -> None:
    """Put the text of scanned pages in their place."""
    scans = [index for index, page in enumerate(pages) if _is_scan(page)]
    if not scans:
        return
    if not reading.pictures.can_read():
        reading.note(f"{_of_pages(scans, pages)} without text, and nothing here reads pictures")
        return
    reading.clock.grant_scans(len(scans))
    unread = 0
    for index in scans:
        if reading.clock.left() < SECONDS_FOR_A_SCAN:
            unread += 1
            continue
        image = document.drawn(index, reading.limits.picture_pixels)
        pages[index] = reading.pictures.read(image) or pages[index]
    if unread:
        reading.note(f"{unread} of {len(scans)} scanned pages were not read: it takes too long")


def _is_scan(page: str) -> bool:
    return sum(each.isalnum() for each in page) < LETTERS_OF_TEXT


def _of_pages(some: list[int], pages: list[str]) -> str:
    if len(some) == len(pages):
        return "all pages are" if len(pages) > 1 else "its page is"
    return f"{len(some)} of {len(pages)} pages are"


def _add_pictures(document: OpenPdf, pages: list[str], reading: Reading) -> None:
    """Describe the pictures of pages that have text; a scanned page is its own picture."""
    if not reading.pictures.can_read():
        return
    for index, images in document.pictures(len(pages)).items():
        if _is_scan(pages[index]):
            continue
        described = [reading.pictures.describe(image) for image in images]
        pages[index] = "\n\n".join([pages[index], *(text for text in described if text)])

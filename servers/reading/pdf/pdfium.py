"""PDF by pdfium (`pypdfium2`): plain text by page, without headings and tables."""

import io
import re
from typing import TYPE_CHECKING

from servers.reading.context import Reading
from servers.reading.markdown import raised
from servers.reading.source import ENCRYPTED, ExtractionError

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfTextPage

SCAN_SCALE = 150 / 72
"""150 dpi."""

PASSWORD_NEEDED = 4
"""FPDF_ERR_PASSWORD of fpdfview.h."""


RAISED_SHARE = 0.1
"""A superscript's foot is higher than that of what it follows by this share of a font's height."""

SMALLER_SHARE = 0.9
"""... and its own font is at most so high."""

_MAYBE_RAISED = re.compile(r"(?<=[^\W_]|\))[+\-\u2212\u2013]?\d")


def opened(data: bytes) -> "PdfiumPdf":
    """Open a PDF in memory.

    Raises:
        ExtractionError: it needs a password, or it is damaged.
    """
    import pypdfium2

    try:
        return PdfiumPdf(pypdfium2.PdfDocument(data))
    except Exception as error:
        if getattr(error, "err_code", None) == PASSWORD_NEEDED:
            raise ExtractionError(ENCRYPTED) from None
        raise ExtractionError("the PDF is damaged and can't be opened") from error


class PdfiumPdf:
    """An open PDF."""

    def __init__(self, document: "PdfDocument") -> None:
        """Takes over the document."""
        self._document = document

    def page_count(self) -> int:
        """How many pages it has."""
        return len(self._document)

    def title(self) -> str:
        """What its metadata give as title."""
        return self._document.get_metadata_value("Title")

    def pages(self, count: int, reading: Reading) -> list[str]:
        """The text of the first pages, as long as there is time."""
        pages: list[str] = []
        for number in reading.in_time(range(count), "pages"):
            try:
                pages.append(text_with_powers(self._document[number].get_textpage()))
            except Exception:  # noqa: BLE001 - whatever a damaged page brings about
                pages.append("")
                reading.note(f"page {number + 1} is damaged")
        return pages

    def drawn(self, page: int, pixels_max: int) -> bytes:
        """A page as a PNG, at 150 dpi unless it is very large; empty if it can't be drawn."""
        try:
            loaded = self._document[page]
            width, height = loaded.get_size()
            scale = min(SCAN_SCALE, (pixels_max / max(width * height, 1.0)) ** 0.5)
            buffer = io.BytesIO()
            loaded.render(scale=scale).to_pil().save(buffer, format="PNG")
            return buffer.getvalue()
        except Exception:  # noqa: BLE001 - whatever a damaged page brings about
            return b""

    def pictures(self, count: int) -> dict[int, list[bytes]]:
        """None: they are only taken out by PyMuPDF."""
        del count
        return {}

    def close(self) -> None:
        """Let go of it."""
        self._document.close()


def text_with_powers(page: "PdfTextPage") -> str:
    """The text of a page, with `2^48` where a number stands above the line after another."""
    text = page.get_text_range()
    if page.count_chars() != len(text):
        return text  # which character stands where is not known
    parts: list[str] = []
    end = 0
    for found in _MAYBE_RAISED.finditer(text):
        start, base = found.start(), found.start() - 1
        if start < end or not _is_raised(page, base, start):
            continue
        parts.append(text[end:start])
        end = start + 1
        while end < len(text) and not text[end].isspace() and _is_raised(page, base, end):
            end += 1
        parts.append(raised(text[base], text[start:end]))
    return "".join([*parts, text[end:]])


def _is_raised(page: "PdfTextPage", base: int, index: int) -> bool:
    """Whether a character is a superscript of the one at `base`."""
    _, low, _, high = page.get_charbox(base, loose=True)
    _, foot, _, head = page.get_charbox(index, loose=True)
    height = high - low
    is_higher = low + RAISED_SHARE * height < foot < high
    return is_higher and head - foot <= SMALLER_SHARE * height

"""Text of a page as PyMuPDF gives it, made by hand: lines of spans, ten points high."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from servers.reading.pdf.pymupdf import SUPERSCRIPT

if TYPE_CHECKING:
    from pymupdf import Line, Span, TextDict

LINE_POINTS = 10.0


def span(text: str, *, left: float = 0, top: float = 0, is_raised: bool = False) -> "Span":
    """Characters of one point each."""
    chars = [
        {"c": char, "bbox": (left + place, top, left + place + 1, top + LINE_POINTS)}
        for place, char in enumerate(text)
    ]
    return {"flags": SUPERSCRIPT if is_raised else 0, "text": text, "chars": chars}  # pyright: ignore[reportReturnType] - the boxes are four numbers


def line(*spans: "Span", top: float = 0) -> "Line":
    """Spans beside each other."""
    return {"bbox": (0, top, 1_000, top + LINE_POINTS), "spans": spans}


def characters(*spans: "Span") -> "TextDict":
    """A page of one line."""
    return page_of([line(*spans)])


def page_of(lines: "Sequence[Line]") -> "TextDict":
    """A page with a picture, and with these lines."""
    return {"blocks": [{}, {"lines": lines}]}

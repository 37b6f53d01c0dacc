"""Text of a page as PyMuPDF gives it, made by hand: lines of spans, ten points high."""

from collections.abc import Sequence

from servers.reading.pdf.text import SUPERSCRIPT
from servers.reading.pdf.types import Characters, Line, Span

LINE_POINTS = 10.0


def span(text: str, *, left: float = 0, top: float = 0, is_raised: bool = False) -> Span:
    """Characters of one point each."""
    chars = [
        {"c": char, "bbox": (left + place, top, left + place + 1, top + LINE_POINTS)}
        for place, char in enumerate(text)
    ]
    return {"flags": SUPERSCRIPT if is_raised else 0, "text": text, "chars": chars}  # pyright: ignore[reportReturnType] - the boxes are four numbers


def line(*spans: Span, top: float = 0) -> Line:
    """Spans beside each other."""
    return {"bbox": (0, top, 1_000, top + LINE_POINTS), "spans": spans}


def characters(*spans: Span) -> Characters:
    """A page of one line."""
    return page_of([line(*spans)])


def page_of(lines: Sequence[Line]) -> Characters:
    """A page with a picture, and with these lines."""
    return {"blocks": [{}, {"lines": lines}]}

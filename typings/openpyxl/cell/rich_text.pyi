"""As much of openpyxl's text with fonts in it as is used."""

class InlineFont:
    vertAlign: str | None

class TextBlock:
    """A part of a cell's text with a font of its own."""

    text: str
    font: InlineFont

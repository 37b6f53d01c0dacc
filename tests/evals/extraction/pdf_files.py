"""Known documents as PDF, with ruled tables, and as pictures of their pages."""

from tests.evals.extraction.known import Block, Code, KnownDocument, Paragraph, Points, Table

WIDTH, HEIGHT, MARGIN = 595, 842, 60
ROW_HEIGHT = 20
FONT = "helv"
CODE_FONT = "cour"


class PdfWriter:
    """Puts one thing below the other, and goes on to the next page where one is full."""

    def __init__(self) -> None:
        """A document with one empty page."""
        import pymupdf  # takes two seconds, and most who make files make no PDF

        self._rect = pymupdf.Rect
        self._document = pymupdf.open()
        self._next_page()

    def write(self, document: KnownDocument) -> None:
        """All of a document."""
        self.text(document.title, 22)
        for section in document.sections:
            self.text(section.heading, 16)
            for block in section.blocks:
                self._block(block)

    def text(self, text: str, size: float, font: str = FONT) -> None:
        """A paragraph."""
        lines = sum(
            1 + len(line) * size * 0.52 // (WIDTH - 2 * MARGIN) for line in text.split("\n")
        )
        height = (lines + 1) * size * 1.4
        self._make_room(height)
        area = self._rect(MARGIN, self._top, WIDTH - MARGIN, self._top + height)
        left = self._page.insert_textbox(area, text, fontsize=size, fontname=font)
        assert left >= 0, "the text does not fit its box"
        self._top += height - left + 8

    def table(self, table: Table) -> None:
        """A table with lines around its cells."""
        self._make_room(ROW_HEIGHT * len(table.rows) + 12)
        width = (WIDTH - 2 * MARGIN) / len(table.rows[0])
        for row in table.rows:
            for place, cell in enumerate(row):
                left = MARGIN + place * width
                box = (left, self._top, left + width, self._top + ROW_HEIGHT)
                self._page.draw_rect(self._rect(*box))
                inner = self._rect(box[0] + 4, box[1] + 2, box[2] - 4, box[3] + 4)
                self._page.insert_textbox(inner, cell, fontsize=11, fontname=FONT)
            self._top += ROW_HEIGHT
        self._top += 12

    def data(self, **options: object) -> bytes:
        """The file."""
        return self._document.tobytes(**options)

    def pictures(self, dpi: int) -> list[bytes]:
        """The pages as PNG."""
        return [
            self._document.load_page(index).get_pixmap(dpi=dpi).tobytes("png")
            for index in range(self._document.page_count)
        ]

    def picture(self, image: bytes) -> None:
        """A page that is one picture."""
        self._next_page()
        self._page.insert_image(self._rect(0, 0, WIDTH, HEIGHT), stream=image)

    def _block(self, block: Block) -> None:
        match block:
            case Table():
                self.table(block)
            case Code():
                self.text("\n".join(block.lines), 10, CODE_FONT)
            case Points():
                for item in block.items:
                    self.text(f"• {item}", 11)
            case Paragraph():
                self.text(block.text, 11)

    def _make_room(self, height: float) -> None:
        if self._top + height > HEIGHT - MARGIN:
            self._next_page()

    def _next_page(self) -> None:
        self._page = self._document.new_page(width=WIDTH, height=HEIGHT)
        self._top = float(MARGIN)


def as_pdf(document: KnownDocument) -> bytes:
    """A PDF with text."""
    writer = PdfWriter()
    writer.write(document)
    return writer.data()


def as_picture(document: KnownDocument) -> bytes:
    """The first page as a picture, as a scanner gives it."""
    writer = PdfWriter()
    writer.write(document)
    return writer.pictures(150)[0]

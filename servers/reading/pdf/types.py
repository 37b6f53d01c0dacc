"""As much of PyMuPDF, pymupdf4llm and pypdfium2 as is used, as types; they hardly have any."""

from collections.abc import Callable, Sequence
from typing import Literal, NotRequired, Protocol, TypeAlias, TypedDict


class Rectangle(Protocol):
    """A rectangle, in points of 1/72 inch."""

    width: float
    height: float


class PixelMap(Protocol):
    """A page drawn in pixels."""

    def tobytes(self, output: str) -> bytes:
        """The picture as a file of that format."""
        ...


Box: TypeAlias = tuple[float, float, float, float]
"""Left, top, right, bottom, in points."""


class Char(TypedDict):
    """A character and where it stands."""

    c: str
    bbox: Box


class Span(TypedDict):
    """Characters of one font: its `text` in a "dict", its `chars` in a "rawdict"."""

    flags: int
    text: str
    chars: Sequence[Char]


class Line(TypedDict):
    """A line of text."""

    bbox: Box
    spans: Sequence[Span]


class Block(TypedDict):
    """A paragraph, or a picture, which has no lines."""

    lines: NotRequired[Sequence[Line]]


class Characters(TypedDict):
    """The text of a page by its parts."""

    blocks: Sequence[Block]


class TextPage(Protocol):
    """What of a page its text is read from."""

    def get_text(self, option: Literal["dict", "rawdict"], *, flags: int) -> Characters:
        """Its text, as it is stored."""
        ...


class TableRow(Protocol):
    """A row of `Table`."""

    cells: Sequence[Box | None]


class TableHeader(Protocol):
    """The names of the columns of `Table`; `external` if they stand above its rows."""

    external: bool
    cells: Sequence[Box | None]


class Table(Protocol):
    """A table that was found on a page; a cell that another one covers is None."""

    page: TextPage
    rows: Sequence[TableRow]
    header: TableHeader


class Tables(Protocol):
    """The module `pymupdf.table`."""

    Table: "TableClass"


class TableClass(Protocol):
    """`pymupdf.table.Table`, whose method pymupdf4llm calls for each table."""

    to_markdown: Callable[..., str]


class Page(TextPage, Protocol):
    """A page of `Document`."""

    @property
    def rect(self) -> Rectangle:
        """Its size."""
        ...

    def get_images(self, full: bool) -> Sequence[tuple[int, int, int, int]]:
        """Its pictures: number, number of the mask, width, height, and more that is not used."""
        ...

    def get_pixmap(self, *, dpi: int, alpha: bool) -> PixelMap:
        """Draw it."""
        ...


class ImageFile(TypedDict):
    """A picture taken out of a PDF."""

    image: bytes


class Document(Protocol):
    """An open PDF, in PyMuPDF."""

    needs_pass: int
    page_count: int
    metadata: dict[str, str] | None

    def load_page(self, page_id: int) -> Page:
        """A page, counted from 0."""
        ...

    def extract_image(self, xref: int) -> ImageFile:
        """A picture by its number."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


class Tools(Protocol):
    """`pymupdf.TOOLS`."""

    def mupdf_display_errors(self, on: bool) -> bool:
        """Whether errors are printed."""
        ...

    def mupdf_display_warnings(self, on: bool) -> bool:
        """Whether warnings are printed."""
        ...


class PyMuPdf(Protocol):
    """The package `pymupdf`."""

    TOOLS: Tools

    def open(self, *, stream: bytes, filetype: str) -> Document:
        """Open a file in memory."""
        ...


class PageText(TypedDict):
    """A page's markdown."""

    text: str


class Headings(Protocol):
    """Which sizes of letters are headings in one document."""


class PyMuPdf4Llm(Protocol):
    """The package `pymupdf4llm`, without its layout model."""

    def use_layout(self, yes: bool) -> None:
        """Whether a network finds the parts of a page."""
        ...

    def IdentifyHeaders(self, doc: Document) -> Headings:
        """Look at the letters of a document."""
        ...

    def to_markdown(
        self,
        doc: Document,
        *,
        pages: Sequence[int],
        hdr_info: Headings,
        page_chunks: bool,
        ignore_images: bool,
        graphics_limit: int,
    ) -> list[PageText]:
        """The markdown of some pages."""
        ...


class PdfiumBitmap(Protocol):
    """A page drawn in pixels."""

    def to_pil(self) -> "PdfiumPicture":
        """As a picture of Pillow."""
        ...


class PdfiumPicture(Protocol):
    """A picture of Pillow."""

    def save(self, fp: object, *, format: str) -> None:
        """Write it."""
        ...


class PdfiumText(Protocol):
    """The text of a page."""

    def get_text_range(self) -> str:
        """All of it."""
        ...

    def count_chars(self) -> int:
        """How many characters it has; more than its text where some stand for nothing."""
        ...

    def get_charbox(self, index: int, loose: bool) -> Box:
        """Where a character stands: left, bottom, right, top. `loose`: as high as its font."""
        ...


class PdfiumPage(Protocol):
    """A page of `PdfiumDocument`."""

    def get_size(self) -> tuple[float, float]:
        """Width and height in points."""
        ...

    def get_textpage(self) -> PdfiumText:
        """Its text."""
        ...

    def render(self, *, scale: float) -> PdfiumBitmap:
        """Draw it, with 72 dpi times `scale`."""
        ...


class PdfiumDocument(Protocol):
    """An open PDF, in pdfium."""

    def __len__(self) -> int:
        """How many pages it has."""
        ...

    def __getitem__(self, index: int) -> PdfiumPage:
        """A page, counted from 0."""
        ...

    def get_metadata_value(self, key: str) -> str:
        """A piece of its metadata; empty if there is none."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


class Pdfium(Protocol):
    """The package `pypdfium2`."""

    def PdfDocument(self, input: bytes) -> PdfiumDocument:
        """Open a file in memory."""
        ...

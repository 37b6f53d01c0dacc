"""As much of PyMuPDF 1.26 as is used; its own annotations are few."""

from collections.abc import Sequence
from typing import Literal, NotRequired, TypeAlias, TypedDict

Box: TypeAlias = tuple[float, float, float, float]
"""Left, top, right, bottom, in points of 1/72 inch."""

class Char(TypedDict):
    c: str
    bbox: Box

class Span(TypedDict):
    """Characters of one font: its `text` in a "dict", its `chars` in a "rawdict"."""

    flags: int
    text: str
    chars: Sequence[Char]

class Line(TypedDict):
    bbox: Box
    spans: Sequence[Span]

class Block(TypedDict):
    """A paragraph, or a picture, which has no lines."""

    lines: NotRequired[Sequence[Line]]

class TextDict(TypedDict):
    blocks: Sequence[Block]

PDF_ENCRYPT_AES_256: int

class Rect:
    width: float
    height: float
    def __init__(self, x0: float, y0: float, x1: float, y1: float) -> None: ...

class Pixmap:
    def tobytes(self, output: str) -> bytes: ...

class Page:
    @property
    def rect(self) -> Rect: ...
    def get_text(self, option: Literal["dict", "rawdict"], *, flags: int) -> TextDict: ...
    def get_images(self, full: bool) -> Sequence[tuple[int, int, int, int]]:
        """Number, number of the mask, width, height, and more that is not used."""

    def get_pixmap(self, *, dpi: int, alpha: bool = ...) -> Pixmap: ...
    def insert_textbox(
        self, rect: Rect, buffer: str, *, fontsize: float, fontname: str
    ) -> float: ...
    def insert_htmlbox(self, rect: Rect | Box, text: str) -> object: ...
    def insert_image(self, rect: Rect, *, stream: bytes) -> object: ...
    def draw_rect(self, rect: Rect | Box) -> object: ...

class ImageFile(TypedDict):
    image: bytes

class Document:
    needs_pass: int
    page_count: int
    metadata: dict[str, str] | None

    def load_page(self, page_id: int) -> Page: ...
    def extract_image(self, xref: int) -> ImageFile: ...
    def new_page(self, *, width: float = ..., height: float = ...) -> Page: ...
    def tobytes(self, **options: object) -> bytes: ...
    def close(self) -> None: ...

class TOOLS:
    @staticmethod
    def mupdf_display_errors(on: bool) -> bool: ...
    @staticmethod
    def mupdf_display_warnings(on: bool) -> bool: ...

TEXTFLAGS_TEXT: int
TEXT_FONT_SUPERSCRIPT: int

def open(*, stream: bytes | None = ..., filetype: str = ...) -> Document: ...

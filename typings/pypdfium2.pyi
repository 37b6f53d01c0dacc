"""As much of pypdfium2 5 as is used; it ships no types."""

from PIL.Image import Image

class PdfiumError(RuntimeError):
    err_code: int | None

class PdfBitmap:
    def to_pil(self) -> Image: ...

class PdfTextPage:
    def get_text_range(self) -> str: ...
    def count_chars(self) -> int:
        """More than its text has where some stand for nothing."""

    def get_charbox(self, index: int, loose: bool) -> tuple[float, float, float, float]:
        """Left, bottom, right, top; `loose`: as high as its font."""

class PdfPage:
    def get_size(self) -> tuple[float, float]: ...
    def get_textpage(self) -> PdfTextPage: ...
    def render(self, *, scale: float) -> PdfBitmap:
        """Draw it, with 72 dpi times `scale`."""

class PdfDocument:
    def __init__(self, input: bytes) -> None: ...
    def __len__(self) -> int: ...
    def __getitem__(self, index: int) -> PdfPage: ...
    def get_metadata_value(self, key: str) -> str: ...
    def close(self) -> None: ...

"""Word documents: mammoth makes HTML of them by their styles, markitdown markdown of that.

Formulas are kept as LaTeX, pictures are described where they stand.
"""

import html
import importlib
import io
from collections.abc import Callable
from typing import BinaryIO, Protocol, cast

from servers.rag.errors import ExtractionError
from servers.rag.passages import Extracted
from servers.reading.html.file_markdown import to_markdown
from servers.reading.html.tree import parsed, serialised
from servers.reading.markdown import cleaned, first_heading
from servers.reading.office.packages import office_title, opened_package, part_of
from servers.reading.source import Reading, Source

STYLES = """
p[style-name='Title'] => h1:fresh
p[style-name='Subtitle'] => p:fresh
p[style-name='Code'] => pre:separator('\\n')
p[style-name='Source Code'] => pre:separator('\\n')
p[style-name='HTML Preformatted'] => pre:separator('\\n')
p[style-name='Preformatted Text'] => pre:separator('\\n')
p[style-name='Macro Text'] => pre:separator('\\n')
"""
"""What mammoth does not know by itself, in its own language of style maps."""

_FORMULA = b"<m:oMath"


class _Image(Protocol):
    alt_text: str | None

    def open(self) -> BinaryIO: ...


class _Images(Protocol):
    def img_element(self, func: Callable[[_Image], dict[str, str]]) -> object: ...


class _Result(Protocol):
    value: str


class _Mammoth(Protocol):
    images: _Images

    def convert_to_html(
        self, fileobj: BinaryIO, *, style_map: str, convert_image: object
    ) -> _Result: ...


def read_docx(source: Source, reading: Reading) -> Extracted:
    """The text of a document.

    Raises:
        ExtractionError: it is encrypted or damaged.
    """
    with opened_package(source.data, reading.limits) as package:
        title = office_title(package)
        has_formulas = _FORMULA in part_of(package, "word/document.xml")
    mammoth = cast(_Mammoth, importlib.import_module("mammoth"))
    stream: BinaryIO = io.BytesIO(source.data)
    try:
        page = mammoth.convert_to_html(
            _with_latex(stream) if has_formulas else stream,
            style_map=STYLES,
            convert_image=mammoth.images.img_element(lambda image: _described(image, reading)),
        ).value
    except Exception as error:
        raise ExtractionError("the document is damaged and can't be read") from error
    tree = parsed(cleaned(page))
    markdown = "" if tree is None else to_markdown(serialised(tree))
    return Extracted(markdown, title or first_heading(markdown))


def _with_latex(stream: BinaryIO) -> BinaryIO:
    from markitdown.converter_utils.docx.pre_process import pre_process_docx

    try:
        return pre_process_docx(stream)
    except Exception:  # noqa: BLE001 - a formula beyond it; the document is read without
        stream.seek(0)
        return stream


def _described(image: _Image, reading: Reading) -> dict[str, str]:
    """The picture as `<img alt>`; its place in the text takes what is said of it."""
    try:
        with image.open() as stream:
            data = stream.read(reading.limits.file_bytes)
    except Exception:  # noqa: BLE001 - a picture that is linked or missing
        data = b""
    said = reading.pictures.describe(data, image.alt_text or "") if data else ""
    words = said.removeprefix("[Picture: ").removesuffix("]") or image.alt_text or ""
    return {"src": "", "alt": html.unescape(words)}

"""Word documents: mammoth makes HTML of them by their styles, which is read as all HTML is.

Formulas are kept as LaTeX (by markitdown), pictures are described where they stand.
"""

import html
import io
from typing import TYPE_CHECKING, BinaryIO

from servers.reading.context import Reading
from servers.reading.html.page import whole_markdown
from servers.reading.markdown import first_heading
from servers.reading.office.packages import office_title, opened_package, part_of
from servers.reading.source import Extracted, ExtractionError, Source

if TYPE_CHECKING:
    from mammoth import Image

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


def read_docx(source: Source, reading: Reading) -> Extracted:
    """The text of a document.

    Raises:
        ExtractionError: it is encrypted or damaged.
    """
    import mammoth

    with opened_package(source.data, reading.limits) as package:
        title = office_title(package)
        has_formulas = _FORMULA in part_of(package, "word/document.xml")
    stream: BinaryIO = io.BytesIO(source.data)
    try:
        page = mammoth.convert_to_html(
            _with_latex(stream) if has_formulas else stream,
            style_map=STYLES,
            convert_image=mammoth.images.img_element(lambda image: _described(image, reading)),
        ).value
    except Exception as error:
        raise ExtractionError("the document is damaged and can't be read") from error
    markdown = whole_markdown(page)
    return Extracted(markdown, title or first_heading(markdown))


def _with_latex(stream: BinaryIO) -> BinaryIO:
    from markitdown.converter_utils.docx.pre_process import pre_process_docx

    try:
        return pre_process_docx(stream)
    except Exception:  # noqa: BLE001 - a formula beyond it; the document is read without
        stream.seek(0)
        return stream


def _described(image: "Image", reading: Reading) -> dict[str, str]:
    """The picture as `<img alt>`; its place in the text takes what is said of it."""
    try:
        with image.open() as stream:
            data = stream.read(reading.limits.file_bytes)
    except Exception:  # noqa: BLE001 - a picture that is linked or missing
        data = b""
    said = reading.pictures.describe(data, image.alt_text or "") if data else ""
    words = said.removeprefix("[Picture: ").removesuffix("]") or image.alt_text or ""
    return {"src": "", "alt": html.unescape(words)}

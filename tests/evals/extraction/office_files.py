"""Known documents as Office files and books."""

import io
import zipfile
from xml.sax.saxutils import escape

from tests.evals.extraction.known import Block, Code, KnownDocument, Paragraph, Points, Table
from tests.evals.extraction.text_files import html_body

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
STYLES = {"Title": "Title", "Heading2": "heading 2", "Code": "Code"}


def as_docx(document: KnownDocument) -> bytes:
    """A Word document with the usual styles."""
    parts = [_paragraph(document.title, "Title")]
    for section in document.sections:
        parts.append(_paragraph(section.heading, "Heading2"))
        parts += [_word(block) for block in section.blocks]
    return docx_of("".join(parts))


def docx_of(body: str, more: dict[str, bytes] | None = None) -> bytes:
    """A Word document with the XML of its body and more parts."""
    styles = "".join(
        f'<w:style w:type="paragraph" w:styleId="{key}"><w:name w:val="{name}"/></w:style>'
        for key, name in STYLES.items()
    )
    return packed(
        {
            "[Content_Types].xml": (
                f'<Types xmlns="{PACKAGE}/content-types"><Default Extension="rels" ContentType='
                '"application/vnd.openxmlformats-package.relationships+xml"/>'
                '<Default Extension="xml" ContentType="application/xml"/>'
                '<Default Extension="png" ContentType="image/png"/></Types>'
            ).encode(),
            "_rels/.rels": (
                f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r1" '
                f'Type="{OFFICE}/officeDocument" Target="word/document.xml"/></Relationships>'
            ).encode(),
            "word/document.xml": (
                f'<w:document xmlns:w="{WORD}" xmlns:r="{OFFICE}"><w:body>{body}</w:body>'
                "</w:document>"
            ).encode(),
            "word/styles.xml": f'<w:styles xmlns:w="{WORD}">{styles}</w:styles>'.encode(),
            "word/_rels/document.xml.rels": (
                f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r2" '
                f'Type="{OFFICE}/styles" Target="styles.xml"/></Relationships>'
            ).encode(),
            **(more or {}),
        }
    )


def as_pptx(document: KnownDocument) -> bytes:
    """A slide for the title, and one for each section."""
    import pptx
    from pptx.util import Cm

    presentation = pptx.Presentation()
    layouts = presentation.slide_layouts
    first = presentation.slides.add_slide(layouts[5])
    first.shapes.title.text = document.title  # pyright: ignore[reportOptionalMemberAccess]
    for section in document.sections:
        slide = presentation.slides.add_slide(layouts[5])
        slide.shapes.title.text = section.heading  # pyright: ignore[reportOptionalMemberAccess]
        for place, block in enumerate(section.blocks):
            top = Cm(4 + 3 * place)
            if isinstance(block, Table):
                rows, columns = len(block.rows), len(block.rows[0])
                grid = slide.shapes.add_table(rows, columns, Cm(1), top, Cm(20), Cm(3)).table
                for row, cells in enumerate(block.rows):
                    for column, cell in enumerate(cells):
                        grid.cell(row, column).text = cell
            else:
                frame = slide.shapes.add_textbox(Cm(1), top, Cm(20), Cm(3)).text_frame
                frame.text = "\n".join(_lines(block))
    buffer = io.BytesIO()
    presentation.save(buffer)
    return buffer.getvalue()


def as_xlsx(document: KnownDocument) -> bytes:
    """A sheet for each section: its text in single cells, its tables, numbers as numbers."""
    import openpyxl

    workbook = openpyxl.Workbook()
    workbook.remove(workbook.worksheets[0])
    for section in document.sections:
        sheet = workbook.create_sheet(section.heading[:31])
        for block in section.blocks:
            if isinstance(block, Table):
                for row in block.rows:
                    sheet.append([_number(cell) for cell in row])
            else:
                for line in _lines(block):
                    sheet.append([line])
            sheet.append([])
    buffer = io.BytesIO()
    workbook.save(buffer)
    return buffer.getvalue()


def as_epub(document: KnownDocument) -> bytes:
    """A book of one chapter."""
    page = (
        '<html xmlns="http://www.w3.org/1999/xhtml"><head><title>x</title></head>'
        f"<body>{html_body(document)}</body></html>"
    )
    opf = (
        '<package xmlns="http://www.idpf.org/2007/opf"><metadata '
        'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>'
        f"{escape(document.title)}</dc:title></metadata><manifest>"
        '<item id="c1" href="one.xhtml" media-type="application/xhtml+xml"/></manifest>'
        '<spine><itemref idref="c1"/></spine></package>'
    )
    container = (
        '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="book/content.opf"/></rootfiles></container>'
    )
    return packed(
        {
            "mimetype": b"application/epub+zip",
            "META-INF/container.xml": container.encode(),
            "book/content.opf": opf.encode(),
            "book/one.xhtml": page.encode(),
        }
    )


def packed(parts: dict[str, bytes]) -> bytes:
    """A zip of these parts."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as package:
        for name, data in parts.items():
            package.writestr(name, data)
    return buffer.getvalue()


def _paragraph(text: str, style: str = "") -> str:
    properties = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    run = f'<w:r><w:t xml:space="preserve">{escape(text)}</w:t></w:r>'
    return f"<w:p>{properties}{run}</w:p>"


def _word(block: Block) -> str:
    match block:
        case Table():
            rows = (
                "".join(f"<w:tc>{_paragraph(cell)}</w:tc>" for cell in row) for row in block.rows
            )
            return "<w:tbl>" + "".join(f"<w:tr>{row}</w:tr>" for row in rows) + "</w:tbl>"
        case Code():
            return "".join(_paragraph(line, "Code") for line in block.lines)
        case _:
            return "".join(_paragraph(line) for line in _lines(block))


def _lines(block: Block) -> tuple[str, ...]:
    match block:
        case Paragraph():
            return (block.text,)
        case Points():
            return block.items
        case Code():
            return block.lines
        case Table():
            return tuple(" ".join(row) for row in block.rows)


def _number(cell: str) -> float | str:
    try:
        return float(cell)
    except ValueError:
        return cell

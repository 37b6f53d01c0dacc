"""Word, PowerPoint, Excel and books: content, structure and pictures."""

import io
import zipfile

import pytest

from servers.reading.limits import Limits
from servers.reading.pictures.captioner import CaptionerUnavailable
from servers.reading.source import ExtractionError
from tests.evals.extraction import office_files
from tests.evals.extraction.known import known_document
from tests.evals.extraction.office_files import docx_of, packed
from tests.evals.extraction.scoring import scores_of
from tests.servers.reading.reading_checks import ScriptedCaptioner, extracted, png

KNOWN = known_document(8)
ALL = frozenset({"cells", "headings", "code"})


@pytest.mark.parametrize(
    ("name", "data", "parts"),
    [
        ("a.docx", office_files.as_docx(KNOWN), ALL),
        ("a.epub", office_files.as_epub(KNOWN), ALL),
    ],
)
def test_known_content_comes_back(name: str, data: bytes, parts: frozenset[str]) -> None:
    found = extracted(name, data)
    scores = scores_of(KNOWN, found.markdown, parts)
    assert scores.words > 0.99
    assert scores.cells == scores.headings == scores.code == 1.0
    assert found.title == KNOWN.title


RAISED = '<w:rPr><w:vertAlign w:val="superscript"/></w:rPr>'


def test_powers_in_documents_are_no_longer_numbers() -> None:
    runs = f"<w:r><w:t>There are 2</w:t></w:r><w:r>{RAISED}<w:t>48</w:t></w:r>"
    assert extracted("a.docx", docx_of(f"<w:p>{runs}</w:p>")).markdown == "There are 2^48"


PICTURE = (
    '<w:p><w:r><w:drawing><wp:inline xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/'
    'wordprocessingDrawing"><wp:docPr id="1" name="x" descr="A chart"/><a:graphic xmlns:a="http://'
    'schemas.openxmlformats.org/drawingml/2006/main"><a:graphicData><pic:pic xmlns:pic="http://'
    'schemas.openxmlformats.org/drawingml/2006/picture"><pic:blipFill><a:blip r:embed="r9"/>'
    "</pic:blipFill></pic:pic></a:graphicData></a:graphic></wp:inline></w:drawing></w:r></w:p>"
)


def docx_with_picture(picture: bytes) -> bytes:
    links = (
        f'<Relationships xmlns="{office_files.PACKAGE}/relationships"><Relationship Id="r9" '
        f'Type="{office_files.OFFICE}/image" Target="media/a.png"/></Relationships>'
    )
    more = {"word/media/a.png": picture, "word/_rels/document.xml.rels": links.encode()}
    return docx_of(f"<w:p><w:r><w:t>Before</w:t></w:r></w:p>{PICTURE}", more)


def test_a_picture_in_a_document_stands_as_what_is_said_of_it() -> None:
    captioner = ScriptedCaptioner(["It shows 42 sheep"])
    found = extracted("a.docx", docx_with_picture(png()), captioner)
    assert found.markdown == "Before\n\n[Picture: A chart. It shows 42 sheep]"
    alone = extracted("a.docx", docx_with_picture(png()))
    assert alone.markdown == "Before\n\n[Picture: A chart]"


def test_a_captioner_that_is_down_is_noted_and_asked_once() -> None:
    captioner = ScriptedCaptioner([CaptionerUnavailable("ollama:x can't be reached")])
    data = slides(pictures=[png(shade=1), png(shade=2)])
    found = extracted("a.pptx", data, captioner)
    assert found.notes == ("pictures are not described: ollama:x can't be reached",)
    assert len(captioner.images) == 1


def slides(pictures: list[bytes]) -> bytes:
    """Two slides: one with a table, notes, a group; one with pictures."""
    import pptx
    from pptx.util import Cm

    presentation = pptx.Presentation()
    first = presentation.slides.add_slide(presentation.slide_layouts[5])
    first.shapes.title.text = "Sheep"  # pyright: ignore[reportOptionalMemberAccess]
    first.shapes.add_textbox(Cm(1), Cm(5), Cm(5), Cm(1)).text_frame.text = "All are white"
    first.notes_slide.notes_text_frame.text = "Say it slowly"  # pyright: ignore[reportOptionalMemberAccess]
    group = first.shapes.add_group_shape()
    group.shapes.add_textbox(Cm(1), Cm(15), Cm(5), Cm(1)).text_frame.text = "In a group"
    second = presentation.slides.add_slide(presentation.slide_layouts[6])
    for place, picture in enumerate(pictures):
        second.shapes.add_picture(io.BytesIO(picture), Cm(place), Cm(1))
    buffer = io.BytesIO()
    presentation.save(buffer)
    return buffer.getvalue()


RICH_TEXT = (
    '<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><si>'
    '<r><t>There are 2</t></r><r><rPr><vertAlign val="superscript"/></rPr><t>48</t></r>'
    '<r><rPr><b/></rPr><t xml:space="preserve"> in all</t></r></si></sst>'
)
STRINGS_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"


def test_powers_in_sheets_are_no_longer_numbers() -> None:
    import openpyxl

    workbook = openpyxl.Workbook()
    workbook.worksheets[0].append([0, "plain", 2.0])
    buffer = io.BytesIO()
    workbook.save(buffer)
    with zipfile.ZipFile(buffer) as package:
        parts = {name: package.read(name) for name in package.namelist()}
    first = parts["xl/worksheets/sheet1.xml"].replace(b't="n"', b't="s"', 1)
    strings = f'<Override PartName="/xl/sharedStrings.xml" ContentType="{STRINGS_TYPE}"/></Types>'
    types = parts["[Content_Types].xml"].replace(b"</Types>", strings.encode())
    changed = {
        "xl/worksheets/sheet1.xml": first,
        "[Content_Types].xml": types,
        "xl/sharedStrings.xml": RICH_TEXT.encode(),
    }
    found = extracted("a.xlsx", packed({**parts, **changed})).markdown
    assert "| There are 2^48 in all | plain | 2 |" in found


def test_powers_on_slides_are_no_longer_numbers() -> None:
    import pptx

    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[5])
    paragraph = slide.shapes.title.text_frame.paragraphs[0]  # pyright: ignore[reportOptionalMemberAccess]
    for text in ("There are 2", "48"):
        paragraph.add_run().text = text
    (power,) = slide.shapes.element.xpath(".//a:r[2]")
    power.get_or_add_rPr().set("baseline", "30000")
    buffer = io.BytesIO()
    presentation.save(buffer)
    assert extracted("a.pptx", buffer.getvalue()).markdown == "## There are 2^48"


def test_slides_are_pages_with_their_pictures_notes_and_groups() -> None:
    captioner = ScriptedCaptioner(["Dolly", "Shaun", "Never asked"])
    pictures = [png(shade=1), png(shade=2), png(shade=2), png(10, 10), png(shade=3)]
    found = extracted("a.pptx", slides(pictures), captioner, Limits(pictures=2))
    first, second = found.markdown[: found.page_starts[1]], found.markdown[found.page_starts[1] :]
    assert first.split("\n\n")[:4] == [
        "## Sheep", "All are white", "In a group", "Notes: Say it slowly",
    ]  # fmt: skip
    assert second.startswith("## Slide 2\n\n[Picture: Dolly]\n\n[Picture: Shaun]")
    assert found.notes[0].startswith("pictures left out: 1 (the first 2 of a file")
    scores = scores_of(
        KNOWN, extracted("a.pptx", office_files.as_pptx(KNOWN)).markdown, ALL - {"code"}
    )
    assert (scores.cells, scores.headings) == (1.0, 1.0)


def test_sheets_become_tables_and_lines() -> None:
    found = extracted("a.xlsx", office_files.as_xlsx(KNOWN))
    scores = scores_of(KNOWN, found.markdown, frozenset({"cells"}))
    assert scores.cells == 1.0
    assert f"## {KNOWN.sections[0].heading}" in found.markdown


@pytest.mark.parametrize(
    ("name", "data", "what"),
    [
        ("a.pptx", office_files.as_pptx(KNOWN), "slides"),
        ("a.epub", office_files.as_epub(KNOWN), "chapters"),
    ],
)
def test_what_takes_too_long_is_read_as_far_as_it_goes(name: str, data: bytes, what: str) -> None:
    found = extracted(name, data, limits=Limits(seconds=0))
    assert found.notes == (f"only the first 0 {what} are read: it takes too long",)


def test_damaged_and_hostile_packages_are_refused_with_a_reason() -> None:
    whole = office_files.as_docx(KNOWN)
    for name, data, reason in (
        ("a.docx", packed({"word/document.xml": b"<no xml"}), "damaged"),
        ("a.pptx", packed({"ppt/presentation.xml": b"x"}), "damaged"),
        ("a.xlsx", packed({"xl/workbook.xml": b"x"}), "damaged"),
        ("a.epub", packed({"META-INF/container.xml": b"<x/>"}), "damaged"),
        ("a.docx", whole[: len(whole) // 2], "damaged"),
        ("a.docx", packed({"word/document.xml": b" " * 2_000_000}), "unpacks to"),
    ):
        with pytest.raises(ExtractionError, match=reason):
            extracted(name, data, limits=Limits(unpacked_bytes=1_000_000))


def test_a_protected_book_and_an_encrypted_package_say_so() -> None:
    book = zipfile.ZipFile(io.BytesIO(office_files.as_epub(KNOWN)))
    parts = {name: book.read(name) for name in book.namelist()}
    locked = b'<e xmlns="x"><CipherReference URI="book/one.xhtml"/></e>'
    with pytest.raises(ExtractionError, match="copy-protected"):
        extracted("a.epub", packed(parts | {"META-INF/encryption.xml": locked}))
    encrypted = bytearray(office_files.as_docx(KNOWN))
    encrypted[encrypted.rindex(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(ExtractionError, match="password"):
        extracted("a.docx", bytes(encrypted))

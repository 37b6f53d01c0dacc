"""Mail: all of its text in order, mails in mails, attachments as the files that they are."""

from email.message import EmailMessage

import pytest

from servers.reading.context import ENCLOSED_DEPTH_MAX
from servers.reading.files import FileExtractor
from servers.reading.markdown import lowered
from servers.reading.source import Extracted, Source
from tests.evals.extraction.office_files import docx_of
from tests.servers.reading.reading_checks import ScriptedCaptioner, extracted, png

FROM = "From: Ann <ann@example.org>"


def mail_of(text: str, subject: str = "The roof") -> EmailMessage:
    mail = EmailMessage()
    mail["From"], mail["Subject"] = "Ann <ann@example.org>", subject
    mail.set_content(text)
    return mail


def read(mail: EmailMessage, captioner: ScriptedCaptioner | None = None) -> Extracted:
    return extracted("a.eml", mail.as_bytes(), captioner)


def test_text_goes_on_after_an_inline_attachment() -> None:
    mail = mail_of("Before the picture.")
    mail.add_attachment(png(), "image", "png", disposition="inline", filename="roof.png")
    mail.add_attachment("After <b>the</b> picture.", subtype="html", disposition="inline")
    mail.add_attachment("At the end.", disposition="inline")
    found = read(mail, ScriptedCaptioner(["A tile is missing"])).markdown
    before, after = "Before the picture.\n\nAfter **the** picture.\n\nAt the end.", "Attachments: "
    assert found.startswith(f"# The roof\n\n{FROM}\n\n{before}\n\n{after}roof.png (")
    assert found.endswith(" kB)\n\n[Picture: A tile is missing]")


def test_a_mail_inside_a_mail_is_read_with_its_headers_and_attachments() -> None:
    inner = mail_of("The quote is 900 euros.", "Quote")
    inner.add_attachment("slate,600\nwork,300\n", subtype="csv", filename="items.csv")
    outer = mail_of("See below.", "Fwd: Quote")
    outer.add_attachment(inner)
    outer.add_attachment("Not enclosed.", disposition="inline")
    assert read(outer).markdown == (
        f"# Fwd: Quote\n\n{FROM}\n\nSee below.\n\nNot enclosed.\n\nAttachments: Quote\n\n"
        f"## Quote\n\n{FROM}\n\nThe quote is 900 euros.\n\nAttachments: items.csv (0 kB)\n\n"
        "### items.csv\n\n| slate | 600 |\n| --- | --- |\n| work | 300 |"
    ).replace("(0 kB)", "(1 kB)")


def test_attachments_are_read_as_the_files_that_they_are() -> None:
    mail = mail_of("Two files.")
    mail.add_attachment("# Plan\n\nSlate first.", subtype="markdown", filename="plan.md")
    document = docx_of("<w:p><w:r><w:t>Signed by both</w:t></w:r></w:p>")
    mail.add_attachment(document, maintype="application", subtype="octet-stream")
    mail.add_attachment(mail_of("As a file.", "Old").as_bytes(), maintype="application",
                        subtype="octet-stream", filename="old.eml")  # fmt: skip
    found = read(mail)
    assert "## plan.md\n\n### Plan\n\nSlate first." in found.markdown
    assert "## application/octet-stream\n\nSigned by both" in found.markdown
    assert "## old.eml\n\n### Old\n\n" in found.markdown
    assert found.markdown.endswith("As a file.")
    assert found.notes == ()


def test_an_attachment_that_cannot_be_read_is_noted_and_named_and_costs_nothing_else() -> None:
    mail = mail_of("Some files.")
    for name in ("a.zip", "b.pdf", "c.xlsx"):
        mail.add_attachment(b"x", maintype="application", subtype="zip", filename=name)
    mail.add_attachment(b"x", maintype="application", subtype="pgp-signature", filename="s.asc")
    mail.add_attachment("read", filename="d.txt")
    found = read(mail)
    assert found.markdown.endswith("c.xlsx (1 kB), d.txt (1 kB)\n\n## d.txt\n\nread")
    assert [note.partition(":")[0] for note in found.notes] == ["a.zip", "b.pdf", "c.xlsx"]


def test_of_alternatives_one_is_read_with_all_that_is_attached_to_either() -> None:
    mail = mail_of("Plain words.")
    mail.add_alternative("<p>The same in HTML</p>", subtype="html")
    page = mail.get_payload()[1]  # pyright: ignore[reportIndexIssue, reportArgumentType, reportCallIssue, reportUnknownVariableType]
    assert isinstance(page, EmailMessage)
    page.add_related(png(), maintype="image", subtype="png", cid="<a@b>", disposition="inline")
    page.make_mixed()
    page.add_attachment("deep words", filename="deep.txt")
    found = read(mail).markdown
    assert "Plain words." in found
    assert "The same" not in found
    assert found.endswith("Attachments: deep.txt (1 kB)\n\n## deep.txt\n\ndeep words")


def test_an_empty_plain_text_gives_way_to_the_page() -> None:
    mail = mail_of("\n")
    mail.add_alternative("<p>Only in HTML</p>", subtype="html")
    assert read(mail).markdown.endswith("Only in HTML")


def test_mails_in_mails_are_read_to_a_depth_and_careful_reading_opens_nothing() -> None:
    mail = mail_of("level 9", "9")
    for level in range(8, -1, -1):
        outer = mail_of(f"level {level}", str(level))
        outer.add_attachment(mail)
        mail = outer
    found = read(mail)
    assert [f"level {level}" in found.markdown for level in range(10)] == [
        level <= ENCLOSED_DEPTH_MAX for level in range(10)
    ]
    assert "named only" in found.notes[0]
    careful = FileExtractor().extract_source(Source("a.eml", mail.as_bytes()), is_careful=True)
    assert "level 1" not in careful.markdown
    assert "named only" in careful.notes[0]


@pytest.mark.parametrize(
    "raw",
    [
        b"Subject: x\nContent-Type: multipart/mixed\n\nThe words of it",
        b"Subject: x\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\nThe words of it\n",
        b"Subject: x\nContent-Type: message/rfc822\n\nSubject: y\n\nThe words of it\n",
        b"Subject: x\nContent-Type: text/plain; name*=utf-8''a%\n\nThe words of it\n",
    ],
)
def test_broken_parts_are_read_as_far_as_they_go(raw: bytes) -> None:
    assert "The words of it" in extracted("a.eml", raw).markdown


def test_headings_are_lowered_outside_of_code() -> None:
    text = "# A\n\n##### B\n\n```\n# no heading\n````\n\n## C\n#D"
    assert lowered(text, 2) == "### A\n\n###### B\n\n```\n# no heading\n````\n\n#### C\n#D"


@pytest.mark.parametrize("charset", ["utf-7", "UTF_7", "u7", "unicode-1-1-utf-7"])
def test_utf_7_is_decoded_nowhere_in_a_mail(charset: str) -> None:
    mail = (
        f"Subject: =?{charset}?q?+ADw-b?=\r\nFrom: =?{charset}*en?b?K0FEdy1i?= <a@example.org>\r\n"
        f"Content-Type: multipart/mixed; boundary=x\r\n\r\n"
        f"--x\r\nContent-Type: text/plain; charset={charset}\r\n\r\n+ADw-b\r\n"
        f"--x\r\nContent-Type: text/html; charset={charset}\r\n\r\n+ADw-b+AD4-y\r\n"
        f"--x\r\nContent-Type: text/plain; charset={charset}\r\n"
        f"Content-Disposition: attachment; filename*={charset}''%2BADw-b.txt\r\n\r\n+ADw-b\r\n--x--"
    )
    found = extracted("a.eml", mail.encode())
    assert found.markdown.count("+ADw-b") >= 5
    assert "<b" not in found.markdown + found.title
    assert found.title == "+ADw-b"

"""What a file is told by, and which files are left alone."""

import os
from pathlib import Path

import pytest

from servers.reading.kinds import kind_of, supported
from servers.reading.source import ExtractionError, Source
from tests.evals.extraction.office_files import packed

PNG = b"\x89PNG\r\n\x1a\n\0\0"
OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("a.pdf", b"%PDF-1.7", "pdf"),
        ("pdf-without-an-end", b"\n%PDF-1.4", "pdf"),
        ("named.txt", PNG, "image"),
        ("a.webp", b"RIFF\0\0\0\0WEBPVP8 ", "image"),
        ("a.pdf", b"<!DOCTYPE html><html>404", "html"),
        ("page", b"\xef\xbb\xbf <html><body>x", "html"),
        ("a.md", b"# x", "markdown"),
        ("BM.txt", b"BM is how this text begins", "text"),
        ("Makefile", b"all:\n\techo", "source"),
        ("notes", "schön".encode("cp1252"), "text"),
        ("a.bin2", b"word/document.xml", "text"),
        ("a.docx", packed({"word/document.xml": b""}), "docx"),
        ("a.zip.docx", packed({"xl/workbook.xml": b""}), "xlsx"),
        ("a.dat", packed({"META-INF/container.xml": b""}), "epub"),
    ],
)
def test_content_tells_the_kind_before_the_name_does(name: str, data: bytes, kind: str) -> None:
    assert kind_of(Source(name, data)) == kind


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("a.zip", packed({"a.txt": b"x"}), "archives are not opened"),
        ("a.odt", packed({"content.xml": b"x"}), "save it as docx"),
        ("a.docx", b"PK\x03\x04 cut off", "damaged"),
        ("a.docx", OLD_OFFICE + "EncryptedPackage".encode("utf-16-le"), "password"),
        ("a.doc", OLD_OFFICE, "before 2007"),
        ("a.rtf", b"{\\rtf1", "save it as docx"),
        ("a.png", b"no picture", "its beginning is wrong"),
        ("blob", bytes(range(256)), "no text"),
    ],
)
def test_what_is_not_read_says_why_and_what_to_do(name: str, data: bytes, reason: str) -> None:
    with pytest.raises(ExtractionError, match=reason):
        kind_of(Source(name, data))


def test_only_files_with_an_unknown_end_of_their_name_are_looked_into(tmp_path: Path) -> None:
    assert supported(tmp_path / "missing.pdf")
    assert supported(tmp_path / "missing.doc")  # so that reading it says what to save it as
    assert not supported(tmp_path / "missing.zip")
    assert not supported(tmp_path / "~$open.docx")
    assert not supported(tmp_path / "missing.unknown")
    (tmp_path / "a.unknown").write_bytes(b"some text")
    (tmp_path / "b.unknown").write_bytes(b"\0\1\2")
    os.mkfifo(tmp_path / "pipe.unknown")
    assert supported(tmp_path / "a.unknown")
    assert not supported(tmp_path / "b.unknown")
    assert not supported(tmp_path / "pipe.unknown")

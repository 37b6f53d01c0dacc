"""What a file is told by, which files are left alone, and how bytes become text."""

import os
from pathlib import Path

import pytest

from servers.reading.files import FileExtractor, read_file
from servers.reading.kinds import kind_of, supported
from servers.reading.limits import Limits
from servers.reading.process.messages import Request
from servers.reading.source import ExtractionError, Source
from servers.reading.text.encodings import is_text, text_of
from tests.evals.extraction.office_files import packed

TEXTS = {"shift_jis": "羊飼い", "koi8-r": "Овцы", "cp1250": "Zażółć gęślą"}
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


def test_an_archive_is_refused_by_its_name_without_being_read(tmp_path: Path) -> None:
    with pytest.raises(ExtractionError, match="zip files are not read"):
        FileExtractor().extract(Request(tmp_path / "missing.ZIP"))


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


@pytest.mark.parametrize(
    ("data", "charset"),
    [
        ("größer".encode("utf-8-sig"), ""),
        ("größer".encode("utf-16"), ""),
        ("größer".encode("utf-16-le"), ""),
        ("größer".encode("utf-32"), ""),
        ("größer".encode("cp1252"), ""),
        ("größer".encode("latin-1"), "iso-8859-1"),
        ("größer".encode(), "iso-8859-1"),
        ("größer".encode("cp1250"), "windows-1250"),
        ("größer".encode("utf-7"), "utf-7"),
        ("größer".encode("cp1252"), "no-such-charset"),
        ("größer".encode("cp1252"), "rot13"),
    ],
)
def test_text_is_decoded_by_its_mark_its_bytes_and_its_label(data: bytes, charset: str) -> None:
    assert text_of(data, charset) == "größer"


def test_the_label_is_found_in_pages_xml_and_source() -> None:
    for head, charset in (
        ("<html><meta charset=shift_jis>", "shift_jis"),
        ("<?xml version='1.0' encoding='koi8-r'?>", "koi8-r"),
        ("#!/bin/python\n# -*- coding: cp1250 -*-", "cp1250"),
    ):
        text = f"{head}\n{TEXTS[charset]}"
        assert text_of(text.encode(charset)) == text
    assert not is_text(b"text with \0 inside")


def test_a_file_is_read_only_if_it_is_one_and_not_too_large(tmp_path: Path) -> None:
    small = Limits(file_bytes=10)
    (tmp_path / "large.txt").write_bytes(b"x" * 11)
    (tmp_path / "empty.txt").touch()
    os.mkfifo(tmp_path / "pipe.txt")
    for name, reason in (
        ("large.txt", "more than the 0 MB"),
        ("pipe.txt", "no regular file"),
        ("missing.txt", "No such file"),
    ):
        with pytest.raises(ExtractionError, match=reason):
            read_file(tmp_path / name, small)
    with pytest.raises(ExtractionError):
        read_file(tmp_path, small)
    assert FileExtractor().extract(Request(tmp_path / "empty.txt")).notes == ("the file is empty",)

"""Pages in many encodings, said rightly, wrongly, or not at all."""

import pytest

from servers.reading.text.encodings import is_text, text_of

TEXTS = {
    "windows-1252": "Die Straße nach Köln führt über die Brücke, sagt Frau Müller – „für 5 €“.",
    "shift_jis": "これは日本語の文章です。羊飼いは雪が降る前に羊を数えます。カタカナもあります。",
    "gb18030": "这是一个中文网页。牧羊人在下雪之前数他们的羊,然后回到村子里去。",
    "koi8-r": "Пастухи севера считают своих овец, пока не выпал снег. Это длинное предложение.",
    "windows-1251": "Пастухи севера считают своих овец, пока не выпал снег. Вот и всё.",
    "euc-jp": "これは日本語の文章です。羊飼いは雪が降る前に羊を数えます。カタカナもあります。",
    "euc-kr": "이것은 한국어 문장입니다. 양치기는 눈이 오기 전에 양을 셉니다.",
    "big5": "這是一個中文網頁。牧羊人在下雪之前數他們的羊,然後回到村子裡去。",
}


def body(text: str, charset: str, said: str = "") -> bytes:
    meta = f'<meta charset="{said}">' if said else ""
    page = f"<html><head>{meta}<title>x</title></head><body><p>{text}</p></body></html>"
    return page.encode(charset)


@pytest.mark.parametrize("charset", TEXTS)
def test_the_charset_of_the_header_counts(charset: str) -> None:
    assert TEXTS[charset] in text_of(body(TEXTS[charset], charset), charset)


@pytest.mark.parametrize("charset", TEXTS)
def test_the_charset_in_the_page_counts_where_the_header_is_silent_or_wrong(charset: str) -> None:
    data = body(TEXTS[charset], charset, said=charset)
    assert TEXTS[charset] in text_of(data, "")
    assert TEXTS[charset] in text_of(data, "utf-8")


@pytest.mark.parametrize("charset", TEXTS)
@pytest.mark.parametrize("said", ["", "utf-8", "iso-8859-1", "no-such-charset"])
def test_a_wrong_charset_is_not_believed(charset: str, said: str) -> None:
    assert TEXTS[charset] in text_of(body(TEXTS[charset] * 3, charset, said=said), said)


def test_utf8_is_known_whatever_is_said_of_it() -> None:
    for said in ("shift_jis", "windows-1252", ""):
        assert "Straße 羊" in text_of(body("Straße 羊", "utf-8", said="koi8-r"), said)


@pytest.mark.parametrize("mark", ["utf-8-sig", "utf-16"])
def test_a_byte_order_mark_comes_first(mark: str) -> None:
    assert text_of("Straße 羊".encode(mark), "koi8-r") == "Straße 羊"


def test_seven_bit_encodings_are_read_as_they_are_said() -> None:
    assert "羊飼い" in text_of(body("羊飼い", "iso-2022-jp", said="iso-2022-jp"), "")


def test_any_bytes_become_some_text() -> None:
    assert text_of(bytes(range(256)) * 4, "nonsense")


SHORT = {"shift_jis": "羊飼い", "koi8-r": "Овцы", "cp1250": "Zażółć gęślą"}


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
        ("größer".encode("cp1252"), "no-such-charset"),
        ("größer".encode("cp1252"), "rot13"),
    ],
)
def test_text_is_decoded_by_its_mark_its_bytes_and_its_label(data: bytes, charset: str) -> None:
    assert text_of(data, charset) == "größer"


@pytest.mark.parametrize("label", ["utf-7", "UTF7", "u7", "unicode-1-1-utf-7", "x-utf-7"])
def test_utf_7_is_never_decoded(label: str) -> None:
    hidden = "<b>".encode("utf-7")
    for data in (
        hidden,
        f"<meta charset={label}>".encode() + hidden,
        f"<?xml version='1.0' encoding='{label}'?>".encode() + hidden,
        f"# coding: {label}\n".encode() + hidden,
        hidden + "é".encode("latin-1"),
    ):
        assert hidden.decode() in text_of(data, label)
        assert hidden.decode() in text_of(data)


def test_the_label_is_found_in_pages_xml_and_source() -> None:
    for head, charset in (
        ("<html><meta charset=shift_jis>", "shift_jis"),
        ("<?xml version='1.0' encoding='koi8-r'?>", "koi8-r"),
        ("#!/bin/python\n# -*- coding: cp1250 -*-", "cp1250"),
    ):
        text = f"{head}\n{SHORT[charset]}"
        assert text_of(text.encode(charset)) == text
    assert not is_text(b"text with \0 inside")

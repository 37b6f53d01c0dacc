"""Formats that the standard library reads: their text, tables, code and titles, line for line."""

import json
import plistlib
from email.message import EmailMessage

import pytest

from servers.reading.files import FetchPage, FileExtractor
from servers.reading.limits import Limits
from servers.reading.source import ExtractionError, Source
from tests.evals.extraction import text_files
from tests.evals.extraction.known import known_document
from tests.evals.extraction.scoring import scores_of
from tests.servers.reading.reading_checks import extracted

KNOWN = known_document(8)


@pytest.mark.parametrize(
    ("name", "data", "parts"),
    [
        ("a.md", text_files.as_markdown(KNOWN), {"cells", "headings", "code"}),
        ("a.rst", text_files.as_rst(KNOWN), {"headings", "code"}),
        ("a.txt", text_files.as_text(KNOWN), set[str]()),
        ("a.json", text_files.as_json(KNOWN), set[str]()),
        ("a.py", text_files.as_source(KNOWN), set[str]()),
    ],
)
def test_known_content_comes_back(name: str, data: bytes, parts: set[str]) -> None:
    scores = scores_of(KNOWN, extracted(name, data).markdown, frozenset(parts))
    assert scores.words > 0.99
    assert all(each in (None, 1.0) for each in (scores.cells, scores.headings, scores.code))


def test_lines_of_text_stay_where_they_are() -> None:
    text = "---\ntitle: 'On *stars*'\n---\nfirst\r\n\r\nthird\x07"
    found = extracted("a.md", text.encode())
    assert found.markdown.split("\n")[3:6] == ["first", "", "third "]
    assert found.title == "On *stars*"
    rst = "====\nTitle\n====\n\nText::\n\n.. code-block:: c\n\n   int x;\n\nEnd\n---\n"
    lines = extracted("a.rst", rst.encode()).markdown.split("\n")
    assert len(lines) == len(rst.split("\n"))
    assert [lines[1], lines[6], lines[8], lines[9], lines[10]] == [
        "# Title", "```c", "int x;", "```", "## End",
    ]  # fmt: skip


def test_code_that_holds_fences_stands_between_longer_ones() -> None:
    found = extracted("a.py", b'"""\n```\n# no heading\n```\n"""\n')
    assert found.markdown.startswith("````python\n")
    assert found.markdown.endswith("\n````")


def test_json_in_one_line_is_laid_out_and_broken_json_is_kept() -> None:
    long = json.dumps({"key": ["ä" * 10] * 100}, ensure_ascii=False)
    assert '\n  "ääääääääää",' in extracted("a.json", long.encode()).markdown
    broken = extracted("a.json", b"{" * 5_000)
    assert "no valid JSON" in broken.notes[0]
    assert "{{{" in broken.markdown


def test_a_notebook_gives_text_and_code_and_no_output() -> None:
    cells: list[dict[str, object]] = [
        {"cell_type": "markdown", "source": ["# Study\n", "Some words"]},
        {"cell_type": "code", "source": "x = 1", "outputs": [{"data": "QUJD"}]},
    ]
    found = extracted("a.ipynb", json.dumps({"cells": cells}).encode())
    assert found.markdown == "# Study\nSome words\n\n```python\nx = 1\n```"
    assert found.title == "Study"


def test_delimited_values_become_tables_within_their_bounds() -> None:
    found = extracted("a.csv", "Preise 2024\n\nArt;Preis\nBrot|Laib;4,20\n;\n".encode("cp1252"))
    assert found.markdown == (
        "Preise 2024\n\n| Art | Preis |\n| --- | --- |\n| Brot\\|Laib | 4,20 |"
    )
    assert "| a | b |" in extracted("a.tsv", b"a\tb\n1\t2").markdown
    many = "\n".join(f"{each},x,y" for each in range(50)).encode()
    short = extracted("a.csv", many, limits=Limits(rows=10, columns=2))
    assert short.markdown.count("\n") == 10
    assert short.notes == (
        "only the first 2 columns of the file are read",
        "only the first 10 rows of the file are read",
    )


def test_a_mail_gives_its_headers_its_plain_text_and_the_names_of_attachments() -> None:
    mail = EmailMessage()
    mail["From"], mail["Subject"] = "Ann <ann@example.org>", "Über die Brücke"
    mail.set_content("See the report.\n", charset="iso-8859-1")
    mail.add_alternative("<p>HTML instead</p>", subtype="html")
    mail.add_attachment(b"x" * 12_000, maintype="application", subtype="pdf", filename="a.pdf")
    found = extracted("a.eml", mail.as_bytes())
    assert found.title == "Über die Brücke"
    assert found.markdown == (
        "# Über die Brücke\n\nFrom: Ann <ann@example.org>\n\nSee the report.\n\n"
        "Attachments: a.pdf (12 kB)"
    )


def test_a_broken_mail_is_read_as_far_as_it_goes() -> None:
    raw = b"Subject: =?no-such?q?x?=\nFrom: <<<\nContent-Type: text/plain; charset=none\n\n"
    raw += "größer".encode("latin-1")
    assert "größer" in extracted("a.eml", raw).markdown


def page_at(expected: str, page: Source | ExtractionError) -> FetchPage:
    """Fetches the page at one address."""

    def fetch(url: str) -> Source:
        assert url == expected
        if isinstance(page, ExtractionError):
            raise page
        return page

    return fetch


LINKS = {
    "a.url": b"[InternetShortcut]\r\nIconIndex=0\r\nURL=https://example.org/a\r\n[x]\r\nURL=no\r\n",
    "a.webloc": plistlib.dumps({"URL": "https://example.org/a"}),
    "b.webloc": plistlib.dumps({"URL": "https://example.org/a"}, fmt=plistlib.FMT_BINARY),
}


@pytest.mark.parametrize("name", LINKS)
def test_a_link_file_gives_what_it_leads_to(name: str) -> None:
    page = Source("page.txt", b"gr\xf6\xdfer", "latin-1")
    extractor = FileExtractor(fetch_page=page_at("https://example.org/a", page))
    found = extractor.extract_source(Source(name, LINKS[name]))
    assert found.markdown == "größer"
    assert found.title == "https://example.org/a"


def test_a_link_to_anything_but_a_web_page_is_refused() -> None:
    refusing = FileExtractor(
        fetch_page=page_at("https://example.org/a", ExtractionError("no host"))
    )
    with pytest.raises(ExtractionError, match="no host"):
        refusing.extract_source(Source("a.url", LINKS["a.url"]))
    for name, data in (
        ("a.url", b"[InternetShortcut]\nURL=file:///etc/passwd"),
        ("a.url", b"URL=https://example.org/outside-of-its-section"),
        ("a.webloc", b"<?xml version='1.0'?><!DOCTYPE x [<!ENTITY a 'b'>]><plist>&a;</plist>"),
        ("a.webloc", plistlib.dumps(["https://example.org"])),
    ):
        with pytest.raises(ExtractionError, match="no web page"):
            refusing.extract_source(Source(name, data))

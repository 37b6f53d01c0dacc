"""Reading files with the real libraries, in the real process: PDF, scans, hostile files."""

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from servers.reading.limits import Limits
from servers.reading.process.worker import ExtractionWorker
from servers.reading.source import ExtractionError
from tests.command_line import ROOT
from tests.evals.extraction.known import known_document
from tests.evals.extraction.office_files import packed
from tests.evals.extraction.pdf_files import PdfWriter, as_pdf
from tests.evals.extraction.scoring import scores_of, words_in

KNOWN = known_document(8)
PAGES = 20


@pytest.fixture(scope="module")
def worker() -> Iterator[ExtractionWorker]:
    opened = ExtractionWorker("ocr")
    yield opened
    opened.close()


def test_a_pdf_comes_back_with_its_structure(worker: ExtractionWorker, tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(as_pdf(KNOWN))
    found = worker.extract(tmp_path / "a.pdf")
    scores = scores_of(KNOWN, found.markdown, frozenset({"cells", "headings"}))
    assert scores.words > 0.98
    assert scores.headings == 1.0
    assert scores.cells is not None
    assert scores.cells > 0.9  # PyMuPDF may take the line above a table for its head
    assert found.title == KNOWN.title


def test_a_pdf_has_its_powers_each_cell_once_and_no_tags(
    worker: ExtractionWorker, tmp_path: Path
) -> None:
    import pymupdf

    document = pymupdf.open()
    page = document.new_page()
    text = "<p>The number 2<sup>48</sup> is <u>large</u>, write &lt;mark&gt; for it</p>"
    page.insert_htmlbox((50, 50, 500, 100), text)
    cells = {
        (50, 200, 150, 240): "",
        (150, 200, 350, 240): "Price",
        (50, 240, 150, 280): "Bread",
        (150, 240, 250, 280): "10<sup>3</sup><br>a loaf",
        (250, 240, 350, 280): "x",
    }
    for place, words in cells.items():
        page.draw_rect(place)
        page.insert_htmlbox(place, f"<p>{words}</p>")
    (tmp_path / "a.pdf").write_bytes(document.tobytes())
    assert worker.extract(tmp_path / "a.pdf").markdown == (
        "The number 2^48 is large, write <mark> for it\n\n"
        "|  | Price |  |\n| --- | --- | --- |\n| Bread | 10^3 a loaf | x |"
    )


def test_an_encrypted_pdf_says_so(worker: ExtractionWorker, tmp_path: Path) -> None:
    import pymupdf

    writer = PdfWriter()
    writer.text("secret words", 12)
    method = pymupdf.PDF_ENCRYPT_AES_256
    (tmp_path / "a.pdf").write_bytes(writer.data(encryption=method, owner_pw="o", user_pw="u"))
    with pytest.raises(ExtractionError, match="password"):
        worker.extract(tmp_path / "a.pdf")


def test_many_pages_keep_their_numbers(worker: ExtractionWorker, tmp_path: Path) -> None:
    writer = PdfWriter()
    for number in range(PAGES):
        writer.text(f"page number {number}" + "\nfiller" * 34, 12)
    (tmp_path / "a.pdf").write_bytes(writer.data())
    found = worker.extract(tmp_path / "a.pdf")
    ends = (*found.page_starts[1:], len(found.markdown))
    pages = [found.markdown[a:b] for a, b in zip(found.page_starts, ends, strict=True)]
    assert [f"number {number}\n" in page for number, page in enumerate(pages)] == [True] * PAGES


def test_a_scanned_page_is_read_offline(worker: ExtractionWorker, tmp_path: Path) -> None:
    typed, scanned = PdfWriter(), PdfWriter()
    typed.text("The harbour keeps forty boats in winter and lists ninety in summer", 14)
    scanned.picture(typed.pictures(150)[0])
    (tmp_path / "scan.pdf").write_bytes(scanned.data())
    (tmp_path / "scan.png").write_bytes(typed.pictures(150)[0])
    for name in ("scan.pdf", "scan.png"):
        found = worker.extract(tmp_path / name)
        assert {"harbour", "forty", "ninety", "summer"} <= set(words_in(found.markdown))


@pytest.mark.parametrize("kept", range(0, 100, 10))
def test_a_pdf_cut_off_anywhere_gives_text_or_a_reason(
    worker: ExtractionWorker, tmp_path: Path, kept: int
) -> None:
    whole = as_pdf(KNOWN)
    (tmp_path / "a.pdf").write_bytes(whole[: 20 + len(whole) * kept // 100])
    reason = ""
    try:
        worker.extract(tmp_path / "a.pdf")
    except ExtractionError as error:
        reason = str(error)
    assert "crashed" not in reason
    assert len(reason) < 200


def test_what_unpacks_to_more_than_memory_holds_is_ended(tmp_path: Path) -> None:
    # Within the bound on what is unpacked, but some hundred times as large as a tree.
    body = b"<w:p><w:r><w:t>x</w:t></w:r></w:p>" * 8_000_000
    head = b'<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>'
    (tmp_path / "a.docx").write_bytes(
        packed({"word/document.xml": head + body + b"</w:body></w:document>"})
    )
    (tmp_path / "b.txt").write_text("still here", encoding="utf-8")
    worker = ExtractionWorker("none", limits=Limits(seconds=20))
    try:
        with pytest.raises(ExtractionError):
            worker.extract(tmp_path / "a.docx")
        assert worker.extract(tmp_path / "b.txt").markdown == "still here"
    finally:
        worker.close()


PARENT = """
import sys, threading
from pathlib import Path
from servers.reading.limits import Limits
from servers.reading.process.messages import Request
from servers.reading.process.worker import ReaderProcess
process = ReaderProcess("none", Limits(), {})
process.read(Request(Path(sys.argv[1])))
print(process.pid, flush=True)
threading.Event().wait()
"""


def test_the_reader_is_gone_when_its_parent_is_killed(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("words", encoding="utf-8")
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path / "a.txt")], stdout=subprocess.PIPE, cwd=ROOT
    )
    assert parent.stdout is not None
    with parent.stdout:
        reader = int(parent.stdout.readline())
        watched = os.pidfd_open(reader)
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    try:
        assert select.select([watched], [], [], 10)[0], "the reader outlived its parent"
    finally:
        os.close(watched)

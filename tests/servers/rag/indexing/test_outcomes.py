"""What comes of reading one file, whatever happens to it meanwhile."""

import logging
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from servers.rag.faults import ExtractionError
from servers.rag.indexing.outcomes import FileFailed, FileGone, FileRead, FileReader, FileUnchanged
from servers.rag.indexing.reading import read_hash
from servers.rag.indexing.scan import FoundFile
from servers.rag.passages import Extracted

LONG_AGO_NS = 1_600_000_000_000_000_000


class Extracting:
    """An extractor that does something else while it reads."""

    def __init__(self, meanwhile: Callable[[Path], None]) -> None:
        self._meanwhile = meanwhile

    def extract(self, path: Path) -> Extracted:
        text = path.read_text(encoding="utf-8")
        self._meanwhile(path)
        return Extracted(text)


def nothing(_: Path) -> None:
    pass


def reader(meanwhile: Callable[[Path], None] = nothing) -> FileReader:
    return FileReader(Extracting(meanwhile), bytes_max=1_000)


@pytest.fixture
def file(tmp_path: Path) -> FoundFile:
    path = tmp_path / "a.md"
    path.write_text("text", encoding="utf-8")
    os.utime(path, ns=(LONG_AGO_NS, LONG_AGO_NS))
    return FoundFile("a.md", str(path), 4, LONG_AGO_NS)


def test_a_file_that_holds_still_is_read(file: FoundFile) -> None:
    outcome = reader().read(file, None)

    assert isinstance(outcome, FileRead)
    assert (outcome.extracted.markdown, outcome.settled) == ("text", True)


def test_a_file_with_the_known_hash_is_not_extracted(file: FoundFile) -> None:
    def fail(_: Path) -> None:
        raise AssertionError("it was extracted")

    outcome = reader(fail).read(file, read_hash(file.path, 100).content_hash)

    assert isinstance(outcome, FileUnchanged)


def test_a_file_that_is_written_meanwhile_is_not_settled(file: FoundFile) -> None:
    def write(path: Path) -> None:
        path.write_text("more text", encoding="utf-8")

    outcome = reader(write).read(file, None)

    assert isinstance(outcome, FileRead)
    assert not outcome.settled


def test_a_file_that_goes_away_meanwhile_is_gone(file: FoundFile) -> None:
    def remove(path: Path) -> None:
        path.unlink()
        raise ExtractionError("can't be opened")

    assert reader(remove).read(file, None) == FileGone(file)
    assert reader().read(file, None) == FileGone(file)


def test_a_damaged_file_is_a_failure_with_its_reason(file: FoundFile) -> None:
    def refuse(_: Path) -> None:
        raise ExtractionError("the PDF is encrypted")

    outcome = reader(refuse).read(file, None)

    assert isinstance(outcome, FileFailed)
    assert (outcome.reason, outcome.settled) == ("the PDF is encrypted", True)
    assert outcome.reading is not None


def test_a_fault_of_an_extractor_fails_that_file_alone(
    file: FoundFile, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: Path) -> None:
        raise ZeroDivisionError

    with caplog.at_level(logging.ERROR):
        outcome = reader(fail).read(file, None)

    assert isinstance(outcome, FileFailed)
    assert outcome.reason == "can't be read (ZeroDivisionError)"
    assert "a.md" in caplog.text


def test_what_cannot_be_opened_is_a_failure_without_a_reading(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.md")

    outcome = reader().read(FoundFile("a.md", str(tmp_path / "a.md"), 0, 0), None)

    assert isinstance(outcome, FileFailed)
    assert outcome.reading is None
    assert outcome.reason.startswith("can't be opened")

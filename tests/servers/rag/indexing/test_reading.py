"""A file's hash, and the signs by which a later change of it shows."""

import logging
import os
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from servers.rag.folders.scan import FoundFile
from servers.rag.indexing.reading import (
    FileFailed,
    FileGone,
    FileRead,
    FileReader,
    FileUnchanged,
    NotReadable,
    Vanished,
    read_ahead,
    read_hash,
)
from servers.reading.source import ExtractionError
from tests.servers.rag.indexing.doubles import LONG_AGO_NS, PlainExtractor


def written(path: Path, text: str, modified_ns: int | None = None) -> str:
    path.write_text(text, encoding="utf-8")
    if modified_ns is not None:
        os.utime(path, ns=(modified_ns, modified_ns))
    return str(path)


def test_a_file_that_was_left_alone_still_holds(tmp_path: Path) -> None:
    path = written(tmp_path / "a.md", "text", LONG_AGO_NS)

    reading = read_hash(path, 100)

    assert reading.still_holds(path)
    assert reading.trusted_modified_ns == LONG_AGO_NS


def test_equal_contents_have_equal_hashes(tmp_path: Path) -> None:
    paths = [written(tmp_path / name, text) for name, text in (("a", "x"), ("b", "x"), ("c", "y"))]

    first, second, third = (read_hash(path, 100).content_hash for path in paths)

    assert first == second != third


def test_a_write_a_replacement_and_a_removal_show(tmp_path: Path) -> None:
    path = written(tmp_path / "a.md", "text", LONG_AGO_NS)
    reading = read_hash(path, 100)

    written(tmp_path / "a.md", "TEXT", LONG_AGO_NS + 1)
    assert not reading.still_holds(path)

    other = written(tmp_path / "b.md", "TEXT", LONG_AGO_NS)
    Path(other).replace(path)
    assert not reading.still_holds(path)

    Path(path).unlink()
    assert not reading.still_holds(path)


def test_the_time_of_a_file_written_just_now_is_not_trusted(tmp_path: Path) -> None:
    now = time.time_ns()
    reading = read_hash(written(tmp_path / "a.md", "text", now), 100)

    assert reading.modified_ns == now
    assert reading.trusted_modified_ns == now - 1


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(NotReadable, match="pipe"):
        read_hash(str(tmp_path / "pipe"), 100)


def test_a_link_put_in_the_place_of_a_file_is_not_followed(tmp_path: Path) -> None:
    written(tmp_path / "secret", "text")
    (tmp_path / "a.md").symlink_to(tmp_path / "secret")

    with pytest.raises(NotReadable):
        read_hash(str(tmp_path / "a.md"), 100)


def test_what_is_gone_has_vanished(tmp_path: Path) -> None:
    with pytest.raises(Vanished):
        read_hash(str(tmp_path / "a.md"), 100)
    with pytest.raises(Vanished):
        read_hash(str(Path(written(tmp_path / "file", "")) / "a.md"), 100)


def test_no_more_than_the_bound_is_read(tmp_path: Path) -> None:
    with pytest.raises(NotReadable, match="grows"):
        read_hash(written(tmp_path / "a.md", "x" * 101), 100)


def reader(meanwhile: Callable[[Path], None] | None = None) -> FileReader:
    return FileReader(PlainExtractor(meanwhile), bytes_max=1_000)


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


# Work done ahead on another thread.

SOON_SECONDS = 10.0


def test_results_come_in_order() -> None:
    assert list(read_ahead(lambda n: n * n, range(100), ahead=3)) == [n * n for n in range(100)]


def test_no_more_is_done_ahead_than_allowed() -> None:
    begun = threading.Semaphore(0)

    def work(number: int) -> int:
        begun.release()
        return number

    with closing(read_ahead(work, range(100), ahead=2)) as results:
        next(results)
        # One was taken, and two wait.
        assert all(begun.acquire(timeout=SOON_SECONDS) for _ in range(3))
        assert not begun.acquire(timeout=0.05)


def test_an_exception_is_raised_where_the_results_are_taken() -> None:
    results = read_ahead(lambda n: 1 // n, [1, 0], ahead=2)

    assert next(results) == 1
    with pytest.raises(ZeroDivisionError):
        next(results)


def test_leaving_early_ends_the_thread() -> None:
    done: list[int] = []

    def work(number: int) -> int:
        done.append(number)
        return number

    before = set(threading.enumerate())
    with closing(read_ahead(work, range(1000), ahead=1)) as results:
        next(results)
        mine = set(threading.enumerate()) - before
    for thread in mine:
        thread.join(SOON_SECONDS)

    assert not any(thread.is_alive() for thread in mine)
    assert len(done) <= 3

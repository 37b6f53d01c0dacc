"""Files read one by one and ahead, whatever happens to them; see `test_indexer` for the rest."""

import logging
import os
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from servers.rag.folders.scan import FoundFile
from servers.rag.indexing.reading import (
    FileFailed,
    FileReader,
    NotReadable,
    Vanished,
    read_ahead,
    read_hash,
)
from tests.servers.rag.indexing.doubles import LONG_AGO_NS, SOON_SECONDS, PlainExtractor, write


def test_a_write_a_replacement_and_a_removal_show(tmp_path: Path) -> None:
    path = write(tmp_path / "a.md", "text")
    reading = read_hash(str(path), 100)
    assert reading.still_holds(str(path))

    write(path, "TEXT", LONG_AGO_NS + 1)
    assert not reading.still_holds(str(path))

    write(tmp_path / "b.md", "TEXT").replace(path)
    assert not reading.still_holds(str(path))

    path.unlink()
    assert not reading.still_holds(str(path))


def test_the_time_of_a_file_written_just_now_is_not_trusted(tmp_path: Path) -> None:
    now = time.time_ns()
    assert read_hash(str(write(tmp_path / "a.md", "text", now)), 100).trusted_modified_ns == now - 1
    old = read_hash(str(write(tmp_path / "a.md", "text")), 100)
    assert old.trusted_modified_ns == LONG_AGO_NS


def test_what_is_no_file_or_grows_is_not_read_and_what_is_gone_has_vanished(
    tmp_path: Path,
) -> None:
    os.mkfifo(tmp_path / "pipe")
    write(tmp_path / "large", "x" * 101)
    (tmp_path / "link").symlink_to(write(tmp_path / "secret", "text"))
    for name, said in (("pipe", "pipe"), ("link", "symbolic"), ("large", "grows")):
        with pytest.raises(NotReadable, match=said):
            read_hash(str(tmp_path / name), 100)
    for name in ("nothing", "secret/a.md"):
        with pytest.raises(Vanished):
            read_hash(str(tmp_path / name), 100)


def test_a_fault_of_an_extractor_fails_that_file_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: Path) -> None:
        raise ZeroDivisionError

    file = FoundFile("a.md", str(write(tmp_path / "a.md", "text")), 4, LONG_AGO_NS)
    with caplog.at_level(logging.ERROR):
        outcome = FileReader(PlainExtractor(fail), bytes_max=1_000).read(file, None)

    assert isinstance(outcome, FileFailed)
    assert outcome.reason == "can't be read (ZeroDivisionError)"
    assert "a.md" in caplog.text


def test_what_cannot_be_opened_is_a_failure_without_a_reading(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.md")
    reader = FileReader(PlainExtractor(), bytes_max=1_000)

    outcome = reader.read(FoundFile("a.md", str(tmp_path / "a.md"), 0, 0), None)

    assert isinstance(outcome, FileFailed)
    assert outcome.reading is None
    assert outcome.reason.startswith("can't be opened")


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

"""A file's hash, and the signs by which a later change of it shows."""

import os
import time
from pathlib import Path

import pytest

from servers.rag.indexing.reading import NotReadable, Vanished, read_hash

LONG_AGO_NS = 1_600_000_000_000_000_000


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

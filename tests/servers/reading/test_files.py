"""Files are read whole, of one moment, or not at all; each kind has a reader."""

import os
from pathlib import Path
from typing import get_args

import pytest

from servers.reading.files import READERS, FileExtractor, read_file
from servers.reading.kinds import Kind
from servers.reading.limits import Limits
from servers.reading.process.messages import Request
from servers.reading.source import ExtractionError


def test_each_kind_has_a_reader_but_links_which_are_followed() -> None:
    assert {*READERS, "link"} == set(get_args(Kind))


def test_an_archive_is_refused_by_its_name_without_being_read(tmp_path: Path) -> None:
    with pytest.raises(ExtractionError, match="zip files are not read"):
        FileExtractor().extract(Request(tmp_path / "missing.ZIP"))


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

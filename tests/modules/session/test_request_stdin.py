"""What stands on stdin beside a request: joined, left with a note, or nothing."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from core.errors import UsageError
from core.turn import TextInput
from modules.session.request import NAME, STDIN_BYTES_MAX, Beside, StdinReader

NOBODY = Path("/nonexistent")
"""Where no process tells of its stdin."""


@contextmanager
def pipe(*pieces: bytes, open_ended: bool = False) -> Generator[int]:
    """The reading end of a pipe that holds this, and ends unless it is open-ended."""
    reader, writer = os.pipe()
    for piece in pieces:
        os.write(writer, piece)
    if not open_ended:
        os.close(writer)
    try:
        yield reader
    finally:
        os.close(reader)
        if open_ended:
            os.close(writer)


@contextmanager
def opened(path: Path, offset: int = 0) -> Generator[int]:
    descriptor = os.open(path, os.O_RDONLY)
    os.lseek(descriptor, offset, os.SEEK_SET)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "list"
    path.write_text("a\nb\nc", encoding="utf-8")
    return path


def test_a_pipe_that_delivers_is_joined_and_described() -> None:
    with pipe(b"\xef\xbb\xbfa\r\n", "grün\n".encode()) as stdin:
        found = StdinReader(stdin, processes=NOBODY).read()
    assert found.text == TextInput("stdin", "a\ngrün\n")
    assert found.note == "stdin (2 lines, 7 characters) go with the request"


def test_a_file_is_joined(file: Path) -> None:
    with opened(file) as stdin:
        found = StdinReader(stdin, processes=NOBODY).read()
    assert found.text == TextInput(NAME, "a\nb\nc")
    assert found.text is not None
    assert found.text.lines == 3


@pytest.mark.parametrize("content", [b"", b"\n", b" \n\t\n"])
def test_a_pipe_without_a_text_is_nothing(content: bytes) -> None:
    with pipe(content) as stdin:
        assert StdinReader(stdin, processes=NOBODY).read() == Beside()


def test_what_is_no_source_is_nothing() -> None:
    with opened(Path(os.devnull)) as stdin:
        assert StdinReader(stdin).read() == Beside()
        assert StdinReader(stdin).read("always") == Beside()


def test_a_stdin_that_is_not_wanted_is_not_touched() -> None:
    with pipe(b"a\n") as stdin:
        assert StdinReader(stdin, processes=NOBODY).read("never") == Beside()
        assert os.read(stdin, 10) == b"a\n"


def test_a_silent_pipe_is_left_with_a_note() -> None:
    with pipe(open_ended=True) as stdin:
        found = StdinReader(stdin, silent_seconds=0, processes=NOBODY).read()
    assert found.text is None
    assert found.note is not None
    assert "gave nothing for 0 s and is left" in found.note
    assert "--no-stdin" in found.note


def test_a_pipe_that_does_not_end_gives_what_came_with_a_note() -> None:
    with pipe(b"a\n", open_ended=True) as stdin:
        found = StdinReader(stdin, silent_seconds=0, processes=NOBODY).read()
    assert found.text == TextInput(NAME, "a\n")
    assert found.note is not None
    assert "it has not ended" in found.note
    assert "--stdin waits for its end" in found.note


def test_a_pipe_that_gives_on_and_on_is_read_for_a_bounded_time() -> None:
    ticks = iter((0.0, 0.0, 599.0, 600.0))
    with pipe(b"a" * 65_536) as stdin:
        reader = StdinReader(stdin, clock=lambda: next(ticks), processes=NOBODY)
        found = reader.read()
    assert found.text is not None
    with pipe(open_ended=True) as stdin:
        reader = StdinReader(stdin, end_seconds=0, processes=NOBODY)
        assert reader.read("always").text is None


def test_a_file_that_was_read_in_part_is_left_to_its_reader(file: Path) -> None:
    with opened(file, offset=2) as stdin:
        found = StdinReader(stdin, processes=NOBODY).read()
        assert os.read(stdin, 10) == b"b\nc"
    assert found.text is None
    assert found.note is not None
    assert "read in part" in found.note
    with opened(file, offset=2) as stdin:
        assert StdinReader(stdin, processes=NOBODY).read("always").text == TextInput(NAME, "b\nc")
    with opened(file, offset=5) as stdin:
        assert StdinReader(stdin, processes=NOBODY).read() == Beside()


def ancestors(folder: Path, *programs: str, stdin: Path) -> Path:
    """A /proc in which our parent is the first program, its parent the next; `stdin` is theirs."""
    process = os.getppid()
    for program in programs:
        here = folder / str(process)
        (here / "fd").mkdir(parents=True)
        (here / "fd" / "0").symlink_to(stdin)
        process += 1
        (here / "stat").write_text(f"7 ({program}) S {process} 1 1", encoding="utf-8")
    return folder


def test_a_stdin_that_a_shell_has_too_is_left_to_it(tmp_path: Path, file: Path) -> None:
    processes = ancestors(tmp_path / "proc", "timeout", "bash", stdin=file)
    with opened(file) as stdin:
        found = StdinReader(stdin, processes=processes).read()
        assert os.lseek(stdin, 0, os.SEEK_CUR) == 0
        assert found.text is None
        assert found.note is not None
        assert "the shell that started this reads it too" in found.note
        assert StdinReader(stdin, processes=processes).read("always").text is not None


def test_a_program_that_only_wraps_us_is_no_reader(tmp_path: Path, file: Path) -> None:
    processes = ancestors(tmp_path / "proc", "timeout", "uv (run)", stdin=file)
    with opened(file) as stdin:
        assert StdinReader(stdin, processes=processes).read().text is not None
    other = tmp_path / "other"
    other.touch()
    processes = ancestors(tmp_path / "proc2", "bash", stdin=other)
    with opened(file) as stdin:
        assert StdinReader(stdin, processes=processes).read().text is not None


def test_too_much_no_text_and_what_cannot_be_read_say_what_to_do(tmp_path: Path) -> None:
    long = tmp_path / "long"
    long.write_bytes(b"a" * (STDIN_BYTES_MAX + 1))
    with opened(long) as stdin, pytest.raises(UsageError, match="more than 1,000,000 bytes"):
        StdinReader(stdin, processes=NOBODY).read()
    with pipe(b"PNG\0\1") as stdin, pytest.raises(UsageError, match="no text; name an image"):
        StdinReader(stdin, processes=NOBODY).read()
    with opened(tmp_path) as stdin, pytest.raises(UsageError, match="can't be read: Is a dir"):
        StdinReader(stdin, processes=NOBODY).read()

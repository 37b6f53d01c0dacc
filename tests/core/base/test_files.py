"""Private folders and files, replaced as a whole, one writer at a time."""

import os
import shutil
import stat
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from core.base.files import (
    KeptEntries,
    folder_locked,
    make_private_folder,
    open_private,
    open_without_links,
    write_atomically,
)
from tests.core.base.open_folders import has_open


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@contextmanager
def umask(mask: int) -> Generator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


@pytest.mark.parametrize("mask", [0, 0o022, 0o077, 0o277, 0o777])
def test_folders_and_files_are_for_this_user_alone_whatever_the_umask(
    tmp_path: Path, mask: int
) -> None:
    folder = tmp_path / "a" / "b"
    with umask(mask):
        make_private_folder(folder)
        write_atomically(folder / "f", b"x")
    assert [mode(path) for path in (folder.parent, folder)] == [0o700, 0o700]
    assert mode(folder / "f") == 0o600


def test_a_file_keeps_its_mode_where_that_is_wanted(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.touch()
    path.chmod(0o640)
    write_atomically(path, b"x", keeps_mode=True)
    assert mode(path) == 0o640
    write_atomically(path, b"x")
    assert mode(path) == 0o600


def test_a_link_stays_a_link_and_a_circle_of_links_is_an_oserror(
    tmp_path: Path,
) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "there")
    write_atomically(link, b"x")
    assert link.is_symlink()
    assert (tmp_path / "there").read_bytes() == b"x"
    circle = tmp_path / "circle"
    circle.symlink_to(circle)
    with pytest.raises(FileExistsError), folder_locked(circle / "f"):
        raise AssertionError("it was locked")


def test_a_pipe_or_device_is_neither_replaced_nor_made_private(tmp_path: Path) -> None:
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    for path in (pipe, link):
        with pytest.raises(OSError, match="not a regular file"):
            write_atomically(path, b"x")
    pipe.chmod(0o622)
    os.close(open_private(pipe, os.O_RDWR))
    assert pipe.is_fifo()
    assert mode(pipe) == 0o622
    assert {*tmp_path.iterdir()} == {pipe, link}


def test_a_folder_that_is_removed_while_one_waits_for_it_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "f"
    waiting, written = threading.Event(), threading.Event()

    def write() -> None:
        waiting.set()
        with folder_locked(path):
            write_atomically(path, b"x")
        written.set()

    with folder_locked(path):
        writer = threading.Thread(target=write)
        writer.start()
        waiting.wait()
        while not has_open(path.parent, at_least=2):
            pass  # until it has opened the folder, and waits for the lock
        shutil.rmtree(path.parent)
    writer.join()
    assert written.is_set()
    assert path.read_bytes() == b"x"


@pytest.mark.parametrize("text", ["{", "[]", '{"format": 2, "a": {}}', '{"format": 1, "a": 1}'])
def test_entries_that_cannot_be_read_are_none_and_set_aside_by_a_change(
    text: str, tmp_path: Path
) -> None:
    kept = KeptEntries(tmp_path / "kept.json", "a", clock=lambda: 5.0)
    kept.file.write_text(text)
    assert kept.read() == {}
    with kept.changing() as entries:
        entries["one"] = 1
    assert KeptEntries(kept.file, "a").read() == {"one": 1}
    assert mode(kept.file) == 0o600
    assert (tmp_path / "kept.json.damaged-5").read_text() == text


def test_a_file_is_opened_where_no_part_of_its_path_is_a_link(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "file").write_text("inside")
    (tmp_path / "link").symlink_to("a")
    (tmp_path / "a" / "b" / "other").symlink_to("file")
    number = open_without_links(tmp_path / "a" / "b" / "file", os.O_RDONLY)
    with os.fdopen(number) as file:
        assert file.read() == "inside"
    for wrong in ("link/b/file", "a/b/other", "a/../a/b/file", "a/b/none", "none/b", "a/b/file/c"):
        with pytest.raises(OSError, match=r"\[Errno"):
            open_without_links(tmp_path / wrong, os.O_RDONLY)
    (tmp_path / "a").chmod(0o300)  # passed through, not read
    os.close(open_without_links(tmp_path / "a" / "b" / "file", os.O_RDONLY))
    (tmp_path / "a").chmod(0o700)
    before = len([*Path("/dev/fd").iterdir()])
    for _ in range(50):
        with pytest.raises(FileNotFoundError):
            open_without_links(tmp_path / "a" / "b" / "none", os.O_RDONLY)
    assert len([*Path("/dev/fd").iterdir()]) == before

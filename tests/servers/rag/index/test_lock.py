"""Which process writes: one at a time, and another as soon as that one is gone."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from servers.rag.errors import IndexUnusable
from servers.rag.index.lock import WriterLock

HOLDER = """
import sys
from pathlib import Path
from servers.rag.index.lock import WriterLock
lock = WriterLock(Path(sys.argv[1]))
print(lock.acquire(), flush=True)
sys.stdin.read()
"""


def test_only_one_holds_it_until_it_is_given_back(tmp_path: Path) -> None:
    folder = tmp_path / "not there yet"
    one, two = WriterLock(folder), WriterLock(folder)
    assert one.holder is None
    assert one.acquire()
    assert one.acquire()
    assert not two.acquire()
    assert (one.held, two.held, two.holder) == (True, False, os.getpid())
    one.release()
    one.release()
    assert two.acquire()
    two.release()


def test_another_takes_over_when_the_holder_is_killed(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, tmp_path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "True\n"
        lock = WriterLock(tmp_path)
        assert not lock.acquire()
        assert lock.holder == holder.pid
        holder.kill()
        holder.wait(10)
        assert lock.acquire()
        assert lock.holder == os.getpid()
        lock.release()


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(IndexUnusable, match="can't be written"):
        WriterLock(tmp_path / "file" / "index").acquire()


def test_a_lock_file_that_holds_something_else_names_nobody(tmp_path: Path) -> None:
    (tmp_path / "index.lock").write_bytes(b"\xff\xfe nobody")
    assert WriterLock(tmp_path).holder is None

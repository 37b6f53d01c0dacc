"""Session memory under real processes: two writers, kill -9 at every moment, a full disk."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from modules.session.file import MemoryFile
from tests.processes.session_kills import SESSION, survive, write_together

ROOT = Path(__file__).parents[2]
PROCESS_TIMEOUT_SECONDS = 30


def texts_in(path: Path) -> list[str]:
    return [element["text"] for element in json.loads(path.read_bytes())]


def run_script(script: str, path: Path, *more: str) -> str:
    """What `script` prints, run with `path` as its first argument."""
    done = subprocess.run(
        [sys.executable, "-c", script, str(path), *more],
        cwd=ROOT,
        timeout=PROCESS_TIMEOUT_SECONDS,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_processes_that_write_one_session_lose_nothing(tmp_path: Path) -> None:
    write_together(tmp_path, writers=2, seconds=0.5)
    file = tmp_path / f"{SESSION}.json"
    MemoryFile(file).load()  # takes away what a writer that was killed had not renamed yet
    assert list(tmp_path.iterdir()) == [file]


def test_a_writer_killed_at_any_moment_leaves_every_finished_item(tmp_path: Path) -> None:
    survive(tmp_path, kills=4, seed=1)


DIE_AT_EVERY_CALL = """
import json, os, pathlib, signal, sys
from core.turn import MemoryItem
from modules.session.file import MemoryFile
from modules.session.records import MemoryRecord

path = pathlib.Path(sys.argv[1])
items = [MemoryItem(timestamp=0, type="run_metadata", text=t) for t in ("one", "two")]
records = [MemoryRecord.of(item) for item in items]
first = MemoryFile(path)
first.records = records[:1]
first.save()

def write_and_die(calls_left):
    def count(frame, event, argument):
        nonlocal calls_left
        calls_left -= 1
        if calls_left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
    file = MemoryFile(path)
    file.load()
    file.records.append(records[1])
    sys.setprofile(count)  # told of every call of a function, C functions too, and every return
    file.save()
    sys.setprofile(None)

STRIDE = 7  # a write takes some 400 calls and returns
deaths = 0
while True:
    child = os.fork()
    if child == 0:
        write_and_die(deaths + 1)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    kept = [item["text"] for item in json.loads(path.read_bytes())]
    assert kept in (["one"], ["one", "two"]), (deaths, kept)
    if status == 0:
        break
    assert os.WTERMSIG(status) == signal.SIGKILL
    deaths += STRIDE
    if len(kept) == 2:
        begin, end = (b"[\\n", b"\\n]\\n") if sys.argv[2] == "ours" else (b"[", b"]")
        path.write_bytes(begin + records[0].text.encode() + end)
assert kept == ["one", "two"]
print(deaths)
"""


@pytest.mark.parametrize("layout", ["ours", "another"])
def test_a_writer_that_dies_at_any_call_leaves_the_old_items_or_the_new(
    tmp_path: Path, layout: str
) -> None:
    printed = run_script(DIE_AT_EVERY_CALL, tmp_path / "s.json", layout)
    assert int(printed) > 50  # calls; fewer would mean that it never came to write


def test_a_write_that_fails_half_way_is_a_storage_error_and_leaves_the_old_file(
    tmp_path: Path,
) -> None:
    script = (
        "import resource, sys\n"
        "from core.errors import StorageError\n"
        "from core.turn import MemoryItem\n"
        "from modules.session.memory import MemoryManager\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "memory = MemoryManager('full', sys.argv[1])\n"
        "memory.load()\n"
        "memory.add(MemoryItem(timestamp=0, type='run_metadata', text='fits'))\n"
        "try:\n"
        "    memory.add(MemoryItem(timestamp=0, type='run_metadata', text='x' * 5000))\n"
        "except StorageError as error:\n"
        "    print(error)\n"
    )
    printed = run_script(script, tmp_path)
    assert os.strerror(errno.EFBIG) in printed
    assert str(tmp_path / "full.json") in printed
    assert texts_in(tmp_path / "full.json") == ["fits"]
    assert list(tmp_path.iterdir()) == [tmp_path / "full.json"]

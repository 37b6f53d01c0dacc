"""Session memory under real processes: two writers, kill -9 at every moment, a full disk."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes.session_kills import survive
from tests.processes.session_readers import READERS, WRITERS, share

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


def test_two_writers_lose_nothing_and_readers_see_whole_items(tmp_path: Path) -> None:
    counted = share(tmp_path, seconds=2)
    assert min(counted[role] for role in (*WRITERS, *READERS)) > 0


def test_a_writer_killed_at_any_moment_leaves_every_finished_item(tmp_path: Path) -> None:
    counted = survive(tmp_path, kills=200, seed=1)
    assert counted.kills == 200
    assert counted.items > 50  # or they died before they came to write


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


DIE_AT_EVERY_CALL_OF_A_REPAIR = """
import json, os, pathlib, signal, sys
from core.turn import MemoryItem
from modules.session.file import MemoryFile
from modules.session.records import MemoryRecord, array_of, parse_array

path = pathlib.Path(sys.argv[1])
items = [MemoryItem(timestamp=0, type="run_metadata", text=t) for t in ("one", "two", "three")]
whole = array_of([MemoryRecord.of(item) for item in items])
damaged = {
    "torn": whole[: whole.index(b"three")],
    "spoilt": whole.replace(b'"two"', b"oops"),
}[sys.argv[2]]
good = {"torn": ["one", "two"], "spoilt": ["one", "three"]}[sys.argv[2]]

def texts(data):
    return [record.item.text for record in parse_array(data)[0]]

def repair_and_die(calls_left):
    def count(frame, event, argument):
        nonlocal calls_left
        calls_left -= 1
        if calls_left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
    file = MemoryFile(path)
    sys.setprofile(count)
    file.load()
    sys.setprofile(None)

STRIDE = 19
deaths = 0
while True:
    for left in path.parent.iterdir():
        left.unlink()
    path.write_bytes(damaged)
    child = os.fork()
    if child == 0:
        repair_and_die(deaths + 1)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    # What could be read before can be read at each moment, and what could not is not gone.
    assert texts(path.read_bytes()) == good, (deaths, path.read_bytes())
    if sys.argv[2] == "spoilt":
        found = [each.read_bytes() for each in path.parent.iterdir() if each.name[0] != "."]
        assert damaged in found, (deaths, found)
    again = MemoryFile(path)
    again.load()
    assert [record.item.text for record in again.records] == good
    assert len(json.loads(path.read_bytes())) == 2
    assert not list(path.parent.glob("*.tmp")), deaths
    if status == 0:
        break
    assert os.WTERMSIG(status) == signal.SIGKILL
    deaths += STRIDE
print(deaths)
"""


@pytest.mark.parametrize("damage", ["torn", "spoilt"])
def test_a_process_that_dies_at_any_call_of_a_repair_costs_nothing_more(
    tmp_path: Path, damage: str
) -> None:
    printed = run_script(DIE_AT_EVERY_CALL_OF_A_REPAIR, tmp_path / "s.json", damage)
    assert int(printed) > 50  # calls; fewer would mean that it never came to repair


WATCHED = """
import os, sys
from core.turn import MemoryItem
from modules.session.memory import MemoryManager

NAMES = {os.pwrite: "write", os.fsync: "wait", os.ftruncate: "cut", os.replace: "rename",
         os.rename: "rename"}

def calls(work):
    found = []
    def count(frame, event, argument):
        if event == "c_call" and argument in NAMES:
            found.append(NAMES[argument])
        elif event == "c_call" and argument.__name__ == "write" and argument.__self__ is not None:
            found.append("write")
    sys.setprofile(count)
    work()
    sys.setprofile(None)
    return " ".join(found)

memory = MemoryManager("s", sys.argv[1], sync=sys.argv[2])
item = MemoryItem(timestamp=0, type="run_metadata", text="x")
print(calls(lambda: memory.add(item)))
print(calls(lambda: memory.add(item)))
print(calls(memory.flush))
os.truncate(memory.path, memory.path.stat().st_size - 20)
print(calls(MemoryManager("s", sys.argv[1]).load))
"""


@pytest.mark.parametrize(
    ("sync", "new", "appended", "flushed"),
    [
        ("item", "write wait rename wait", "write wait", ""),
        ("run", "write wait rename wait", "write", "wait"),
        ("never", "write rename", "write", ""),
    ],
)
def test_the_disk_is_waited_for_behind_each_write(
    tmp_path: Path, sync: str, new: str, appended: str, flushed: str
) -> None:
    # Only a crash of the machine would show what the disk had not got: so the calls are watched.
    printed = run_script(WATCHED, tmp_path, sync).split("\n")
    assert printed[:-1] == [new, appended, flushed, "cut write wait"]


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

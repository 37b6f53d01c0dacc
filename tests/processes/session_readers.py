"""One session that two processes write at once while others read it, and what each may see.

A reader of ours opens it as a run would. A program of others reads the file as JSON: with the lock
that `flock --shared` takes, and without any. As a program, each is one of them, and tells what it
has counted at the end: `python -m tests.processes.session_readers ROLE FOLDER SECONDS`.
"""

import fcntl
import json
import os
import subprocess
import sys
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

from core.turn import MemoryItem
from modules.session.memory import MemoryManager
from modules.session.records import parse_array

SESSION = "shared"
WRITERS = ("one", "two")
READERS = ("ours", "locked", "foreign")
SESSION_BYTES = 4_000_000
"""A session that has grown so large is left for a new one, or readers would do nothing else."""


def share(folder: Path, seconds: float) -> dict[str, int]:
    """Let them write and read; gives how much, by role, and how often a foreign read was torn."""
    roles = (*WRITERS, *READERS)
    with ExitStack() as opened:
        programs = [opened.enter_context(_program(role, folder, seconds)) for role in roles]
        told = [program.communicate() for program in programs]
    for role, program, (_, errors) in zip(roles, programs, told, strict=True):
        assert program.returncode == 0, (role, errors.decode())
    counted: Counter[str] = Counter()
    for out, _ in told:
        counted.update(json.loads(out))
    found = [text for number in range(_numbers(folder)) for text in _texts(folder, number)]
    for name in WRITERS:
        own = [text for text in found if text.startswith(f"{name} ")]
        assert own == [_text(name, number) for number in range(counted[name])]
    assert not [path for path in folder.iterdir() if path.suffix != ".json"]
    return dict(counted)


def _program(role: str, folder: Path, seconds: float) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", __name__, role, str(folder), str(seconds)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def _text(name: str, number: int) -> str:
    """From some characters to over a page of memory, to the last of which it can be told apart."""
    return f"{name} {number} {'✓' * (number * 37 % 3_000)}."


def _numbers(folder: Path) -> int:
    """How many sessions there are."""
    return len([*folder.glob(f"{SESSION}*.json")])


def _path(folder: Path, number: int) -> Path:
    return folder / f"{SESSION}{number}.json"


def _texts(folder: Path, number: int) -> list[str]:
    return _texts_of(json.loads(_path(folder, number).read_bytes()))


def _texts_of(items: list[dict[str, str]]) -> list[str]:
    return [item["text"] for item in items]


def _write(name: str, folder: Path, until: float) -> dict[str, int]:
    number = session = 0
    memory = MemoryManager(f"{SESSION}{session}", folder)
    while time.monotonic() < until:
        memory.add(MemoryItem(timestamp=0, type="run_metadata", text=_text(name, number)))
        assert memory.take_warnings() == []
        number += 1
        if memory.path.stat().st_size > SESSION_BYTES:
            session += 1
            memory = MemoryManager(f"{SESSION}{session}", folder)
    return {name: number}


def _read_ours(folder: Path, until: float) -> dict[str, int]:
    """Open the session anew each time: it needs no repair, and no item goes or changes."""
    reads, known, session = 0, list[str](), 0
    while time.monotonic() < until:
        newest = max(_numbers(folder) - 1, 0)
        session, known = newest, known if newest == session else []
        memory = MemoryManager(f"{SESSION}{session}", folder)
        memory.load()
        assert memory.take_warnings() == []
        texts = [item.text for item in memory.get_session_items()]
        assert texts[: len(known)] == known
        reads, known = reads + 1, texts
    return {"ours": reads}


def _read_locked(folder: Path, until: float) -> dict[str, int]:
    """Any program, by `flock --shared FOLDER jq . FILE`: always a whole array."""
    reads, known, session = 0, list[str](), 0
    holder = os.open(folder, os.O_RDONLY)
    while time.monotonic() < until:
        if not (newest := _numbers(folder)):
            continue
        session, known = newest - 1, known if newest - 1 == session else []
        fcntl.flock(holder, fcntl.LOCK_SH)
        data = _path(folder, session).read_bytes()
        fcntl.flock(holder, fcntl.LOCK_UN)
        texts = _texts_of(json.loads(data))
        assert texts[: len(known)] == known
        reads, known = reads + 1, texts
        time.sleep(0.001)  # or the writers, who ask for the lock now and then, never get it
    return {"locked": reads}


def _read_foreign(folder: Path, until: float) -> dict[str, int]:
    """Any program without a lock: a whole array, or one whose last item is just being written."""
    counted: Counter[str] = Counter()
    known, session = list[str](), 0
    while time.monotonic() < until:
        if not (newest := _numbers(folder)):
            continue
        session, known = newest - 1, known if newest - 1 == session else []
        data = _path(folder, session).read_bytes()
        try:
            texts = _texts_of(json.loads(data))
        except ValueError:
            counted["foreign torn"] += 1
            records, _ = parse_array(data)
            assert [record.item.text for record in records][: len(known)] == known
            continue
        assert texts[: len(known)] == known
        counted["foreign"] += 1
        known = texts
    return dict(counted)


def main() -> None:
    """Play the role that the command line names."""
    role, folder, seconds = sys.argv[1], Path(sys.argv[2]), float(sys.argv[3])
    until = time.monotonic() + seconds
    if role in WRITERS:
        counted = _write(role, folder, until)
    else:
        read = {"ours": _read_ours, "locked": _read_locked, "foreign": _read_foreign}[role]
        counted = read(folder, until)
    sys.stdout.write(json.dumps(counted))


if __name__ == "__main__":
    main()

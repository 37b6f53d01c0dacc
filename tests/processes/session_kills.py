"""A writer of sessions that is killed at any moment, and what must hold afterwards.

As a program it forks writers and kills each: a fork costs some milliseconds where a new process
costs 200. A writer opens the session that the one before it left, which may mean to repair it, adds
items of up to 100,000 characters, and tells of each when it is on the disk.
`python -m tests.processes.session_kills FOLDER KILLS SEED`.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from core.turn import MemoryItem
from modules.session.memory import MemoryManager
from modules.session.records import parse_array

LIFE_SECONDS = 0.03
"""How long a writer lives at most: it opens the session, and writes some dozens of items."""

ITEM_CHARACTERS_MAX = 100_000
SESSION_BYTES = 2_000_000
"""A session that has grown so large is left for a new one."""


@dataclass
class Counted:
    """What the kills met with."""

    kills: int = 0
    items: int = 0
    torn: int = 0
    sessions: int = 1


def survive(folder: Path, kills: int, seed: int) -> Counted:
    """Kill so many writers: every item that was told of is there, whole, and every file loads."""
    done = subprocess.run(
        [sys.executable, "-m", __name__, str(folder), str(kills), str(seed)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return Counted(**json.loads(done.stdout))


def item(number: int) -> MemoryItem:
    """The item of this number; its text can't be another's, nor half of its own."""
    length = int(ITEM_CHARACTERS_MAX ** random.Random(number).random())  # noqa: S311 - no secret
    return MemoryItem(
        timestamp=number, type="run_metadata", text=f"{number} {'a✓' * (length // 2)}."
    )


def _kill_writers(folder: Path, kills: int, chance: random.Random) -> Counted:
    counted = Counted()
    kept = 0  # items of the session that are on the disk
    while counted.kills < kills:
        name = f"session{counted.sessions}"
        told = _write_until_killed(folder, name, chance.uniform(0, LIFE_SECONDS))
        path = folder / f"{name}.json"
        data = path.read_bytes() if path.exists() else b"[]"
        records, problem = parse_array(data)
        assert [record.item for record in records] == [item(n) for n in range(len(records))]
        assert max(kept, told) <= len(records), (name, kept, told, len(records), problem)
        counted.kills += 1
        counted.items += len(records) - kept
        counted.torn += problem is not None
        kept = len(records)
        if len(data) > SESSION_BYTES or counted.kills == kills:
            _check_opened(folder, name, kept)
            counted.sessions, kept = counted.sessions + 1, 0
    return counted


def _check_opened(folder: Path, name: str, kept: int) -> None:
    """It opens with all its items, and nothing lies beside it: no draft, nothing set aside."""
    memory = MemoryManager(name, folder)
    memory.load()
    assert memory.get_session_items() == [item(number) for number in range(kept)]
    left = [path.name for path in folder.iterdir() if name in path.name]
    assert left in ([f"{name}.json"], []), left
    if left:
        assert len(json.loads(memory.path.read_bytes())) == kept
        memory.path.unlink()


def _write_until_killed(folder: Path, name: str, seconds: float) -> int:
    """How many items the session had as its writer, which lived so long, told last; 0: nothing."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(reader)
            _write_for_ever(folder, name, writer)
        finally:
            os._exit(status)
    os.close(writer)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    with os.fdopen(reader, "rb") as told:
        counts = told.read().split()
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), f"the writer of {name} ended by itself"
    return int(counts[-1]) if counts else 0


def _write_for_ever(folder: Path, name: str, told: int) -> None:
    memory = MemoryManager(name, folder)
    memory.load()
    number = len(memory.get_session_items())
    while True:
        memory.add(item(number))
        number += 1
        os.write(told, b"%d\n" % number)


def main() -> None:
    """Kill as many as the command line says, and print what was counted."""
    folder, kills, seed = sys.argv[1:]
    chance = random.Random(int(seed))  # noqa: S311 - no secret
    sys.stdout.write(json.dumps(asdict(_kill_writers(Path(folder), int(kills), chance))))


if __name__ == "__main__":
    main()

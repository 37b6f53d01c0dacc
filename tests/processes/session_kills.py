"""Processes that write one session, killed at any moment or writing at once, and what must hold.

As a program it adds items for ever, and prints a dot after each: an item whose dot was printed is
on the disk. `python -m tests.processes.session_kills FOLDER NAME`.
"""

import json
import random
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

from core.turn import MemoryItem
from tests.modules.session.opened import opened

SESSION = "written"
ITEMS_MAX = 12
"""Items after which a writer is killed, at most."""


def survive(folder: Path, kills: int, seed: int) -> None:
    """Kill a writer again and again; every item that it told of is there, and at most one more."""
    chance = random.Random(seed)  # noqa: S311 - no secret
    before = 0
    for _ in range(kills):
        with _writer(folder, "a") as program:
            assert program.stdout is not None
            told = len(program.stdout.read(chance.randint(1, ITEMS_MAX)))
            program.kill()
            told += len(program.stdout.read())
        kept = len(_texts(folder))
        assert before + told <= kept <= before + told + 1, (before, told, kept)
        before = kept
    opened(SESSION, folder)
    assert list(folder.iterdir()) == [folder / f"{SESSION}.json"]  # leftovers are cleared away


def write_together(folder: Path, writers: int, seconds: float) -> int:
    """Let writers add to one session for some seconds; gives the items that they made.

    Each writer's items are all there, in its order.
    """
    names = [f"writer{number}-" for number in range(writers)]
    with ExitStack() as opened:
        programs = [opened.enter_context(_writer(folder, name)) for name in names]
        for program in programs:
            assert program.stdout is not None
            program.stdout.read(1)
        time.sleep(seconds)  # how long they write is what is asked for
        for program in programs:
            program.kill()
        told = [len(p.stdout.read()) + 1 for p in programs if p.stdout is not None]
    found = _texts(folder)
    for name, count in zip(names, told, strict=True):
        own = [text.removeprefix(name) for text in found if text.startswith(name)]
        assert own == [str(number) for number in range(len(own))]
        assert count <= len(own) <= count + 1, (name, count, len(own))
    return len(found)


def _writer(folder: Path, name: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", __name__, str(folder), name], stdout=subprocess.PIPE
    )


def _texts(folder: Path) -> list[str]:
    items: list[dict[str, str]] = json.loads((folder / f"{SESSION}.json").read_bytes())
    return [item["text"] for item in items]


def main() -> None:
    """Add items to the session in a folder, for ever."""
    memory = opened(SESSION, sys.argv[1])
    number = 0
    while True:
        memory.add(MemoryItem(timestamp=0, type="run_metadata", text=f"{sys.argv[2]}{number}"))
        sys.stdout.write(".")
        sys.stdout.flush()
        number += 1


if __name__ == "__main__":
    main()

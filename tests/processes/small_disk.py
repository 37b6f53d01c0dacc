"""The agent on a small disk that is full, or can't be written: what it answers, says and keeps.

As a program it mounts the disk, which needs a namespace of its own (`tests.namespaces`), and gives
what it saw as JSON. `python -m tests.processes.small_disk FOLDER CASE`.
"""

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.command_line import ROOT, Finished, environment, fresh_agent, write_profile

SIZE: Final = "512k"
ASKED: Final = "what was the first thing I asked?"


class Disk:
    """A home on a disk of its own, and what one may do to it."""

    def __init__(self, folder: Path) -> None:
        """Mount it on the folder, which others go on seeing empty."""
        self.home = folder
        mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=700", "tmpfs", str(folder)]
        subprocess.run(mount, check=True)
        self.bare = ["--profile", str(write_profile(folder))]
        self.notes = folder / "memory" / "notes.json"

    def run(self, *words: str) -> Finished:
        """Run the agent to its end; `sessions` takes the profile too."""
        return fresh_agent(self.home, *words, *self.bare)

    def fill(self) -> None:
        """Leave no room for a byte."""
        for size in (65_536, 4_096, 1):
            with contextlib.suppress(OSError), (self.home / "filler").open("ab", 0) as file:
                while file.write(bytes(size)):
                    pass

    def free(self) -> None:
        """Give the room back."""
        (self.home / "filler").unlink()

    def stop_writing(self) -> None:
        """From now on the disk can only be read."""
        subprocess.run(["mount", "-o", "remount,ro", str(self.home)], check=True)

    def requests(self) -> list[str]:
        """What the session in the file was asked."""
        items: list[dict[str, str]] = json.loads(self.notes.read_bytes())
        return [item["user_query"] for item in items if item["text"].startswith("Started")]


def filled_meanwhile(disk: Disk) -> dict[str, object]:
    """A session at the prompt, while the disk fills up and has room again."""
    with subprocess.Popen(
        [sys.executable, str(ROOT / "agent.py"), *disk.bare, "--session", "notes"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(disk.home),
        cwd=disk.home,
    ) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        answers: list[str] = []
        words = ("one", "two", "three", "four")
        for word, prepare in zip(words, (None, disk.fill, None, disk.free), strict=True):
            if prepare is not None:
                prepare()
            # Long enough that two do not fit into the rest of the file's last block.
            program.stdin.write(f"uppercase {word}{'x' * 200}\n")
            program.stdin.flush()
            answers.append(program.stdout.readline().strip("Xx\n"))
        _, told = program.communicate()
    requests = [request.split()[1].strip("x") for request in disk.requests()]
    return {"answers": answers, "told": told, "requests": requests}


def full_from_the_start(disk: Disk) -> dict[str, object]:
    """A run on a disk that has no room at all."""
    disk.fill()
    done = disk.run("uppercase one")
    return {"answers": [done.out], "codes": [done.code], "told": done.err}


def full_and_damaged(disk: Disk) -> dict[str, object]:
    """A session whose file is damaged where there is no room to set it aside."""
    disk.run("--session", "notes", "uppercase one")
    items = json.loads(disk.notes.read_bytes())
    disk.notes.write_text(f"[{json.dumps(items[0])}, oops, {json.dumps(items[-1])}]")
    before = disk.notes.read_bytes()
    disk.fill()
    done = disk.run("--session", "notes", ASKED)
    is_left_alone = disk.notes.read_bytes() == before
    disk.free()
    again = disk.run("--session", "notes", ASKED)
    return {
        "answers": [done.out, again.out],
        "told": done.err,
        "told_again": again.err,
        "is_left_alone": is_left_alone,
        "aside": [path.read_bytes() == before for path in disk.notes.parent.glob("*.damaged-*")],
        "requests": disk.requests(),
    }


def full_and_torn(disk: Disk) -> dict[str, object]:
    """A session that a crash cut off: to repair it takes no room."""
    disk.run("--session", "notes", "uppercase one")
    os.truncate(disk.notes, disk.notes.stat().st_size - 30)
    disk.fill()
    done = disk.run("sessions", "show", "notes")
    return {"shown": done.out, "told": done.err, "requests": disk.requests()}


def read_only(disk: Disk) -> dict[str, object]:
    """A disk that can't be written: what is there is read, a torn session too."""
    disk.run("--session", "notes", "uppercase one")
    torn = disk.notes.with_name("torn.json")
    torn.write_bytes(disk.notes.read_bytes()[:-30])
    disk.stop_writing()
    asked = disk.run("--session", "notes", ASKED)
    resumed = disk.run("--session", "torn", ASKED)
    shown = disk.run("sessions", "show", "torn")
    renamed = disk.run("sessions", "rename", "notes", "x")
    deleted = disk.run("sessions", "delete", "notes", "--yes")
    return {
        "answers": [asked.out, resumed.out],
        "codes": [each.code for each in (asked, resumed, shown, renamed, deleted)],
        "told_each": [each.err for each in (asked, resumed, shown, renamed, deleted)],
        "shown": shown.out,
        "requests": disk.requests(),
    }


def remembering(disk: Disk) -> dict[str, object]:
    """Facts to be remembered, on a disk that is full, and on one that can't be written."""
    wish = "remember that my favourite tea is mint"
    disk.fill()
    full = disk.run(wish)
    disk.free()
    disk.stop_writing()
    done = (full, disk.run("--json", wish), disk.run("My dog is called Rex. uppercase one"))
    return {
        "answers": [each.out for each in done],
        "codes": [each.code for each in done],
        "told_each": [each.err for each in done],
    }


CASES: Final = {
    each.__name__: each
    for each in (
        filled_meanwhile,
        full_from_the_start,
        full_and_damaged,
        full_and_torn,
        read_only,
        remembering,
    )
}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(CASES[sys.argv[2]](Disk(Path(sys.argv[1])))))

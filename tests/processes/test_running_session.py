"""What others do to a session's file while its program runs: it answers on, and says so."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.command_line import ROOT, agent, environment, write_profile

WORDS = ("one", "two", "three", "four")


class Prompt:
    """A program that answers a request a line."""

    def __init__(self, program: subprocess.Popen[str]) -> None:
        self._program = program

    def ask(self, request: str) -> str:
        """The answer's line."""
        assert self._program.stdin is not None
        assert self._program.stdout is not None
        self._program.stdin.write(f"{request}\n")
        self._program.stdin.flush()
        return self._program.stdout.readline().strip()

    def told(self) -> str:
        """All that it has said, once it has ended in good order."""
        _, told = self._program.communicate(timeout=30)
        assert self._program.returncode == 0, told
        return told


@contextmanager
def prompt(home: Path, *words: str) -> Generator[Prompt]:
    with subprocess.Popen(
        [sys.executable, str(ROOT / "agent.py"), *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(home),
        cwd=home,
    ) as program:
        try:
            yield Prompt(program)
        finally:
            program.kill()


def requests(path: Path) -> list[str]:
    items: list[dict[str, str]] = json.loads(path.read_bytes())
    return [item["user_query"] for item in items if item["text"].startswith("Started")]


def a_folder_in_its_place(path: Path) -> Callable[[], None]:
    path.unlink()
    path.mkdir()
    return path.rmdir


def a_file_in_place_of_the_folder(path: Path) -> Callable[[], None]:
    shutil.rmtree(path.parent)
    path.parent.touch()
    return path.parent.unlink


def no_folder(path: Path) -> None:
    shutil.rmtree(path.parent)


def a_circle_of_links(path: Path) -> Callable[[], None]:
    path.unlink()
    path.symlink_to(path)
    return path.unlink


def a_later_format(path: Path) -> Callable[[], None]:
    written = path.read_bytes()
    path.write_bytes(b'[\n  {"format": 99}\n]\n')

    def restore() -> None:
        path.write_bytes(written)

    return restore


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (no_folder, "was deleted by another program; this session goes on and writes it again"),
        (a_folder_in_its_place, "not a regular file: move it away"),
        (a_file_in_place_of_the_folder, "goes on without being kept"),
        (a_circle_of_links, "goes on without being kept"),
        (a_later_format, "was written by a later version (format 99)"),
        (Path.touch, ""),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_session_outlives_what_happens_to_its_file_and_is_kept_as_a_whole_afterwards(
    tmp_path: Path, spoil: Callable[[Path], Callable[[], None] | None], says: str
) -> None:
    bare = ["--profile", str(write_profile(tmp_path)), "--session", "notes"]
    path = tmp_path / "memory" / "notes.json"
    with prompt(tmp_path, *bare) as asked:
        answers = [asked.ask("uppercase one")]
        mend = spoil(path)
        answers += [asked.ask("uppercase two"), asked.ask("uppercase three")]
        if mend is not None:
            mend()
        answers.append(asked.ask("uppercase four"))
        told = asked.told()
    assert answers == [word.upper() for word in WORDS]
    assert says in told
    assert told.count(says) == 1 or not says
    assert "goes on without being kept" not in told or "is kept again, as a whole" in told
    assert requests(path) == [f"uppercase {word}" for word in WORDS]


def test_commands_of_another_process_and_a_running_session_get_on_with_each_other(
    tmp_path: Path,
) -> None:
    profile = ["--profile", str(write_profile(tmp_path))]
    path = tmp_path / "memory" / "notes.json"
    with prompt(tmp_path, *profile, "--session", "notes") as asked:
        assert asked.ask("uppercase one") == "ONE"
        assert agent(tmp_path, "sessions", "rename", "notes", "A title", *profile).code == 0
        assert asked.ask("uppercase two") == "TWO"
        assert agent(tmp_path, *profile, "--session", "notes", "uppercase three").code == 0
        assert "A title" in agent(tmp_path, "sessions", "show", "notes", *profile).out
        pruned = agent(tmp_path, "sessions", "prune", "--older-than", "1h", *profile)
        assert "0 sessions deleted" in pruned.out
        assert asked.ask("what was the first thing I asked?") == "uppercase one"
        assert agent(tmp_path, "sessions", "delete", "notes", "--yes", *profile).code == 0
        assert not path.exists()
        assert asked.ask("what was the last thing I asked?") != ""
        told = asked.told()
    assert told.count("was deleted by another program") == 1
    assert requests(path)[:3] == ["uppercase one", "uppercase two", "uppercase three"]

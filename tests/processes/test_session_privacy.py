"""What of a conversation reaches the disk, and who may read it: runs as users start them."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command_line import ROOT, agent, environment, write_profile

ASKED = "what was the first thing I asked?"


def profile_of(home: Path, agent_id: str) -> list[str]:
    """Options for a run of another agent, which needs no server."""
    folder = home / agent_id
    folder.mkdir(exist_ok=True)
    path = write_profile(folder)
    path.write_text(f"agent: {{name: Test, id: {agent_id}}}\n", encoding="utf-8")
    return ["--profile", str(path)]


def snapshot(folder: Path) -> dict[Path, tuple[bytes, int]]:
    """What lies in a folder, and when it was written."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


def test_no_memory_leaves_memory_as_it_is_whatever_is_asked_and_however_it_ends(
    tmp_path: Path,
) -> None:
    bare = ["--profile", str(write_profile(tmp_path))]
    assert agent(tmp_path, *bare, "--no-memory", "uppercase hello").out == "HELLO\n"
    assert not (tmp_path / "memory").exists()
    assert agent(tmp_path, *bare, "--session", "notes", "uppercase hello").code == 0
    (tmp_path / "memory" / "torn.json").write_text('[{"text": "a"', encoding="utf-8")
    before = snapshot(tmp_path / "memory")
    done = agent(tmp_path, *bare, "--no-memory", "--session", "notes", ASKED)
    assert "hello" not in done.out
    for words in (["--resume", "notes"], ["--continue"]):
        done = agent(tmp_path, *bare, "--no-memory", *words, ASKED)
        assert (done.code, done.out) == (2, "")
        assert "leave out --continue and --resume" in done.err
    lines = b"uppercase there\n/sessions\n/resume notes\n/usage\nuppercase end\n"
    done = agent(tmp_path, *bare, "--no-memory", stdin=lines)
    assert done.out.splitlines()[0] == "THERE"
    assert done.out.splitlines()[-1] == "END"
    with subprocess.Popen(
        [sys.executable, str(ROOT / "agent.py"), *bare, "--no-memory"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment(tmp_path),
        cwd=tmp_path,
    ) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        program.stdin.write(b"uppercase hello\n")
        program.stdin.flush()
        assert program.stdout.readline() == b"HELLO\n"
        program.kill()
    assert snapshot(tmp_path / "memory") == before


@pytest.mark.parametrize("mask", ["0", "022", "077"])
def test_sessions_are_for_this_user_alone_whatever_the_umask(tmp_path: Path, mask: str) -> None:
    home = tmp_path / "home"
    bare = ["--profile", str(write_profile(tmp_path))]
    command = f'umask {mask}; exec "$0" "$@"'
    done = subprocess.run(
        ["sh", "-c", command, sys.executable, str(ROOT / "agent.py"), *bare, "uppercase hello"],
        env=environment(tmp_path, CORTEX_HOME=str(home)),
        capture_output=True,
        cwd=tmp_path,
        check=False,
    )
    assert done.stdout == b"HELLO\n", done.stderr
    memory = home / "memory"
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in (memory, *memory.rglob("*"))}
    assert len(modes) == 5  # year, month, day, session
    assert {path: oct(mode) for path, mode in modes.items()} == {
        path: "0o700" if path.is_dir() else "0o600" for path in modes
    }


def test_agents_never_see_each_others_sessions(tmp_path: Path) -> None:
    one, two = profile_of(tmp_path, "one"), profile_of(tmp_path, "two")
    for options, text in ((one, "apple"), (two, "banana")):
        done = agent(tmp_path, *options, "--session", "notes", f"uppercase {text}")
        assert (done.code, done.out) == (0, f"{text.upper()}\n")
    assert agent(tmp_path, *one, "--session", "own", "uppercase cherry").code == 0
    mine = agent(tmp_path, "sessions", "list", "--json", *two).out
    assert "banana" in mine
    assert "apple" not in mine
    assert "own" not in mine
    for words in (["show", "own"], ["export", "own"], ["rename", "own", "x"], ["delete", "own"]):
        done = agent(tmp_path, "sessions", *words, *two)
        assert (done.code, done.out) == (2, "")
        assert "there is no session 'own'" in done.err
        assert "cherry" not in done.err
    assert agent(tmp_path, *two, "--continue", ASKED).out == "uppercase banana\n"
    assert agent(tmp_path, *two, "--resume", "notes", ASKED).out == "uppercase banana\n"
    assert agent(tmp_path, *two, "--resume", "own", ASKED).code == 2
    for path in tmp_path.rglob("*.json"):
        os.utime(path, (1, 1))
    assert agent(tmp_path, "sessions", "prune", "--older-than", "1d", *two).code == 0
    assert agent(tmp_path, "sessions", "delete", "notes", "--yes", *two).code == 2  # pruned
    assert agent(tmp_path, *one, "--resume", "own", ASKED).out == "uppercase cherry\n"
    assert agent(tmp_path, *one, "--resume", "notes", ASKED).out == "uppercase apple\n"


def test_a_secret_is_no_name_of_a_session(tmp_path: Path) -> None:
    bare = ["--profile", str(write_profile(tmp_path))]
    env = environment(tmp_path) | {"SERVICE_TOKEN": "tok-12345678"}
    done = agent(tmp_path, *bare, "--session", "tok-12345678", "uppercase hello", env=env)
    assert (done.code, done.out) == (2, "")
    assert "choose another" in done.err
    assert "tok-12345678" not in done.err
    assert not (tmp_path / "memory").exists()

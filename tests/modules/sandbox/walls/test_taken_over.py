"""What a worker that was taken over by machine code can't use up: the second wall alone.

Such a worker is played by a CPython that puts the wall up around itself and then does its worst.
What becomes of its CPU time and of the agent's end is in `test_walls`.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from modules.sandbox.limits import MIB
from modules.sandbox.walls.launcher import PROGRAM
from modules.sandbox.walls.seccomp import worker_filter

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the second wall is Linux's")

MEMORY_BYTES = 256 * MIB
DESCRIPTORS = 16
THREAD_STACK_BYTES = MIB
TIMEOUT_SECONDS = 20
STATUS_MISSING_WALL = 75

TAKEN_OVER = f"""
import ctypes, json, mmap, os, resource, socket, sys, threading
sys.path.insert(0, {str(PROGRAM.parent)!r})
from launcher_program import Policy, put_up

scratch = os.open(sys.argv[1], os.O_WRONLY)
missing = put_up(Policy.from_words(sys.argv[3:]))
if any(missing.values()):
    print(missing)
    raise SystemExit({STATUS_MISSING_WALL})

threading.stack_size({THREAD_STACK_BYTES})
busy = threading.Lock()
busy.acquire()

def thread():
    threading.Thread(target=busy.acquire, daemon=True).start()

def count(step):
    held = []
    try:
        while len(held) < 100_000:
            held.append(step())
        return len(held), "nothing"
    except Exception as stopped:
        number, held = len(held), None
        return number, type(stopped).__name__

steps = json.loads(sys.argv[2])
told = {{step: count(eval("lambda: " + step)) for step in steps}}
print(json.dumps(told), flush=True)
os._exit(0)
"""
"""Told what to do over and over, it says how often each could be done and what stopped it."""

MOST = {
    "bytearray(2**20)": MEMORY_BYTES // MIB,
    "mmap.mmap(-1, 2**24)": MEMORY_BYTES // (16 * MIB),
    "os.open('/dev/null', os.O_RDONLY)": 0,
    "os.dup(1)": DESCRIPTORS,
    "os.pipe()": DESCRIPTORS,
    "os.memfd_create('x')": 0,
    "socket.socket()": 0,
    "os.fork() or os._exit(0)": 0,
    "os.posix_spawn('/bin/true', ['true'], {})": 0,
    "os.kill(os.getppid(), 0)": 0,
    "resource.setrlimit(resource.RLIMIT_NOFILE, (99, 99))": 0,
    "resource.setrlimit(resource.RLIMIT_AS, (-1, -1))": 0,
    "os.write(scratch, b'x')": 0,
    "os.ftruncate(scratch, 1)": 0,
    "os.open(sys.argv[1] + '.new', os.O_WRONLY | os.O_CREAT)": 0,
    "thread()": MEMORY_BYTES // THREAD_STACK_BYTES,
}
"""How often a worker may do each of these, at most."""

STOPPERS = {"MemoryError", "OSError", "PermissionError", "ValueError", "RuntimeError"}


def test_a_taken_over_worker_uses_nothing_up(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.touch()
    policy = ["memory", str(MEMORY_BYTES), "filter", worker_filter().hex()]
    words = [str(scratch), json.dumps([*MOST]), *policy]
    ran = subprocess.run(
        [sys.executable, "-I", "-S", "-c", TAKEN_OVER, *words],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
    )
    if ran.returncode == STATUS_MISSING_WALL:
        pytest.skip(f"the wall does not stand here: {ran.stdout}")
    told: dict[str, tuple[int, str]] = json.loads(ran.stdout)
    assert told.keys() == MOST.keys(), ran.stderr
    for step, (number, stopper) in told.items():
        assert number <= MOST[step], (step, number)
        assert stopper in STOPPERS, (step, stopper)
    assert [file.stat().st_size for file in tmp_path.iterdir()] == [0]

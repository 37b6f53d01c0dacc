"""What a worker that was taken over by machine code can't use up: the second wall alone.

Such a worker is played by a CPython that puts the wall up around itself and then does its worst.
What becomes of its CPU time and of the agent's end is in `test_walls`.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from modules.sandbox.limits import MIB, SandboxLimits
from modules.sandbox.walls.launcher import PROGRAM, WORKER_OVERHEAD_BYTES, worker_command

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the second wall is Linux's")

LIMITS = SandboxLimits(memory_bytes=64 * MIB)
MEMORY_BYTES = LIMITS.memory_bytes + WORKER_OVERHEAD_BYTES
ADDRESS_GIB = 16
TIMEOUT_SECONDS = 20
STATUS_MISSING_WALL = 75

TAKEN_OVER = f"""
import ctypes, json, mmap, os, resource, socket, sys, threading
sys.path.insert(0, {str(PROGRAM.parent / "walls")!r})
from wall import Policy, put_up

scratch = os.open(sys.argv[1], os.O_WRONLY)
missing = put_up(Policy(sys.argv[3]), lambda: None)
if any(missing.values()):
    print(missing)
    raise SystemExit({STATUS_MISSING_WALL})

busy = threading.Lock()
busy.acquire()

def thread():
    threading.Thread(target=busy.acquire, daemon=True).start()

def mapped(size, kind=mmap.MAP_PRIVATE, protection=3):
    return mmap.mmap(-1, size, flags=mmap.MAP_ANONYMOUS | kind, prot=protection)

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p

def mapped_later(size):
    at = libc.mmap(None, ctypes.c_size_t(size), 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    if libc.mprotect(ctypes.c_void_p(at), ctypes.c_size_t(size), 3):
        raise OSError(ctypes.get_errno(), "mprotect")

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
    "mapped(2**24)": MEMORY_BYTES // (16 * MIB),
    "mapped_later(2**24)": MEMORY_BYTES // (16 * MIB),
    "mapped(2**24, mmap.MAP_SHARED)": 0,
    "mapped(2**24, mmap.MAP_PRIVATE | 0x100)": 0,
    "mapped(2**30, mmap.MAP_PRIVATE, 1)": ADDRESS_GIB,
    "mapped(2**12, mmap.MAP_PRIVATE, 5)": 0,
    "os.open('/dev/null', os.O_RDONLY)": 0,
    "os.dup(1)": 0,
    "os.pipe()": 0,
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
    "thread()": 0,
}
"""How often a worker may do each of these, at most."""

STOPPERS = {"MemoryError", "OSError", "PermissionError", "ValueError", "RuntimeError"}


def test_a_taken_over_worker_uses_nothing_up(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.touch()
    words = [str(scratch), json.dumps([*MOST]), worker_command(LIMITS)[-1]]
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

"""The driver's half of the comparison of executors: hostile plans, each in a forked child.

`tests.benchmarks.escapes` and its neighbour `exhaustion` are the other half. Standard library
only, since it runs in every peer's environment. Each line on stdin is a `Trial`, answered by a
line on stdout with its `Ending`; a first line says that the executor is imported. A child has a
session of its own, which is killed after it; all that it writes to its standard streams counts as
output. Needs fork(2).
"""

import contextlib
import json
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, NoReturn, TypeAlias

OUTPUT_BYTES_MAX = 64 * 1024 * 1024
"""What is kept of a child's output; the rest is read and thrown away."""

POLL_SECONDS = 0.005
GRACE_SECONDS = 0.3
"""How long what a child has started may go on after it, so that it can leave its mark."""

RSS_UNIT_BYTES = 1 if sys.platform == "darwin" else 1024
"""Of `ru_maxrss`; see getrusage(2)."""

HEADER_BYTES = 16
"""What a child begins its output with: the bytes of memory that it has before its plan."""

RETURNED, RAISED, OUT_OF_MEMORY = 0, 1, 3
"""Exit statuses of a child."""

Execute: TypeAlias = Callable[[str], object]
"""Runs a plan with the executor that is tried; gives the plan's value or raises what it raised."""

How: TypeAlias = Literal["returned", "raised", "out of memory", "too late", "died"]
"""How a child ended: by itself in three ways, killed at its deadline, or by a signal."""

HOW_BY_STATUS: dict[int, How] = {
    RETURNED: "returned",
    RAISED: "raised",
    OUT_OF_MEMORY: "out of memory",
}


@dataclass(frozen=True)
class Trial:
    """A plan, and what its child may take: seconds in all, and bytes of address space."""

    source: str
    seconds: float
    memory_bytes: int


@dataclass(frozen=True)
class Ending:
    """How a trial ended: output, wall seconds, and the bytes by which the child's memory grew."""

    how: How
    output: str
    seconds: float
    grown_bytes: int


def serve(execute: Execute) -> None:
    """Carry out trials until stdin closes."""
    _say({"ready": True})
    for line in sys.stdin:
        _say(asdict(carry_out(Trial(**json.loads(line)), execute)))


def carry_out(trial: Trial, execute: Execute) -> Ending:
    """One trial in a child of its own."""
    reading, writing = os.pipe()
    started = time.perf_counter()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _become(trial, execute, writing)
    os.close(writing)
    try:
        output, ended = _follow(child, reading, started + trial.seconds)
    finally:
        os.close(reading)
    seconds = time.perf_counter() - started
    if ended is None:
        _kill_group(child, grace_seconds=0.0)
        _, status, usage = os.wait4(child, 0)
        how: How = "too late"
    else:
        status, usage = ended
        code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else -1
        how = HOW_BY_STATUS.get(code, "died")
        _kill_group(child, grace_seconds=GRACE_SECONDS)
    before, told_bytes = int(output[:HEADER_BYTES] or 0), output[HEADER_BYTES:]
    grown = max(0, usage.ru_maxrss * RSS_UNIT_BYTES - before)
    return Ending(how, told_bytes.decode(errors="replace"), seconds, grown)


def told(value: object) -> str:
    """A plan's value as hosts write it down: as JSON where that works, and as text."""
    forms: list[str] = []
    for form in (lambda: json.dumps(value, default=str), lambda: str(value)):
        with contextlib.suppress(Exception):
            forms.append(form())
    return "\n".join(forms)


def _become(trial: Trial, execute: Execute, writing: int) -> NoReturn:
    """The child: bounded, its streams in the pipe, and gone after the plan."""
    status = RAISED
    try:
        os.setsid()
        os.write(writing, b"%*d" % (HEADER_BYTES, _resident_bytes()))
        _bound(resource.RLIMIT_AS, trial.memory_bytes)
        _bound(resource.RLIMIT_CORE, 0)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.dup2(writing, 1)
        os.dup2(writing, 2)
        _write(told(execute(trial.source)))
        status = RETURNED
    except BaseException as error:  # noqa: BLE001 - whatever a hostile plan raises ends it
        with contextlib.suppress(BaseException):
            status = OUT_OF_MEMORY if _is_memory_error(error) else RAISED
            _write(f"{type(error).__name__}: {error}\n")
    finally:
        with contextlib.suppress(BaseException):
            sys.stdout.flush()
        os._exit(status)


def _resident_bytes() -> int:
    """Memory of this process, which a child begins with; see proc(5), `statm`.

    Where that isn't told, the peak so far.
    """
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * RSS_UNIT_BYTES


def _write(text: str) -> None:
    """To the pipe, past whatever the plan made of `sys.stdout`."""
    for stream in (sys.stdout, sys.__stdout__):
        with contextlib.suppress(Exception):
            if stream is not None:
                stream.flush()
    left = memoryview(text.encode(errors="replace"))
    while left:
        left = left[os.write(1, left) :]


def _bound(kind: int, value: int) -> None:
    highest = resource.getrlimit(kind)[1]
    within = value if highest == resource.RLIM_INFINITY else min(value, highest)
    resource.setrlimit(kind, (within, highest))


def _is_memory_error(error: BaseException) -> bool:
    """Whether memory ran out, also where an executor wraps the error in one of its own."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, MemoryError):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def _follow(
    child: int, reading: int, deadline: float
) -> tuple[bytes, tuple[int, "resource.struct_rusage"] | None]:
    """The child's output until it has ended or its time is up; status and usage if it has ended."""
    output = bytearray()
    is_open = True
    while True:
        ended, status, usage = os.wait4(child, os.WNOHANG)
        while is_open and select.select([reading], [], [], 0 if ended else POLL_SECONDS)[0]:
            piece = os.read(reading, 65536)
            is_open = bool(piece)
            output += piece[: OUTPUT_BYTES_MAX - len(output)]
            if time.perf_counter() > deadline:
                break
        if ended:
            return bytes(output), (status, usage)
        if time.perf_counter() > deadline:
            return bytes(output), None
        if not is_open:
            time.sleep(POLL_SECONDS)


def _kill_group(group: int, grace_seconds: float) -> None:
    """End what a child has started, after a while in which it may end by itself."""
    until = time.perf_counter() + grace_seconds
    with contextlib.suppress(ProcessLookupError, PermissionError):
        while time.perf_counter() < until:
            os.killpg(group, 0)
            time.sleep(POLL_SECONDS)
        os.killpg(group, signal.SIGKILL)


def _say(answer: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()

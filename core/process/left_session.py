"""Processes of a server that left its session, found by a variable that all its children inherit.

A child that calls `setsid`, or forks twice, is out of reach of the signals to its group. Its
environment still tells whose it is, as for Jenkins' ProcessTreeKiller; a child that clears that too
gets away. Linux only (`/proc/PID/environ`): elsewhere nothing is found. Light: spawning needs it.
"""

import os
import select
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

MARK = "CORTEX_R_SERVER"
"""The variable: the agent's process id, the server's id, and a random word, between colons."""

ROUNDS_MAX = 5
"""How often is looked for processes that were started while others were ended."""

END_MILLISECONDS = 200
"""How long those of a round are waited for: a process ends when it next gets the processor."""

_PROC = Path("/proc")


def can_find() -> bool:
    """Whether the system tells the environment of processes."""
    return (_PROC / "self" / "environ").exists()


def new_mark(server_id: str) -> str:
    """A value for one start of a server."""
    return f"{os.getpid()}:{server_id}:{os.urandom(8).hex()}"


def marked(value: str) -> list[int]:
    """The processes with this value of `MARK`; those that we may look at."""
    return [pid for pid, found in _marks() if found == value]


def end_marked(value: str) -> None:
    """End them all (SIGKILL), and those that they start meanwhile."""
    for _ in range(ROUNDS_MAX):
        found = marked(value)
        if not found:
            return
        ending = select.poll()
        descriptors = [d for pid in found if (d := _killed(pid, value)) is not None]
        for descriptor in descriptors:
            ending.register(descriptor, select.POLLIN)
        ending.poll(END_MILLISECONDS)
        for descriptor in descriptors:
            os.close(descriptor)


def left_behind() -> list[tuple[int, str]]:
    """Process ids of what outlived its agent, and the server that each was started by."""
    found: list[tuple[int, str]] = []
    for pid, value in _marks():
        agent, _, rest = value.partition(":")
        if agent.isdecimal() and not (_PROC / agent).exists():
            found.append((pid, rest.rpartition(":")[0]))
    return found


def _killed(pid: int, value: str) -> int | None:
    """Kill a process, unless its id went to another since it was found.

    Gives a descriptor that can be read once it has ended; None if there is nobody to wait for.
    """
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:
        return None
    with suppress(OSError):
        if _mark_of(pid) == value:
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            return descriptor
    os.close(descriptor)
    return None


def _marks() -> Iterator[tuple[int, str]]:
    try:
        pids = [int(path.name) for path in _PROC.iterdir() if path.name.isdecimal()]
    except OSError:
        return
    for pid in pids:
        if pid != os.getpid() and (value := _mark_of(pid)) is not None:
            yield pid, value


def _mark_of(pid: int) -> str | None:
    try:
        # A process that has ended and not been reaped has an empty one.
        variables = (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return None
    prefix = f"{MARK}=".encode()
    found = next((one for one in variables if one.startswith(prefix)), None)
    return None if found is None else found[len(prefix) :].decode("utf-8", "replace")

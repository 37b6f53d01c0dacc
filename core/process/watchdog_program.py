"""The watchdog's own program: ends the process groups of servers whose agent was killed.

    python -I -S watchdog_program.py AGENT_PID STDIN_SECONDS TERM_SECONDS KILL_SECONDS

Its stdin says, a line each, by which pipe the next server will be known (`?INODE`), which groups
to guard (`+PID`) and which to forget (`-PID`). Once the agent is gone, what is still guarded is
ended in the protocol's order (MCP 2025-11-25, "Lifecycle"): its stdin has closed by then, so it
has STDIN_SECONDS, then SIGTERM, then SIGKILL.

Runs alone, on the standard library's lightest parts: nothing of ours is imported. The agent's end
is seen in two ways, by the end of the pipe and by a pidfd (Linux 5.3; elsewhere by a look now and
then), because a process that was forked off the agent may hold the pipe open. A parent-death
signal (`prctl`) would tell less: it comes when the *thread* ends that spawned us, and given to a
server it would reach its leader only.
"""

import os
import select
import signal
import sys
import time
from collections.abc import Iterator

CONTROL = 0
"""The descriptor that orders come on."""

LOOK_SECONDS = 0.02
"""How often the groups are looked at while they have time to end."""

PARENT_LOOK_MILLISECONDS = 1000
"""How often our parent is looked for where there are no pidfds."""

START_SECONDS = 0.1
"""How long a server that was just being started has to become one; it takes about a millisecond."""

READ_BYTES = 64 * 1024

_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE)
"""It is not for them to end us: we end with the agent, and then we have work to do."""


def main(arguments: list[str]) -> None:
    """Guard until the agent is gone, then end what it left behind."""
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    agent = int(arguments[0])
    stdin_seconds, term_seconds, kill_seconds = map(float, arguments[1:4])
    watch = Watch()
    watch.guard_until_gone(agent)
    groups = watch.left_behind() | _outside(agent, watch.forgotten)
    _wait_until_gone(groups, stdin_seconds)
    for number, seconds in ((signal.SIGTERM, term_seconds), (signal.SIGKILL, kill_seconds)):
        for group in living(groups):
            _signal(group, number)
        _wait_until_gone(groups, seconds)


class Watch:
    """What is guarded: process groups, each with the start time of its leader."""

    def __init__(self) -> None:
        """Guard nothing yet."""
        self._groups: dict[int, bytes | None] = {}
        self._expected: bytes | None = None
        self.forgotten: set[int] = set()
        """Groups that were guarded, and are to be left alone."""

    def guard_until_gone(self, agent: int) -> None:
        """Take orders until the agent has ended."""
        poll = select.poll()
        poll.register(CONTROL, select.POLLIN)
        agent_end = _open_pidfd(agent)
        if agent_end is not None:
            poll.register(agent_end, select.POLLIN)
        rest = b""
        while True:
            # Only after the pidfd was opened: the agent may have been gone before that.
            is_gone = os.getppid() != agent
            wait = 0 if is_gone else None if agent_end is not None else PARENT_LOOK_MILLISECONDS
            ready = [descriptor for descriptor, _ in poll.poll(wait)]
            # Whatever the agent had to say is read before its end counts.
            if CONTROL in ready:
                chunk = os.read(CONTROL, READ_BYTES)
                if not chunk:
                    return
                *orders, rest = (rest + chunk).split(b"\n")
                for order in orders:
                    self._obey(order)
            elif is_gone:
                return

    def left_behind(self) -> dict[int, bytes | None]:
        """What is still guarded, with a server that the agent's end kept it from announcing."""
        if self._expected is not None:
            time.sleep(START_SECONDS)
            self._groups |= {group: _start_time(group) for group in _reading(self._expected)}
        return self._groups

    def _obey(self, order: bytes) -> None:
        kind, number = order[:1], int(order[1:])
        if kind == b"?":
            self._expected = order[1:]
        elif kind == b"+":
            self._expected = None
            self._groups[number] = _start_time(number)
            self.forgotten.discard(number)
        else:
            self._groups.pop(number, None)
            self.forgotten.add(number)


def living(groups: dict[int, bytes | None]) -> set[int]:
    """The groups in which a process still runs, and whose id was not given to a stranger since."""
    if not groups:
        return set()
    if not os.path.exists("/proc/self/stat"):  # noqa: PTH110 - pathlib takes longer to import than all else
        return {group for group in groups if _signal(group, 0)}
    running = {int(stat[2]) for stat in _stats() if stat[0] not in (b"Z", b"X")}
    return {
        group
        for group, started in groups.items()
        if group in running and _start_time(group) in (started, None)
    }


def _outside(agent: int, forgotten: set[int]) -> dict[int, bytes | None]:
    """The groups of children that left those of their servers (`core.process.left_session`)."""
    mark = b"CORTEX_R_SERVER=%d:" % agent
    groups: set[int] = set()
    for pid in _pids():
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:  # noqa: PTH123 - as above
                if any(one.startswith(mark) for one in file.read().split(b"\0")):
                    groups.add(os.getpgid(pid))
        except OSError:
            continue
    return {group: _start_time(group) for group in groups - forgotten}


def _wait_until_gone(groups: dict[int, bytes | None], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while living(groups) and time.monotonic() < deadline:
        time.sleep(LOOK_SECONDS)


def _reading(inode: bytes) -> set[int]:
    """The groups of the processes whose stdin is this pipe."""
    link = f"pipe:[{inode.decode()}]"
    groups: set[int] = set()
    for pid in _pids():
        try:
            if os.readlink(f"/proc/{pid}/fd/0") == link:  # noqa: PTH115 - as above
                groups.add(os.getpgid(pid))
        except OSError:
            continue
    return groups


def _pids() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208 - as above
    except OSError:
        return []


def _stats() -> Iterator[list[bytes]]:
    """Of every process the fields of its `stat` from the third, its state, on (proc(5))."""
    for pid in _pids():
        if stat := _stat(pid):
            yield stat


def _stat(pid: int) -> list[bytes]:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 - as above
            return file.read().rpartition(b")")[2].split()
    except OSError:
        return []


def _start_time(pid: int) -> bytes | None:
    """When the process started, in clock ticks since boot; None when there is none, or no /proc."""
    stat = _stat(pid)
    return stat[19] if stat else None


def _signal(group: int, number: int) -> bool:
    """Signal a group; whether there was one."""
    try:
        os.killpg(group, number)
    except OSError:
        return False
    return True


def _open_pidfd(pid: int) -> int | None:
    """A descriptor that tells of a process's end; None where the system has none."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


if __name__ == "__main__":
    main(sys.argv[1:])
    os._exit(0)  # nothing to clean up, and who waits for us need not wait for the interpreter

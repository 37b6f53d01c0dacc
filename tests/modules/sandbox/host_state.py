"""What this process holds, as the kernel counts it in `/proc`: for tests that nothing is left."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

SELF = Path("/proc/self")
BYTES_PER_KB = 1024

_RESET_PEAK = "5"
"""Written to `clear_refs`, sets the peak of resident memory to what it is now (`proc(5)`)."""


@dataclass(frozen=True, slots=True)
class Holdings:
    """Descriptors and threads of this process, and the ids of its children (zombies too).

    All threads count, also those that Python doesn't know.
    """

    descriptors: int
    threads: int
    children: frozenset[int]

    def within(self, earlier: "Holdings") -> bool:
        """Whether nothing is held that was not held earlier; what others gave back is no matter."""
        return (
            self.descriptors <= earlier.descriptors
            and self.threads <= earlier.threads
            and self.children <= earlier.children
        )


def holdings() -> Holdings:
    """What this process holds now."""
    descriptors, threads = (len(list((SELF / kind).iterdir())) for kind in ("fd", "task"))
    return Holdings(descriptors, threads, frozenset(children()))


def children() -> set[int]:
    """Process ids of our own children."""
    found: set[int] = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # ended while we looked
            continue
        if int(fields[1]) == os.getpid():
            found.add(int(stat.parent.name))
    return found


def resident_bytes(process: int | None = None) -> int:
    """Resident memory of a process, of this one if none is named; 0 if it has ended."""
    return _status_bytes("VmRSS", process)


def reset_peak() -> int:
    """Forget the peak of this process's resident memory; gives what is resident now, in bytes."""
    (SELF / "clear_refs").write_text(_RESET_PEAK)
    return resident_bytes()


def peak_bytes() -> int:
    """The most memory that was resident at once since `reset_peak`, in bytes."""
    return _status_bytes("VmHWM", None)


def _status_bytes(field: str, process: int | None) -> int:
    try:
        status = Path("/proc", str(process or "self"), "status").read_text()
    except OSError:
        return 0
    found = re.search(rf"^{field}:\s+(\d+) kB$", status, re.MULTILINE)
    return int(found[1]) * BYTES_PER_KB if found else 0

"""The second wall: a process gives up for good what a plan's worker has no need of. Linux only.

Imported by `modules.sandbox.worker_program` alone, on the standard library's lightest parts: the
start of every worker waits for it. Each part is put up as far as this kernel has it, as root and
as an ordinary user, in containers too.

The system calls are made through ctypes. Of the bindings that there are, landlockpy 0.2 looks for
libc by starting the linker's tools (60 ms more at each start), pyseccomp has not changed since
2021 and needs a system library, and sandlock is a supervisor of its own of 13 MB.

What each part stops:
    rlimits       memory beyond the plan's, CPU time without end, files, core dumps, descriptors
    no_new_privs  set-user-id programs; and with it go the capabilities that root has
    landlock      every file there is (Linux 5.13; `landlock(7)`)
    seccomp       every system call but the few that WebAssembly without I/O needs, and new code
"""

import ctypes
import json
import os
import resource
import struct
import sys
from collections.abc import Callable

PR_SET_PDEATHSIG = 1
SIGKILL = 9
"""Not from `signal`, which takes 8 ms to import."""

PR_SET_NO_NEW_PRIVS = 38
SECCOMP_SET_MODE_FILTER = 1
SECCOMP_FILTER_FLAG_TSYNC = 1
BPF_INSTRUCTION_BYTES = 8

PROT_READ_EXEC = 0b101

CAPABILITY_VERSION_3 = 0x20080522

CLOSE_RANGE = 436
LANDLOCK_CREATE_RULESET = 444
LANDLOCK_RESTRICT_SELF = 446
"""Numbers of system calls, the same on every architecture."""

DESCRIPTOR_HIGHEST = 2**31 - 1

LANDLOCK_VERSION = 1
"""A flag that asks for the version (linux/landlock.h, like the constants below)."""


FILE_ACCESSES_BY_ABI = (0, 13, 14, 15, 15, 16, 16, 16, 16, 17)
"""How many kinds of access to files each version of Landlock knows, each those of the last too."""

NET_ACCESSES = 0b11
"""Binding and connecting TCP sockets, since version 4."""

SCOPES = 0b11
"""Abstract Unix sockets of others, and signals to others, since version 6."""

DESCRIPTORS_MAX = 16
"""The worker holds its two pipes, /dev/null, and the compiled program that instances map."""

STACK_BYTES = 8 * 1024 * 1024
"""The main thread's stack, which counts as no data."""

ADDRESS_SPACE_BYTES = 16 * 1024**3
"""WebAssembly reserves 4 GiB for an instance to save checks of bounds. Beyond data this bounds what
costs memory though it is none, such as the kernel's tables of pages that are only read."""

MISSING_WALL_STATUS = 71
"""Exit status when a part that must stand could not be put up (EX_OSERR of sysexits.h)."""


class Policy:
    """What a worker may do, as the host tells it.

    Attributes:
        plan_bytes: Memory of a plan's instance.
        plan_seconds: Time that a plan computes.
        printed_bytes: What a plan prints.
        data_bytes: Memory of the process that can be written to.
        cpu_seconds: CPU time of the process, all its plans together.
        seccomp_filter: The system calls that it may make; empty if none is known here.
        seccomp_number: The number of the system call that takes it.
        required: Parts of the wall without which it ends.
        has_wall: Whether there is to be one.
    """

    def __init__(self, text: str) -> None:
        """Read what `walls.launcher` has written."""
        told = json.loads(text)
        self.plan_bytes: int = told["plan_bytes"]
        self.plan_seconds: float = told["plan_seconds"]
        self.printed_bytes: int = told["printed_bytes"]
        self.data_bytes: int = told["data_bytes"]
        self.cpu_seconds: int = told["cpu_seconds"]
        self.seccomp_filter = bytes.fromhex(told["filter"])
        self.seccomp_number: int = told["filter_call"]
        self.required: list[str] = told["require"]
        self.has_wall: bool = told["wall"]


def put_up(policy: Policy, start_threads: Callable[[], None]) -> dict[str, str | None]:
    """Put up every part, each as far as the kernel has it; why a part is missing, by its name.

    Files and capabilities are given up by a thread and those that it starts then, system calls by
    all threads at once: so `start_threads` is called between. From then on none can be started.

    There is no way back for this process and its children.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    missing: dict[str, str | None] = {}

    def attempt(name: str, put_up_part: Callable[[], None]) -> None:
        reason = None
        try:
            put_up_part()
        except (OSError, ValueError) as error:
            reason = str(error) or type(error).__name__
        missing[name] = missing.get(name) or reason

    attempt("rlimits", lambda: limit_resources(policy.data_bytes, policy.cpu_seconds))
    attempt("seccomp", lambda: seal_code(libc))  # while what is mapped can still be read
    attempt("no_new_privs", lambda: give_up_new_privileges(libc))
    attempt("landlock", lambda: forbid_files(libc))
    # Only now: without capabilities root may not even enter the folders of other users.
    attempt("no_new_privs", lambda: give_up_capabilities(libc))
    start_threads()
    attempt("seccomp", lambda: forbid_system_calls(libc, policy))
    return missing


def limit_resources(data_bytes: int, cpu_seconds: int) -> None:
    """Bound memory, CPU time and descriptors; no file may grow, and no core be dumped.

    Data is private memory that can be written to. Memory that is shared, or grows downwards like a
    stack, is none to the kernel: seccomp lets nobody ask for it.
    """
    for kind, value in (
        (resource.RLIMIT_DATA, data_bytes),
        (resource.RLIMIT_AS, ADDRESS_SPACE_BYTES),
        (resource.RLIMIT_STACK, STACK_BYTES),
        (resource.RLIMIT_CPU, cpu_seconds),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, DESCRIPTORS_MAX),
        (resource.RLIMIT_MEMLOCK, 0),
    ):
        _, highest = resource.getrlimit(kind)
        # Compared as the kernel does, for which "no limit" is the highest number.
        within = min(value, highest, key=lambda limit: limit % 2**64)
        resource.setrlimit(kind, (within, within))


def seal_code(libc: ctypes.CDLL) -> None:
    """Let nothing be written any more where code is: ctypes keeps its callbacks in such a page.

    No callback can be made or freed from now on.
    """
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
        for span, protection, *_ in (line.split(maxsplit=2) for line in file):
            if protection.startswith("rwx"):
                start, end = (int(at, 16) for at in span.split("-"))
                length = ctypes.c_size_t(end - start)
                _check(libc.mprotect(ctypes.c_void_p(start), length, PROT_READ_EXEC))


def give_up_new_privileges(libc: ctypes.CDLL) -> None:
    """Let no program raise privileges (`PR_SET_NO_NEW_PRIVS`); what follows needs this too."""
    _check(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))


def give_up_capabilities(libc: ctypes.CDLL) -> None:
    """Drop what root may do beyond others; with no new privileges, for good."""
    header = ctypes.create_string_buffer(struct.pack("=Ii", CAPABILITY_VERSION_3, 0))
    _check(libc.capset(header, ctypes.create_string_buffer(24)))


def forbid_files(libc: ctypes.CDLL) -> None:
    """Forbid every file, TCP, and signals to others, as far as this Landlock can."""
    abi = _check(libc.syscall(LANDLOCK_CREATE_RULESET, None, 0, LANDLOCK_VERSION))
    known = FILE_ACCESSES_BY_ABI[min(abi, len(FILE_ACCESSES_BY_ABI) - 1)]
    fields = [(1 << known) - 1]
    if abi >= 4:
        fields.append(NET_ACCESSES)
    if abi >= 6:
        fields.append(SCOPES)
    attributes = ctypes.create_string_buffer(struct.pack(f"={len(fields)}Q", *fields))
    ruleset = _check(libc.syscall(LANDLOCK_CREATE_RULESET, attributes, 8 * len(fields), 0))
    try:
        _check(libc.syscall(LANDLOCK_RESTRICT_SELF, ruleset, 0))
    finally:
        os.close(ruleset)


def forbid_system_calls(libc: ctypes.CDLL, policy: Policy) -> None:
    """Let the kernel run the filter (classic BPF) on every system call of every thread from now on.

    Raises:
        ValueError: there is no filter for this machine's architecture.
    """
    program = policy.seccomp_filter
    if not program:
        raise ValueError("no filter is known for this processor")
    code = ctypes.create_string_buffer(program, len(program))
    count = len(program) // BPF_INSTRUCTION_BYTES
    fprog = ctypes.create_string_buffer(struct.pack("HP", count, ctypes.addressof(code)))
    flags = SECCOMP_FILTER_FLAG_TSYNC
    if _check(libc.syscall(policy.seccomp_number, SECCOMP_SET_MODE_FILTER, flags, fprog)):
        raise ValueError("another thread has a filter of its own")


def leave_the_host_behind() -> None:
    """Close what was inherited but the protocol's two pipes; end with the thread that started us.

    A worker would notice the end of its pipe, unless it was taken over. Ctrl-C is for the agent: it
    may let the plan finish, as a service does that is about to end.
    """
    if os.getpgrp() != os.getpid():
        os.setsid()
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        parent = os.getppid()
        libc.prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            raise SystemExit(MISSING_WALL_STATUS)
        _close(libc, 3, DESCRIPTOR_HIGHEST)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)
    os.close(null)


def _close(libc: ctypes.CDLL, first: int, last: int) -> None:
    """Close all of these descriptors, however many there may be."""
    if libc.syscall(CLOSE_RANGE, first, last, 0) < 0:  # before Linux 5.9: one after the other
        os.closerange(first, min(last + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[0]))


def _check(result: int) -> int:
    """The result of a call into libc; raises OSError where it failed."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result

"""Puts up the second wall around itself, then becomes the sandbox's worker. Linux only.

    python -I -S launcher_program.py [WORDS] -- PROGRAM [ARGUMENT…]
    python -I -S launcher_program.py [WORDS] -- PROGRAM --report

Runs alone, on the standard library's lightest parts: nothing of ours is imported, because the
start of every worker waits for it (a Python with ctypes takes about 20 ms).
`modules.sandbox.walls.launcher` writes the WORDS, in pairs: what to
allow, and which parts must stand (`Policy.from_words`). With `--report` a line a part tells which
could be put up, and the program is not run.

The system calls are made through ctypes. Of the bindings that there are, landlockpy 0.2 looks for
libc by starting the linker's tools (60 ms more at each start), pyseccomp has not changed since
2021 and needs a system library, and sandlock is a supervisor of its own of 13 MB.

What each part stops:
    rlimits       memory beyond the plan's, CPU time without end, files, core dumps, descriptors
    no_new_privs  set-user-id programs; and with it go the capabilities that root has
    landlock      every file but the worker's own program and libraries (Linux 5.13; `landlock(7)`)
    seccomp       every system call but the few that an interpreter without I/O needs
"""

import ctypes
import os
import resource
import struct
import sys

PR_SET_PDEATHSIG = 1
SIGKILL = 9
"""Not from `signal`, which takes 8 ms to import."""

PR_SET_SECCOMP = 22
PR_SET_NO_NEW_PRIVS = 38
SECCOMP_MODE_FILTER = 2
BPF_INSTRUCTION_BYTES = 8

CAPABILITY_VERSION_3 = 0x20080522

CLOSE_RANGE = 436
LANDLOCK_CREATE_RULESET = 444
LANDLOCK_ADD_RULE = 445
LANDLOCK_RESTRICT_SELF = 446
"""Numbers of system calls, the same on every architecture."""

DESCRIPTOR_HIGHEST = 2**31 - 1

LANDLOCK_VERSION = 1
"""A flag that asks for the version (linux/landlock.h, like the constants below)."""

LANDLOCK_PATH_BENEATH = 1
ACCESS_EXECUTE = 1 << 0
ACCESS_READ_FILE = 1 << 2
ACCESS_READ_DIR = 1 << 3

FILE_ACCESSES_BY_ABI = (0, 13, 14, 15, 15, 16, 16, 16, 16, 17)
"""How many kinds of access to files each version of Landlock knows, each those of the last too."""

NET_ACCESSES = 0b11
"""Binding and connecting TCP sockets, since version 4."""

SCOPES = 0b11
"""Abstract Unix sockets of others, and signals to others, since version 6."""

DESCRIPTORS_MAX = 16
"""The worker holds three, and one more while its libraries are loaded."""

MISSING_WALL_STATUS = 71
"""Exit status when a part that must stand could not be put up (EX_OSERR of sysexits.h)."""


class Policy:
    """What the worker may do: bytes of address space, CPU time, paths, system calls."""

    def __init__(self) -> None:
        """Allow nothing and require nothing."""
        self.address_space_bytes = 0
        self.cpu_seconds = resource.RLIM_INFINITY
        self.executable_paths: list[str] = []
        self.readable_paths: list[str] = []
        self.seccomp_filter = b""
        self.required: set[str] = set()

    @staticmethod
    def from_words(words: list[str]) -> "Policy":
        """Read pairs of a key and its value.

        `memory BYTES`, `cpu SECONDS`, `run PATH`, `read PATH`, `filter HEX`, `require NAME`.

        Raises:
            ValueError: a word that there isn't.
        """
        policy = Policy()
        for key, value in zip(words[::2], words[1::2], strict=True):
            if key == "memory":
                policy.address_space_bytes = int(value)
            elif key == "cpu":
                policy.cpu_seconds = int(value)
            elif key == "run":
                policy.executable_paths.append(value)
            elif key == "read":
                policy.readable_paths.append(value)
            elif key == "filter":
                policy.seccomp_filter = bytes.fromhex(value)
            elif key == "require":
                policy.required.add(value)
            else:
                raise ValueError(f"unknown word: {key}")
        return policy


def main(words: list[str]) -> int:
    """Put up the walls and become the program, or report; returns only if that failed."""
    end = words.index("--")
    policy, command = Policy.from_words(words[:end]), words[end + 1 :]
    # Opened first, for when its path leads through folders that only capabilities open.
    program = os.open(command[0], os.O_PATH | os.O_CLOEXEC)
    _leave_the_host_behind(keep=program)
    # Ctrl-C is for the agent: it may let the plan finish, as a service does that is about to end.
    if os.getpgrp() != os.getpid():
        os.setsid()
    missing = put_up(policy)
    if command[1:] == ["--report"]:
        for name, reason in missing.items():
            print(name, reason or "", sep="\t")  # noqa: T201 - what the host reads
        return 0
    if any(missing.get(name) for name in policy.required):
        return MISSING_WALL_STATUS
    try:
        os.execve(command[0], command, {})  # noqa: S606 - the worker, by its full path
    except PermissionError:
        os.execve(program, command, {})  # noqa: S606 - the same, already opened
    return MISSING_WALL_STATUS


def put_up(policy: Policy) -> dict[str, str | None]:
    """Put up every part, each as far as the kernel has it; why a part is missing, by its name.

    There is no way back for this process and its children.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    parts = (
        ("rlimits", lambda: limit_resources(policy.address_space_bytes, policy.cpu_seconds)),
        ("no_new_privs", lambda: give_up_new_privileges(libc)),
        ("landlock", lambda: forbid_files(libc, policy.executable_paths, policy.readable_paths)),
        # Only now: without capabilities root may not even enter the folders of other users.
        ("no_new_privs", lambda: give_up_capabilities(libc)),
        ("seccomp", lambda: forbid_system_calls(libc, policy.seccomp_filter)),
    )
    missing: dict[str, str | None] = {}
    for name, put_up_part in parts:
        reason = None
        try:
            put_up_part()
        except (OSError, ValueError) as error:
            reason = str(error) or type(error).__name__
        missing[name] = missing.get(name) or reason
    return missing


def limit_resources(address_space_bytes: int, cpu_seconds: int) -> None:
    """Bound memory, CPU time and descriptors; no file may grow, and no core be dumped."""
    for kind, value in (
        (resource.RLIMIT_AS, address_space_bytes),
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


def give_up_new_privileges(libc: ctypes.CDLL) -> None:
    """Let no program raise privileges (`PR_SET_NO_NEW_PRIVS`); what follows needs this too."""
    _check(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))


def give_up_capabilities(libc: ctypes.CDLL) -> None:
    """Drop what root may do beyond others; with no new privileges, for good."""
    header = ctypes.create_string_buffer(struct.pack("=Ii", CAPABILITY_VERSION_3, 0))
    _check(libc.capset(header, ctypes.create_string_buffer(24)))


def forbid_files(libc: ctypes.CDLL, executable: list[str], readable: list[str]) -> None:
    """Forbid every file but these, TCP, and signals to others, as far as this Landlock can."""
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
        for path in executable:
            _allow(libc, ruleset, path, ACCESS_EXECUTE | ACCESS_READ_FILE)
        for path in readable:
            _allow(libc, ruleset, path, ACCESS_READ_FILE)
        _check(libc.syscall(LANDLOCK_RESTRICT_SELF, ruleset, 0))
    finally:
        os.close(ruleset)


def forbid_system_calls(libc: ctypes.CDLL, program: bytes) -> None:
    """Let the kernel run this filter (classic BPF) on every system call from now on.

    Raises:
        ValueError: there is no filter for this machine's architecture.
    """
    if not program:
        raise ValueError("no filter is known for this processor")
    code = ctypes.create_string_buffer(program, len(program))
    count = len(program) // BPF_INSTRUCTION_BYTES
    fprog = ctypes.create_string_buffer(struct.pack("HP", count, ctypes.addressof(code)))
    _check(libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, fprog, 0, 0))


def _leave_the_host_behind(keep: int) -> None:
    """Close what was inherited but the protocol's two pipes; end with the thread that started us.

    The worker would notice the end of its pipe, unless it was taken over.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    parent = os.getppid()
    libc.prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        raise SystemExit(MISSING_WALL_STATUS)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)
    if keep > 3:
        _close(libc, 3, keep - 1)
    _close(libc, keep + 1, DESCRIPTOR_HIGHEST)


def _close(libc: ctypes.CDLL, first: int, last: int) -> None:
    """Close all of these descriptors, however many there may be."""
    if libc.syscall(CLOSE_RANGE, first, last, 0) < 0:  # before Linux 5.9: one after the other
        os.closerange(first, min(last + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[0]))


def _allow(libc: ctypes.CDLL, ruleset: int, path: str, access: int) -> None:
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if os.path.isdir(path):  # noqa: PTH112 - pathlib takes 10 ms to import
            access |= ACCESS_READ_DIR
        rule = ctypes.create_string_buffer(struct.pack("=Qi", access, descriptor))
        _check(libc.syscall(LANDLOCK_ADD_RULE, ruleset, LANDLOCK_PATH_BENEATH, rule, 0))
    finally:
        os.close(descriptor)


def _check(result: int) -> int:
    """The result of a call into libc; raises OSError where it failed."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

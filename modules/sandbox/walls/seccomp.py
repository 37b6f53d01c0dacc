"""The system calls that the sandbox's worker may make, as a filter for Linux's seccomp.

The worker computes, reads its requests from one pipe and writes to another: nothing else. So what
isn't named here fails with EPERM, as for want of permission, and a call of another architecture's
table ends the process. The filter outlives the `execve` of the worker, so that its start, dynamic
linker included, must be possible with it (see `seccomp(2)`, and linux/filter.h for the classic BPF
of which it is made; numbers from the kernel's own tables of system calls).
"""

import platform
import struct
from collections.abc import Iterable, Sequence

from core.base.frozen import frozen

EPERM = 1
ENOSYS = 38

CLONE_VM = 0x100
CLONE_SIGHAND = 0x800
CLONE_THREAD = 0x10000
THREAD_FLAGS = CLONE_VM | CLONE_SIGHAND | CLONE_THREAD

PROT_WRITE_OR_EXEC = 0x2 | 0x4
PROT_EXEC = 0x4
MAP_ANONYMOUS = 0x20
PR_SET_NAME = 15
AT_EMPTY_PATH = 0x1000

WRITING_FLAGS = 0o3 | 0o100 | 0o1000 | 0o20000000
"""Any of O_WRONLY, O_RDWR, O_CREAT, O_TRUNC and the bit that is O_TMPFILE's own."""


@frozen
class Argument:
    """A condition on one argument: `(argument & mask) == value`, on its lower 32 bits.

    With `whole`, the upper 32 bits must be zero too.
    """

    index: int
    value: int
    mask: int = 0xFFFFFFFF
    whole: bool = False


_ALWAYS = (
    *("read", "write", "readv", "writev", "close", "fstat", "lseek", "pread64"),
    *("munmap", "mremap", "madvise", "brk", "newfstatat"),
    *("rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "restart_syscall"),
    *("futex", "set_robust_list", "set_tid_address", "rseq", "gettid", "getpid"),
    *("sched_getaffinity", "sched_yield", "poll", "ppoll"),
    *("clock_gettime", "clock_getres", "clock_nanosleep", "nanosleep", "gettimeofday"),
    *("getrandom", "arch_prctl", "exit", "exit_group", "execve"),
)
"""Harmless whatever they are given.

`execve` must be: the filter stands before the worker is run. Landlock leaves it nothing to run but
the worker itself, and whatever it ran would be behind this filter too.
"""

_IF: dict[str, tuple[tuple[Argument, ...], ...]] = {
    # Files are opened for reading only; which, is Landlock's business.
    "openat": ((Argument(2, 0, mask=WRITING_FLAGS),),),
    # Memory is never writable and executable at once, nor made executable later, nor without a
    # file behind it: who takes the worker over can't bring machine code along.
    "mmap": (
        (Argument(2, 0, mask=PROT_EXEC),),
        (Argument(2, PROT_EXEC, mask=PROT_WRITE_OR_EXEC), Argument(3, 0, mask=MAP_ANONYMOUS)),
    ),
    "mprotect": ((Argument(2, 0, mask=PROT_EXEC),),),
    # Threads, but no processes. `clone3` has its flags in memory, where no filter can see them.
    "clone": ((Argument(0, THREAD_FLAGS, mask=THREAD_FLAGS),),),
    # Limits are read, of itself, and never set.
    "prlimit64": ((Argument(0, 0), Argument(2, 0, whole=True)),),
    "prctl": ((Argument(0, PR_SET_NAME),),),
    "execveat": ((Argument(4, AT_EMPTY_PATH),),),
}
"""Allowed if all conditions of one of the groups hold."""

_ABSENT = ("clone3",)
"""Fail as if the kernel were older: then libc takes the older call, whose arguments can be seen."""


@frozen
class Architecture:
    """An architecture's mark in the filter's input, and the numbers of its system calls."""

    audit: int
    numbers: dict[str, int]
    x32_bit: int | None = None


def _numbered(text: str) -> dict[str, int]:
    """A table of names and numbers, written as in the kernel's own lists."""
    words = text.replace(",", " ").split()
    return dict(zip(words[::2], map(int, words[1::2]), strict=True))


_X86_64 = Architecture(
    0xC000003E,
    _numbered(
        """
        read 0, write 1, close 3, fstat 5, poll 7, lseek 8, mmap 9, mprotect 10, munmap 11
        brk 12, rt_sigaction 13, rt_sigprocmask 14, rt_sigreturn 15, pread64 17, readv 19
        writev 20, sched_yield 24, mremap 25, madvise 28, nanosleep 35, getpid 39, clone 56
        execve 59, exit 60, gettimeofday 96, sigaltstack 131, prctl 157, arch_prctl 158
        gettid 186, futex 202, sched_getaffinity 204, set_tid_address 218
        restart_syscall 219, clock_gettime 228, clock_getres 229, clock_nanosleep 230
        exit_group 231, openat 257, newfstatat 262, ppoll 271, set_robust_list 273
        prlimit64 302, getrandom 318, execveat 322, rseq 334, clone3 435
        """
    ),
    x32_bit=0x40000000,
)

_AARCH64 = Architecture(
    0xC00000B7,
    _numbered(
        """
        openat 56, close 57, lseek 62, read 63, write 64, readv 65, writev 66, pread64 67
        ppoll 73, newfstatat 79, fstat 80, exit 93, exit_group 94, set_tid_address 96
        futex 98, set_robust_list 99, nanosleep 101, clock_gettime 113, clock_getres 114
        clock_nanosleep 115, sched_getaffinity 123, sched_yield 124, restart_syscall 128
        sigaltstack 132, rt_sigaction 134, rt_sigprocmask 135, rt_sigreturn 139, prctl 167
        gettimeofday 169, getpid 172, gettid 178, brk 214, munmap 215, mremap 216
        clone 220, execve 221, mmap 222, mprotect 226, madvise 233, prlimit64 261
        getrandom 278, execveat 281, rseq 293, clone3 435
        """
    ),
)

POINTER_BYTES = struct.calcsize("P")

ARCHITECTURES = {"x86_64": _X86_64, "amd64": _X86_64, "aarch64": _AARCH64, "arm64": _AARCH64}
"""By the machine's name as `platform.machine()` gives it, in lower case."""


def worker_filter(machine: str | None = None, pointer_bytes: int = POINTER_BYTES) -> bytes:
    """The filter for the worker on this machine, as the kernel takes it; empty if there is none.

    A sequence of `struct sock_filter`, 8 bytes each, in the machine's byte order. There is none
    for programs of 32 bits, which on a machine of 64 bits call the kernel by other numbers.
    """
    if pointer_bytes != 8:
        return b""
    architecture = ARCHITECTURES.get((machine or platform.machine()).lower())
    return b"" if architecture is None else _assembled(architecture)


_LOAD = 0x20  # BPF_LD | BPF_W | BPF_ABS
_AND = 0x54  # BPF_ALU | BPF_AND | BPF_K
_JUMP_IF_EQUAL = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
_JUMP_IF_AT_LEAST = 0x35  # BPF_JMP | BPF_JGE | BPF_K
_RETURN = 0x06  # BPF_RET | BPF_K

_KILL_PROCESS = 0x80000000
_ERRNO = 0x00050000
_ALLOW = 0x7FFF0000

_NUMBER_AT, _ARCHITECTURE_AT, _ARGUMENTS_AT = 0, 4, 16
"""Offsets in `struct seccomp_data`, in bytes."""


@frozen
class _Instruction:
    code: int
    operand: int
    if_true: int = 0
    if_false: int = 0

    def packed(self) -> bytes:
        return struct.pack("=HBBI", self.code, self.if_true, self.if_false, self.operand)


def _assembled(architecture: Architecture) -> bytes:
    """The whole filter: the architecture, then one block for each system call that is named."""
    numbers = architecture.numbers
    program = [
        _Instruction(_LOAD, _ARCHITECTURE_AT),
        _Instruction(_JUMP_IF_EQUAL, architecture.audit, if_true=1),
        _Instruction(_RETURN, _KILL_PROCESS),
        _Instruction(_LOAD, _NUMBER_AT),
    ]
    if architecture.x32_bit is not None:
        program += [
            _Instruction(_JUMP_IF_AT_LEAST, architecture.x32_bit, if_false=1),
            _Instruction(_RETURN, _KILL_PROCESS),
        ]
    for name in _ALWAYS:
        if name in numbers:
            program += _block(numbers[name], [_Instruction(_RETURN, _ALLOW)])
    for name in _ABSENT:
        program += _block(numbers[name], [_Instruction(_RETURN, _ERRNO | ENOSYS)])
    for name, groups in _IF.items():
        program += _block(numbers[name], list(_if_any(groups)))
    program.append(_Instruction(_RETURN, _ERRNO | EPERM))
    return b"".join(instruction.packed() for instruction in program)


def _block(number: int, body: Sequence[_Instruction]) -> list[_Instruction]:
    """`body`, which ends in a return, for this system call; others pass it by."""
    return [_Instruction(_JUMP_IF_EQUAL, number, if_false=len(body)), *body]


def _if_any(groups: Iterable[tuple[Argument, ...]]) -> Iterable[_Instruction]:
    for group in groups:
        tests = [test for argument in group for test in _tests(argument)]
        for position, test in enumerate(tests):
            to_next_group = len(tests) - position  # past the remaining tests and the return
            failing = to_next_group if test.code == _JUMP_IF_EQUAL else 0
            yield _Instruction(test.code, test.operand, if_false=failing)
        yield _Instruction(_RETURN, _ALLOW)
    yield _Instruction(_RETURN, _ERRNO | EPERM)


def _tests(argument: Argument) -> Iterable[_Instruction]:
    """Loads and comparisons; each comparison that fails is to leave the group.

    Both architectures are little-endian: the lower half of an argument comes first.
    """
    low = _ARGUMENTS_AT + 8 * argument.index
    yield _Instruction(_LOAD, low)
    if argument.mask != 0xFFFFFFFF:
        yield _Instruction(_AND, argument.mask)
    yield _Instruction(_JUMP_IF_EQUAL, argument.value)
    if argument.whole:
        yield _Instruction(_LOAD, low + 4)
        yield _Instruction(_JUMP_IF_EQUAL, 0)

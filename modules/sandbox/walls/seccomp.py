"""The system calls that the sandbox's worker may make, as a filter for Linux's seccomp.

The worker computes, reads its requests from one pipe and writes to another: nothing else. It puts
the filter up when all is loaded and all threads run. So what isn't named here fails with EPERM, as
for want of permission, and a call of another architecture's table ends the process (see
`seccomp(2)`, and linux/filter.h for the classic BPF of which it is made; numbers from the kernel's
own tables of system calls).
"""

import platform
import struct
from collections.abc import Iterable, Sequence

from core.base.frozen import frozen

EPERM = 1

PROT_EXEC = 0x4
MAP_PRIVATE = 0x2
MAP_SHARED_OR_UNUSUAL = 0xFFFFFFFF & ~(0x10 | 0x20 | 0x4000 | 0x20000)
"""All flags of `mmap` but MAP_FIXED, MAP_ANONYMOUS, MAP_NORESERVE and MAP_STACK."""


@frozen
class Argument:
    """A condition on one argument: `(argument & mask) == value`, on its lower 32 bits."""

    index: int
    value: int
    mask: int


_ALWAYS = (
    *("read", "write", "munmap", "brk", "futex", "getrandom"),
    *("clock_gettime", "clock_nanosleep", "restart_syscall", "sched_yield"),
    *("rt_sigreturn", "rt_sigprocmask", "exit", "exit_group"),
)
"""Harmless whatever they are given: who has no descriptor but the pipes can read nothing else.

WebAssembly's traps are signals of the processor, hence `rt_sigreturn`; what handles them stands
before the filter does. No thread is made, nor any file opened, not even one that is known.
"""

_IF: dict[str, tuple[Argument, ...]] = {
    # No machine code is mapped or made, not even from a file: all there will be is there. Memory is
    # private and no stack, since the kernel's limit on data counts nothing else.
    "mmap": (Argument(2, 0, mask=PROT_EXEC), Argument(3, MAP_PRIVATE, mask=MAP_SHARED_OR_UNUSUAL)),
    "mprotect": (Argument(2, 0, mask=PROT_EXEC),),
}
"""Allowed if all conditions hold."""


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
        read 0, write 1, mmap 9, mprotect 10, munmap 11, brk 12, rt_sigprocmask 14
        rt_sigreturn 15, sched_yield 24, exit 60, futex 202, restart_syscall 219
        clock_gettime 228, clock_nanosleep 230, exit_group 231, seccomp 317, getrandom 318
        """
    ),
    x32_bit=0x40000000,
)

_AARCH64 = Architecture(
    0xC00000B7,
    _numbered(
        """
        read 63, write 64, exit 93, exit_group 94, futex 98, clock_gettime 113
        clock_nanosleep 115, sched_yield 124, restart_syscall 128, rt_sigprocmask 135
        rt_sigreturn 139, brk 214, munmap 215, mmap 222, mprotect 226, seccomp 277
        getrandom 278
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
    architecture = None if pointer_bytes != 8 else _architecture(machine)
    return b"" if architecture is None else _assembled(architecture)


def filter_call() -> int:
    """The number of the system call `seccomp` on this machine; 0 where there is no filter."""
    architecture = _architecture(None)
    return 0 if architecture is None else architecture.numbers["seccomp"]


def _architecture(machine: str | None) -> Architecture | None:
    return ARCHITECTURES.get((machine or platform.machine()).lower())


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
        program += _block(numbers[name], [_Instruction(_RETURN, _ALLOW)])
    for name, arguments in _IF.items():
        program += _block(numbers[name], [*_if_all(arguments)])
    program.append(_Instruction(_RETURN, _ERRNO | EPERM))
    return b"".join(instruction.packed() for instruction in program)


def _block(number: int, body: Sequence[_Instruction]) -> list[_Instruction]:
    """`body`, which ends in a return, for this system call; others pass it by."""
    return [_Instruction(_JUMP_IF_EQUAL, number, if_false=len(body)), *body]


def _if_all(arguments: Iterable[Argument]) -> Iterable[_Instruction]:
    """Both architectures are little-endian: the lower half of an argument comes first."""
    for argument in arguments:
        yield _Instruction(_LOAD, _ARGUMENTS_AT + 8 * argument.index)
        yield _Instruction(_AND, argument.mask)
        yield _Instruction(_JUMP_IF_EQUAL, argument.value, if_true=1)
        yield _Instruction(_RETURN, _ERRNO | EPERM)
    yield _Instruction(_RETURN, _ALLOW)

"""The seccomp filter, run by a small interpreter of classic BPF as the kernel would run it."""

import struct
from itertools import count

import pytest

from modules.sandbox.walls.seccomp import ARCHITECTURES, worker_filter

ALLOW = 0x7FFF0000
KILL = 0x80000000
EPERM = 0x00050001

X86 = ARCHITECTURES["x86_64"]
BOTH = ["x86_64", "aarch64"]


def verdict(machine: str, number: int, *arguments: int, audit: int | None = None) -> int:
    """What the filter of a machine answers to a system call."""
    mark = ARCHITECTURES[machine].audit if audit is None else audit
    given = [argument & (2**64 - 1) for argument in arguments]
    data = struct.pack("=IIQ6Q", number, mark, 0, *given, *[0] * (6 - len(given)))
    program = [*struct.iter_unpack("=HBBI", worker_filter(machine))]
    accumulator = at = 0
    for steps in count():
        assert steps < 1000, "runs in a circle"
        code, if_true, if_false, operand = program[at]
        at += 1
        match code:
            case 0x20:
                (accumulator,) = struct.unpack_from("=I", data, operand)
            case 0x54:
                accumulator &= operand
            case 0x15:
                at += if_true if accumulator == operand else if_false
            case 0x35:
                at += if_true if accumulator >= operand else if_false
            case 0x06:
                return operand
            case _:
                pytest.fail(f"unknown instruction {code:#x}")
    raise AssertionError


def call(machine: str, name: str, *arguments: int) -> int:
    return verdict(machine, ARCHITECTURES[machine].numbers[name], *arguments)


@pytest.mark.parametrize("machine", BOTH)
def test_a_worker_may_read_write_map_and_end(machine: str) -> None:
    for name in ("read", "write", "munmap", "futex", "clock_gettime", "rt_sigreturn", "exit_group"):
        assert call(machine, name, 1, 2, 3) == ALLOW, name


@pytest.mark.parametrize("machine", BOTH)
def test_the_filter_itself_is_put_up_once(machine: str) -> None:
    assert call(machine, "seccomp", 1, 1, 2**32) == EPERM


@pytest.mark.parametrize("machine", BOTH)
def test_what_is_not_named_fails_for_want_of_permission(machine: str) -> None:
    named = set(ARCHITECTURES[machine].numbers.values())
    unnamed = [number for number in range(600) if number not in named]
    assert len(unnamed) > 500
    assert {verdict(machine, number) for number in unnamed} == {EPERM}


@pytest.mark.parametrize("machine", BOTH)
def test_a_call_of_another_architecture_ends_the_process(machine: str) -> None:
    assert verdict(machine, 0, audit=0x40000003) == KILL  # the 32-bit calls of an x86


def test_the_second_table_of_an_x86_ends_the_process() -> None:
    assert verdict("x86_64", 0x40000000 + X86.numbers["read"]) == KILL


NEVER = {
    "x86_64": "open 2, ioctl 16, mremap 25, clone 56, fork 57, vfork 58, execve 59, kill 62, "
    "ptrace 101, prctl 157, tgkill 234, openat 257, newfstatat 262, prlimit64 302, execveat 322, "
    "pkey_mprotect 329, io_uring_setup 425, clone3 435, memfd_create 319, sendfile 40, socket 41",
    "aarch64": "ioctl 29, openat 56, newfstatat 79, kill 129, tgkill 131, prctl 167, mremap 216, "
    "clone 220, execve 221, prlimit64 261, execveat 281, pkey_mprotect 288, socket 198, "
    "io_uring_setup 425, clone3 435, memfd_create 279, ptrace 117",
}


@pytest.mark.parametrize("machine", BOTH)
def test_no_file_is_opened_no_program_run_and_neither_process_nor_thread_made(machine: str) -> None:
    for word in NEVER[machine].split(", "):
        name, number = word.split()
        assert verdict(machine, int(number)) == EPERM, name


PRIVATE, ANONYMOUS, FIXED, STACK = 0x2, 0x20, 0x10, 0x20000


@pytest.mark.parametrize("machine", BOTH)
def test_memory_never_becomes_executable_not_even_from_a_file(machine: str) -> None:
    for flags in (PRIVATE, PRIVATE | ANONYMOUS, PRIVATE | FIXED):
        assert call(machine, "mmap", 0, 4096, 0b011, flags) == ALLOW
        for protection in (0b100, 0b101, 0b111):
            assert call(machine, "mmap", 0, 4096, protection, flags) == EPERM
    assert call(machine, "mprotect", 0, 4096, 0b011) == ALLOW
    for protection in (0b100, 0b101, 0b111, 0x01000004):
        assert call(machine, "mprotect", 0, 4096, protection) == EPERM


SHARED, SHARED_VALIDATE, GROWS_DOWN, LOCKED, POPULATE, HUGE = 1, 3, 0x100, 0x2000, 0x8000, 0x40000


@pytest.mark.parametrize("machine", BOTH)
def test_memory_that_the_limit_on_data_does_not_count_is_refused(machine: str) -> None:
    assert call(machine, "mmap", 0, 4096, 3, PRIVATE | ANONYMOUS | STACK) == ALLOW
    for kind in (SHARED, SHARED_VALIDATE):
        assert call(machine, "mmap", 0, 4096, 3, ANONYMOUS | kind) == EPERM
    for extra in (GROWS_DOWN, LOCKED, POPULATE, HUGE):
        assert call(machine, "mmap", 0, 4096, 3, PRIVATE | ANONYMOUS | extra) == EPERM


def test_a_program_of_32_bits_has_no_filter() -> None:
    """It would be for the wrong table of calls, and end the worker at its first."""
    assert worker_filter("aarch64", pointer_bytes=4) == b""


def test_a_machine_that_is_not_known_has_no_filter() -> None:
    assert worker_filter("riscv64") == b""
    assert worker_filter("AMD64") == worker_filter("x86_64") != b""

"""The seccomp filter, run by a small interpreter of classic BPF as the kernel would run it."""

import struct
from itertools import count

import pytest

from modules.sandbox.walls.seccomp import ARCHITECTURES, worker_filter

ALLOW = 0x7FFF0000
KILL = 0x80000000
EPERM = 0x00050001
ENOSYS = 0x00050026

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
def test_an_interpreter_may_read_write_map_and_end(machine: str) -> None:
    for name in ("read", "write", "munmap", "futex", "clock_gettime", "exit_group", "execve"):
        assert call(machine, name, 1, 2, 3) == ALLOW, name


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


@pytest.mark.parametrize("machine", BOTH)
def test_files_are_opened_for_reading_only(machine: str) -> None:
    cloexec = 0o2000000
    assert call(machine, "openat", 0, 0, cloexec) == ALLOW
    for flags in (0o1, 0o2, 0o100, 0o1000, 0o20000000, 0o102):
        assert call(machine, "openat", 0, 0, flags | cloexec) == EPERM, oct(flags)


@pytest.mark.parametrize("machine", BOTH)
def test_memory_is_made_executable_only_from_a_file_and_without_writing(machine: str) -> None:
    private, anonymous = 0x2, 0x22
    assert call(machine, "mmap", 0, 4096, 0b011, anonymous) == ALLOW
    assert call(machine, "mmap", 0, 4096, 0b101, private) == ALLOW
    assert call(machine, "mmap", 0, 4096, 0b101, anonymous) == EPERM
    assert call(machine, "mmap", 0, 4096, 0b111, private) == EPERM
    assert call(machine, "mprotect", 0, 4096, 0b011) == ALLOW
    assert call(machine, "mprotect", 0, 4096, 0b101) == EPERM


@pytest.mark.parametrize("machine", BOTH)
def test_threads_may_be_made_and_processes_not(machine: str) -> None:
    assert call(machine, "clone", 0x3D0F00) == ALLOW  # as glibc makes a thread
    for flags in (17, 0x4111, 0x100 | 17, 0x10000000 | 17):
        assert call(machine, "clone", flags) == EPERM, hex(flags)
    assert call(machine, "clone3") == ENOSYS


@pytest.mark.parametrize("machine", BOTH)
def test_limits_are_read_but_not_set(machine: str) -> None:
    assert call(machine, "prlimit64", 0, 3, 0) == ALLOW
    assert call(machine, "prlimit64", 0, 3, 0x7FFF00001000) == EPERM
    assert call(machine, "prlimit64", 0, 3, 0x100000000) == EPERM  # only the upper half is set
    assert call(machine, "prlimit64", 1234, 3, 0) == EPERM


def test_a_program_of_32_bits_has_no_filter() -> None:
    """It would be for the wrong table of calls, and end the worker at its first."""
    assert worker_filter("aarch64", pointer_bytes=4) == b""


def test_a_machine_that_is_not_known_has_no_filter() -> None:
    assert worker_filter("riscv64") == b""
    assert worker_filter("AMD64") == worker_filter("x86_64") != b""

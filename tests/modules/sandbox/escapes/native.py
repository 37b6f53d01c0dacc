"""The second table: what machine code in a worker could ask of the kernel, by raw system calls.

For x86-64 only, because the calls are made by number (the kernel's `syscall_64.tbl`, and
`syscall_32.tbl` where a source says so). What leaves no trace outside is claimed: `process` for
everything that a process which only computes has no need of.
An attempt may also harm: end or change the stand-in for the host, spoil the secret file.
"""

import re

from tests.modules.sandbox.escapes.attempt import Attempt, Proof, as_proof
from tests.modules.sandbox.escapes.native_sources import NATIVE_SOURCES

HELD_BY_SECCOMP: frozenset[Proof] = frozenset({"socket", "process"})
"""What seccomp must hold alone, besides all harm; it lets files be opened for reading."""

HELD_BY_LANDLOCK: frozenset[Proof] = frozenset({"file", "environment"})
"""What Landlock must hold alone; it knows nothing of processes, and of sockets only TCP."""

_PROLOGUE = """
import ctypes
import os
import struct
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
libc.mmap.restype = ctypes.c_void_p
def call(number, *given):
    words = [g if isinstance(g, (bytes, ctypes.Array)) else ctypes.c_long(g) for g in given]
    result = libc.syscall(ctypes.c_long(number), *words)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
def text(descriptor):
    kept = ctypes.create_string_buffer(4096)
    length = call(0, descriptor, kept, 4096)
    return kept.raw[:length].decode('latin-1')
def iovec(*buffers):
    return b''.join(struct.pack('QQ', ctypes.addressof(b), len(b)) for b in buffers)
def address_of(port):
    return struct.pack('<H', 2) + struct.pack('>H', port) + bytes([127, 0, 0, 1]) + bytes(8)
def open_32(protection_later=None):
    low = 0x40
    size, private = 4096, 0x22
    if protection_later is None:
        page = libc.mmap(None, size, 7, private | low, -1, ctypes.c_long(0))
    else:
        page = libc.mmap(None, size, 3, private | low, -1, ctypes.c_long(0))
    if page in (None, 2**64 - 1):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    path = page + 2048
    ctypes.memmove(path, b'@FILE@\\0', len(b'@FILE@') + 1)
    code = (b'\\x53\\xb8\\x05\\0\\0\\0\\xbb' + struct.pack('<I', path)
            + b'\\x31\\xc9\\x31\\xd2\\xcd\\x80\\x5b\\xc3')
    ctypes.memmove(page, code, len(code))
    if protection_later is not None:
        call(10, page, size, protection_later)
    return ctypes.CFUNCTYPE(ctypes.c_int)(page)()
"""

_HEADER = re.compile(r"^#: (\w+) \| (.+)\n", re.MULTILINE)


def _attempts(text: str) -> tuple[Attempt, ...]:
    _, *fields = _HEADER.split(text)
    triples = zip(fields[::3], fields[1::3], fields[2::3], strict=True)
    return tuple(
        Attempt("system calls", name, as_proof(proof), f"{_PROLOGUE}\ndef solve():\n{_body(body)}")
        for proof, name, body in triples
    )


def _body(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.strip().splitlines())


NATIVE_ATTEMPTS: tuple[Attempt, ...] = _attempts(NATIVE_SOURCES)
"""Every attempt; the sources are bodies of `solve` below the same beginning."""

TAKEOVER_IN_C = r"""
/* All four proofs with raw system calls, in place of the worker: argv gives file, variable, port,
   marker and the host's pid. What it finds it writes to standard output. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void show(const char *path) {
    char kept[4096];
    long file = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY);
    long length = file < 0 ? 0 : syscall(SYS_read, file, kept, sizeof kept);
    if (length > 0) syscall(SYS_write, 1, kept, length);
}

int main(int count, char **words) {
    if (count != 6) return 2;
    char *const shell[] = {"sh", "-c", NULL, NULL};
    char command[4096], path[64];
    const char *secret = getenv(words[2]);
    syscall(SYS_write, 1, "started\n", 8);
    show(words[1]);
    if (secret) syscall(SYS_write, 1, secret, strlen(secret));
    show("/proc/self/environ");
    snprintf(path, sizeof path, "/proc/%s/environ", words[5]);
    show(path);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(atoi(words[3]))};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    long tcp = syscall(SYS_socket, AF_INET, SOCK_STREAM, 0);
    if (tcp >= 0) syscall(SYS_connect, tcp, &to, sizeof to);
    snprintf(command, sizeof command, "touch '%s'", words[4]);
    memcpy((void *)&shell[2], &(char *){command}, sizeof(char *));
    pid_t child = fork();
    if (child <= 0) {
        syscall(SYS_execve, "/bin/sh", shell, NULL);
        if (child == 0) _exit(1);
    } else {
        waitpid(child, NULL, 0);
    }
    syscall(SYS_write, 1, "ended\n", 6);
    return 0;
}
"""
"""A C program that needs nothing but the C library."""

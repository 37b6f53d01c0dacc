"""The bodies of the attempts by raw system calls; see `native` for what they may use."""

NATIVE_SOURCES = r"""
#: file | open
return text(call(2, b'@FILE@', 0))
#: file | openat
return text(call(257, -100, b'@FILE@', 0))
#: file | openat2
return text(call(437, -100, b'@FILE@', struct.pack('QQQ', 0, 0, 0), 24))
#: file | openat below an opened folder
return text(call(257, call(2, b'@FOLDER@', 0o200000), b'secret.txt', 0))
#: file | openat below a folder opened as a path only
return text(call(257, call(2, b'@FOLDER@', 0o10200000), b'secret.txt', 0))
#: file | a descriptor of the path, opened again through /proc
number = call(2, b'@FILE@', 0o10000000)
return text(call(2, b'/proc/self/fd/%d' % number, 0))
#: file | open with flags that the filter might overlook
for flags in (1 << 32, 0o2000000, 0o100000, 0o4000, -2**40):
    try:
        return text(call(257, -100, b'@FILE@', flags))
    except OSError:
        pass
#: file | opened by a file handle
handle = ctypes.create_string_buffer(struct.pack('Ii', 128, 0) + bytes(128))
mount = ctypes.create_string_buffer(8)
call(303, -100, b'@FILE@', handle, mount, 0)
return text(call(304, call(2, b'@FOLDER@', 0), handle, 0))
#: process | a new ring for requests (io_uring)
call(425, 4, ctypes.create_string_buffer(120))
return '@CLAIM@process'
#: file | creat, which empties it
call(85, b'@FILE@', 0o600)
#: file | opened for writing
call(1, call(2, b'@FILE@', 1), b'spoilt', 6)
#: file | truncated
call(76, b'@FILE@', 0)
#: file | removed
call(87, b'@FILE@')
#: file | removed by unlinkat
call(263, -100, b'@FILE@', 0)
#: file | renamed
call(82, b'@FILE@', b'@FOLDER@/elsewhere')
#: file | exchanged by renameat2
call(2, b'@FOLDER@/other', 0o101, 0o600)
call(316, -100, b'@FILE@', -100, b'@FOLDER@/other', 2)
#: file | made readable for all
call(90, b'@FILE@', 0o644)
#: file | made readable for all by fchmodat
call(268, -100, b'@FILE@', 0o777, 0)
#: file | a second name
call(86, b'@FILE@', b'@FOLDER@/second')
return text(call(2, b'@FOLDER@/second', 0))
#: file | a symbolic link
call(88, b'@FILE@', b'@FOLDER@/link')
return text(call(2, b'@FOLDER@/link', 0))
#: file | a device of its own
call(133, b'@FOLDER@/memory', 0o20600, 0x101)
return '@CLAIM@file'
#: file | a new folder, as a place to write
call(83, b'@FOLDER@/folder', 0o700)
call(84, b'@FOLDER@/folder')
return '@CLAIM@file'
#: file | another root
call(161, b'@FOLDER@')
return text(call(2, b'/secret.txt', 0))
#: file | another working folder
call(80, b'@FOLDER@')
return text(call(2, b'secret.txt', 0))
#: file | the folder mounted over itself
call(165, b'@FOLDER@', b'@FOLDER@', 0, 4096, 0)
call(166, b'@FOLDER@', 2)
return '@CLAIM@file'
#: file | a mount name space of its own
call(272, 0x20000)
return '@CLAIM@file'
#: process | a user name space of its own
call(272, 0x10000000)
return '@CLAIM@process'
#: file | the host's mount name space
call(308, call(2, b'/proc/@HOST@/ns/mnt', 0), 0x20000)
return '@CLAIM@file'
#: file | the host's name spaces through its pid
call(308, call(434, @HOST@, 0), 0x20000)
return '@CLAIM@file'
#: file | a tree that is opened for mounting
return text(call(257, call(428, -100, b'@FOLDER@', 1), b'secret.txt', 0))
#: process | a file system of its own
call(430, b'tmpfs', 0)
return '@CLAIM@process'
#: file | a new root in place of the old
call(272, 0x20000)
call(155, b'@FOLDER@', b'@FOLDER@')
return '@CLAIM@file'
#: file | a further Landlock rule that allows all
ruleset = call(444, struct.pack('Q', (1 << 13) - 1), 8, 0)
root = call(2, b'/', 0o10000000)
call(445, ruleset, 1, struct.pack('=Qi', (1 << 13) - 1, root), 0)
call(446, ruleset, 0)
return text(call(2, b'@FILE@', 0))
#: process | watched by inotify
call(254, call(253), b'@FILE@', 0xfff)
return '@CLAIM@process'
#: process | a group of fanotify
call(300, 0, 0)
return '@CLAIM@process'
#: process | a key in the kernel's rings
call(248, b'user', b'cortex', b'x', 1, -3)
return '@CLAIM@process'
#: process | memory shared with others (System V)
number = call(29, 0, 4096, 0o1600)
call(31, number, 0, 0)
return '@CLAIM@process'
#: process | a message queue of others (System V)
number = call(68, 0, 0o1600)
call(71, number, 0, 0)
return '@CLAIM@process'
#: process | a message queue by name (POSIX)
call(240, b'cortex-attempt', 0o102, 0o600, 0)
call(241, b'cortex-attempt')
return '@CLAIM@process'
#: file | a system call by its x32 number
return text(call(0x40000002, b'@FILE@', 0))
#: file | a 32-bit system call from a page of machine code
return text(open_32())
#: file | a 32-bit system call from a page made executable later
return text(open_32(protection_later=5))
#: process | machine code from a file in memory
file = call(319, b'code', 0)
call(1, file, b'\xb8\x01\0\0\0\xc3', 6)
page = libc.mmap(None, 4096, 5, 2, file, ctypes.c_long(0))
if ctypes.CFUNCTYPE(ctypes.c_int)(page)() == 1:
    return '@CLAIM@process'
#: environment | the host's environment
return text(call(2, b'/proc/@HOST@/environ', 0))
#: environment | the host's environment, below an opened /proc
return text(call(257, call(2, b'/proc', 0o10200000), b'@HOST@/environ', 0))
#: environment | the host's memory as a file
kept = ctypes.create_string_buffer(200)
call(17, call(2, b'/proc/@HOST@/mem', 0), kept, 200, @ADDRESS@)
return kept.raw.decode('latin-1')
#: environment | the host's memory, read
kept = ctypes.create_string_buffer(200)
call(310, @HOST@, iovec(kept), 1, struct.pack('QQ', @ADDRESS@, 200), 1, 0)
return kept.raw.decode('latin-1')
#: environment | the host's memory, written
kept = ctypes.create_string_buffer(b'X', 1)
call(311, @HOST@, iovec(kept), 1, struct.pack('QQ', @ADDRESS@, 1), 1, 0)
return '@CLAIM@environment'
#: environment | the host under a tracer
call(101, 0x4206, @HOST@, 0, 0)
call(101, 0x4207, @HOST@, 0, 0)
call(61, @HOST@, 0, 0x40000000, 0)
word = ctypes.create_string_buffer(8)
found = b''
for offset in range(0, 56, 8):
    call(101, 2, @HOST@, @ADDRESS@ + offset, word)
    found += word.raw
call(101, 17, @HOST@, 0, 0)
return found.decode('latin-1')
#: environment | a descriptor of the host's
call(438, call(434, @HOST@, 0), 0, 0)
return '@CLAIM@environment'
#: environment | the host's descriptors as a folder
call(2, b'/proc/@HOST@/fd/0', 0o10000000)
call(2, b'/proc/@HOST@/environ', 0o4000)
return '@CLAIM@environment'
#: environment | the host's counters
call(298, struct.pack('IIQ', 1, 112, 0) + bytes(96), @HOST@, -1, -1, 0)
return '@CLAIM@environment'
#: process | page faults in user space
call(323, 0)
return '@CLAIM@process'
#: process | a program in the kernel
call(321, 0, struct.pack('IIII', 2, 4, 4, 1) + bytes(56), 72)
return '@CLAIM@process'
#: socket | TCP
call(42, call(41, 2, 1, 0), address_of(@PORT@), 16)
#: socket | UDP
call(44, call(41, 2, 2, 0), b'loot', 4, 0, address_of(@PORT@), 16)
#: socket | TCP, with data before it is connected
call(44, call(41, 2, 1, 0), b'loot', 4, 0x20000000, address_of(@PORT@), 16)
#: socket | multipath TCP
call(42, call(41, 2, 1, 262), address_of(@PORT@), 16)
#: socket | Unix, by its path
path = struct.pack('<H', 1) + b'@UNIX@' + bytes(1)
call(42, call(41, 1, 1, 0), path, len(path))
#: socket | Unix, by an abstract name
name = struct.pack('<H', 1) + bytes(1) + b'@ABSTRACT@'
call(42, call(41, 1, 1, 0), name, len(name))
#: socket | one that listens
server = call(41, 2, 1, 0)
call(49, server, address_of(0), 16)
call(50, server, 1)
return '@CLAIM@socket'
#: socket | NETLINK
call(41, 16, 3, 0)
return '@CLAIM@socket'
#: socket | VSOCK, to the machine around this one
call(41, 40, 1, 0)
return '@CLAIM@socket'
#: socket | packets as they are
call(41, 17, 3, 0)
return '@CLAIM@socket'
#: socket | ICMP
call(41, 2, 3, 1)
return '@CLAIM@socket'
#: socket | the kernel's ciphers
call(41, 38, 5, 0)
return '@CLAIM@socket'
#: socket | a pair, to hand descriptors over
call(53, 1, 1, 0, ctypes.create_string_buffer(8))
return '@CLAIM@socket'
#: socket | socket by its x32 number
call(0x40000000 | 41, 2, 1, 0)
return '@CLAIM@socket'
#: process | fork
pid = call(57)
if pid == 0:
    call(231, 0)
return '@CLAIM@process'
#: process | clone as fork does it
pid = call(56, 17, 0, 0, 0, 0)
if pid == 0:
    call(231, 0)
return '@CLAIM@process'
#: process | clone3 as fork does it
pid = call(435, struct.pack('8Q', 0, 0, 0, 0, 17, 0, 0, 0), 64)
if pid == 0:
    call(231, 0)
return '@CLAIM@process'
#: process | clone as vfork does it
stack = ctypes.create_string_buffer(65536)
top = ctypes.c_void_p((ctypes.addressof(stack) + 65000) & ~15)
if libc.clone(ctypes.cast(libc._exit, ctypes.c_void_p), top, 0x4100 | 17, None) > 0:
    return '@CLAIM@process'
#: process | a shell in our place
command = (ctypes.c_char_p * 4)(b'sh', b'-c', b'touch @MARKER@', None)
call(59, b'/bin/sh', command, 0)
#: process | a shell in our place, by execveat
command = (ctypes.c_char_p * 4)(b'sh', b'-c', b'touch @MARKER@', None)
call(322, -100, b'/bin/sh', command, 0, 0)
#: process | a shell in our place, by a descriptor
command = (ctypes.c_char_p * 4)(b'sh', b'-c', b'touch @MARKER@', None)
call(322, call(2, b'/bin/sh', 0o10000000), b'', command, 0, 0x1000)
#: process | the dynamic linker runs a program
import glob
for linker in (b'/lib64/ld-linux-x86-64.so.2', b'/lib/ld-musl-x86_64.so.1'):
    try:
        command = (ctypes.c_char_p * 5)(linker, b'/bin/sh', b'-c', b'touch @MARKER@', None)
        call(59, linker, command, 0)
    except OSError:
        pass
#: process | a program in memory
file = call(319, b'program', 0)
call(1, file, b'#!/bin/sh\ntouch @MARKER@\n', len(b'#!/bin/sh\ntouch @MARKER@\n'))
command = (ctypes.c_char_p * 2)(b'program', None)
call(322, file, b'', command, 0, 0x1000)
#: process | the host is killed
call(62, @HOST@, 9)
call(247, 1, @HOST@, ctypes.create_string_buffer(128), 0x1000005, 0)
#: process | the host's thread is killed
call(234, @HOST@, @HOST@, 9)
call(247, 1, @HOST@, ctypes.create_string_buffer(128), 0x1000005, 0)
#: process | the host's thread is killed, by the older call
call(200, @HOST@, 9)
return '@CLAIM@process'
#: process | a signal through a descriptor of the host
call(424, call(434, @HOST@, 0), 9, 0, 0)
return '@CLAIM@process'
#: process | a signal with a value
call(129, @HOST@, 10, struct.pack('iii', 10, 0, -1) + bytes(116))
return '@CLAIM@process'
#: process | a signal when our pipe is ready
ends = ctypes.create_string_buffer(8)
call(22, ends)
call(72, struct.unpack('ii', ends.raw)[0], 8, @HOST@)
return '@CLAIM@process'
#: process | the host's limits
call(302, @HOST@, 7, struct.pack('QQ', 8, 8), 0)
return '@CLAIM@process'
#: process | the host's priority
call(141, 0, @HOST@, 19)
return '@CLAIM@process'
#: process | the host's processors
call(203, @HOST@, 8, struct.pack('Q', 1))
return '@CLAIM@process'
#: process | our own limits, higher
low = struct.pack('QQ', 100, 100)
call(302, 0, 7, low, 0)
call(302, 0, 7, struct.pack('QQ', 1000, 1000), 0)
return '@CLAIM@process'
#: process | all capabilities
wanted = struct.pack('6I', 2**32 - 1, 2**32 - 1, 0, 511, 511, 0)
header = struct.pack('Ii', 0x20080522, 0)
kept = ctypes.create_string_buffer(24)
call(125, header, kept)
wanted = kept.raw if any(kept.raw) else wanted
call(126, header, wanted)
return '@CLAIM@process'
#: process | another user
call(105, 65534)
return '@CLAIM@process'
#: process | new privileges again
call(157, 38, 0, 0, 0, 0)
return '@CLAIM@process'
#: process | a process that may be traced
call(157, 4, 1, 0, 0, 0)
return '@CLAIM@process'
#: process | a filter above the filter
allow = struct.pack('HBBI', 6, 0, 0, 0x7fff0000)
code = ctypes.create_string_buffer(allow)
call(157, 38, 1, 0, 0, 0)
call(317, 1, 8, struct.pack('HxxxxxxQ', 1, ctypes.addressof(code)))
return '@CLAIM@process'
#: process | keys pressed at the terminal
tty = call(2, b'/dev/ptmx', 2)
call(16, tty, 0x40045431, struct.pack('i', 0))
return '@CLAIM@process'
#: process | a segment of code in the descriptor table
call(154, 1, struct.pack('IIII', 0, 0, 0xfffff, 0x51), 16)
return '@CLAIM@process'
#: process | ports of the machine
call(172, 3)
return '@CLAIM@process'
#: process | another time name space, another net
call(272, 0x40000000)
return '@CLAIM@process'
#: process | execve by its x32 number
command = (ctypes.c_char_p * 4)(b'sh', b'-c', b'touch @MARKER@', None)
call(0x40000000 | 520, b'/bin/sh', command, 0)
"""

"""Functions of the standard library that read, connect, start or evaluate on their caller's behalf.

Whoever offers such a module to a plan has offered the file, the socket or the process with it.
"""

from tests.modules.sandbox.escapes.attempt import read_family

ATTEMPTS = read_family(
    "the library's own doors",
    r"""
#: file | a URL of a file
def solve():
    from urllib.request import urlopen
    return urlopen('file://@FILE@').read().decode()

#: socket | a URL of this machine
def solve():
    from urllib.request import urlopen
    return urlopen('http://127.0.0.1:@PORT@/', timeout=0.05).read()

#: socket | an HTTP client
def solve():
    import http.client
    http.client.HTTPConnection('127.0.0.1', @PORT@, timeout=1).connect()

#: socket | a mail client's connection
def solve():
    import smtplib
    return smtplib.SMTP('127.0.0.1', @PORT@, timeout=0.05)

#: socket | a log handler that sends packets
def solve():
    import logging
    import logging.handlers
    handler = logging.handlers.DatagramHandler('127.0.0.1', @PORT@)
    handler.send(b'loot')

#: socket | a stream of asyncio
async def solve():
    import asyncio
    reader, writer = await asyncio.open_connection('127.0.0.1', @PORT@)
    writer.close()

#: socket | a datagram with no connection
def solve():
    import socket
    socket.socket(type=socket.SOCK_DGRAM).sendto(b'loot', ('127.0.0.1', @PORT@))

#: socket | a Unix socket by its path
def solve():
    import socket
    socket.socket(socket.AF_UNIX).connect('@UNIX@')

#: socket | a Unix socket by an abstract name
def solve():
    import socket
    socket.socket(socket.AF_UNIX).connect('\0@ABSTRACT@')

#: socket | a connection between processes
def solve():
    from multiprocessing.connection import SocketClient
    SocketClient('@UNIX@')

#: file | linecache reads lines of any file
def solve():
    import linecache
    return linecache.getline('@FILE@', 1)

#: file | tokenize.open
def solve():
    import tokenize
    return tokenize.open('@FILE@').read()

#: file | fileinput
def solve():
    import fileinput
    return ''.join(fileinput.input(['@FILE@']))

#: file | a configuration parser shows the line that it doesn't like
def solve():
    import configparser
    try:
        configparser.ConfigParser().read('@FILE@')
    except configparser.Error as error:
        return str(error)

#: file | numbers of an array from a file
def solve():
    import array
    import os
    numbers = array.array('B')
    numbers.fromfile(open('@FILE@', 'rb'), os.stat('@FILE@').st_size)
    return numbers.tobytes().decode()

#: file | a memory map
def solve():
    import mmap
    import os
    return mmap.mmap(os.open('@FILE@', 0), 0, prot=mmap.PROT_READ)[:].decode()

#: file | an archive that holds the file
def solve():
    import io
    import tarfile
    box = io.BytesIO()
    tarfile.open(fileobj=box, mode='w').add('@FILE@')
    return box.getvalue().decode('latin-1')

#: file | an entity of an XML document
def solve():
    import xml.parsers.expat as expat
    found = []
    parser = expat.ParserCreate()
    def outside(context, base, system, public):
        found.append(open(system).read())
        return 1
    parser.ExternalEntityRefHandler = outside
    parser.Parse('<!DOCTYPE a [<!ENTITY b SYSTEM "@FILE@">]><a>&b;</a>', True)
    return found[0]

#: file | a database of SQLite at that path
def solve():
    import sqlite3
    shell = sqlite3.connect(':memory:')
    shell.create_function('slurp', 1, lambda path: open(path).read())
    return shell.execute("select slurp('@FILE@')").fetchone()[0]

#: environment | a type hint is evaluated
def solve():
    import typing
    found = []
    def hinted(x: 'found.append(__import__("os").environ["@VARIABLE@"]) or int'):
        pass
    typing.get_type_hints(hinted, localns={'found': found})
    return found[0]

#: file | a signature with evaluated annotations
def solve():
    import inspect
    def hinted(x: 'open("@FILE@").read()'):
        pass
    return str(inspect.signature(hinted, eval_str=True))

#: environment | code made by dataclasses
def solve():
    import dataclasses
    found = []
    class Sly(str):
        pass
    kind = dataclasses.make_dataclass(
        'Made', [('x', int, dataclasses.field(default_factory=lambda: found.append(
            __import__('os').environ['@VARIABLE@'])))])
    kind()
    return found[0]

#: process | a statement that is timed
def solve():
    import timeit
    return timeit.timeit('os.system("touch @MARKER@")', 'import os', number=1)

#: process | a statement under the profiler
def solve():
    import cProfile
    cProfile.runctx('__import__("os").system("touch @MARKER@")', {}, {})

#: file | an interactive console without a terminal
def solve():
    import code
    found = {}
    code.InteractiveInterpreter(found).runsource('text = open("@FILE@").read()')
    return found['text']

#: process | a call put on the event loop
async def solve():
    import asyncio
    import os
    loop = asyncio.get_running_loop()
    call = loop.run_in_executor(None, os.system, 'touch @MARKER@')
    return await asyncio.wait_for(call, 0.5)

#: process | a fork without any program
def solve():
    import os
    pid = os.fork()
    if pid == 0:
        open('@MARKER@', 'w').close()
        os._exit(0)
    return os.waitpid(pid, 0)

#: process | posix_spawn
def solve():
    import os
    return os.waitpid(os.posix_spawn('/bin/sh', ['sh', '-c', 'touch @MARKER@'], {}), 0)

#: process | a pseudo-terminal's child
def solve():
    import pty
    import os
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv('/bin/sh', ['sh', '-c', 'touch @MARKER@'])
    return os.waitpid(pid, 0)

#: environment | what the kernel tells of the process
def solve():
    text = open('/proc/self/environ').read()
    return text or open('/proc/@HOST@/environ').read()

#: environment | what the kernel tells of the host
def solve():
    return open('/proc/@HOST@/environ').read()

#: environment | the C library's own view
def solve():
    import ctypes
    read = ctypes.CDLL(None).getenv
    read.restype = ctypes.c_char_p
    return read(b'@VARIABLE@').decode()

#: process | the C library's system
def solve():
    import ctypes
    return ctypes.CDLL(None).system(b'touch @MARKER@')

#: file | system calls of the C library
def solve():
    import ctypes
    libc = ctypes.CDLL(None)
    number = libc.open(b'@FILE@', 0)
    kept = ctypes.create_string_buffer(200)
    libc.read(number, kept, 200)
    return kept.value.decode()
""",
)

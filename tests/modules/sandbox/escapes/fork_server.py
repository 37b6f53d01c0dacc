"""Runs attempts with plain `exec`, each in a forked process that may stand behind the second wall.

    python -m tests.modules.sandbox.escapes.fork_server [POLICY]

A line of JSON for each attempt on standard input, see `_Request`; a line with its output on
standard output: `{"output": …}`, or `{"error": …}` if it could not be run. A process that is
assumed to be fully taken over has everything useful imported when the wall goes up, so that each
attempt gets as far as the wall.
"""

import asyncio
import contextlib
import ctypes
import gc
import importlib
import io
import json
import os
import selectors
import signal
import sys
import time
import traceback
import types
import warnings
from collections.abc import Sequence
from typing import TypedDict

from config.schema import WALL_NAMES
from modules.sandbox.walls import wall
from modules.sandbox.walls.wall import Policy

ATTEMPT_SECONDS = 5.0
"""Bound on one attempt; far more than any needs."""

OUTPUT_BYTES_MAX = 64 * 1024 * 1024

BEGUN = "begun\n"
"""Comes before an attempt's output: its text is Python and the walls are up."""

BROKEN = "\0broken\0"
"""Comes before the traceback of an error in the running itself."""

AT_HAND = """
array ast asyncio.subprocess base64 bisect builtins cProfile calendar code codecs collections.abc
configparser contextlib copy copyreg csv ctypes.util dataclasses datetime decimal encodings.idna
encodings.latin_1 encodings.raw_unicode_escape encodings.rot_13 encodings.unicode_escape
encodings.utf_7 enum fileinput fractions functools gc hashlib heapq http.client importlib.machinery
importlib.util inspect itertools linecache locale logging.config logging.handlers marshal math
mimetypes mmap multiprocessing.connection multiprocessing.reduction numbers operator pickle pkgutil
posix pprint pstats pty pydoc queue random re runpy shelve shutil signal smtplib socket sqlite3
statistics string subprocess tarfile tempfile threading timeit tokenize traceback typing unicodedata
urllib.request weakref webbrowser xml.parsers.expat zipfile _socket _strptime
"""
"""Modules that a taken-over worker has loaded already."""


class _Request(TypedDict):
    """A plan, the parts of the wall to run it behind, and what to add to its environment."""

    source: str
    walls: list[str]
    environment: dict[str, str]


def main(words: Sequence[str]) -> None:
    """Answer until standard input ends."""
    policy = Policy(words[0]) if words else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in AT_HAND.split():
            importlib.import_module(name)
    gc.disable()
    gc.freeze()
    for line in sys.stdin:
        told = _in_child(json.loads(line), policy)
        kind = "output" if told.startswith(BEGUN) and BROKEN not in told else "error"
        sys.stdout.write(json.dumps({kind: told.removeprefix(BEGUN)}) + "\n")
        sys.stdout.flush()


def _in_child(request: "_Request", policy: Policy | None) -> str:
    """`BEGUN` and what the attempt gave out, or why it wasn't begun; nothing of it is left."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            _attempt(request, policy, writing)
        except BaseException:  # noqa: BLE001 - told to whoever asked, through the pipe
            os.write(writing, (BROKEN + traceback.format_exc()).encode())
        finally:
            os._exit(0)
    os.close(writing)
    try:
        return _read(reading)
    finally:
        os.close(reading)
        for end in (os.kill, os.killpg):  # the group isn't there yet, or was left: hence both
            with contextlib.suppress(ProcessLookupError, PermissionError):
                end(child, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(child, 0)


def _read(descriptor: int) -> str:
    pieces: list[bytes] = []
    end = time.monotonic() + ATTEMPT_SECONDS
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        while (left := end - time.monotonic()) > 0 and selector.select(left):
            piece = os.read(descriptor, 1 << 20)
            if not piece:
                return b"".join(pieces).decode(errors="replace")
            pieces.append(piece)
    return b"".join(pieces).decode(errors="replace") + "\n(took too long)"


def _attempt(request: "_Request", policy: Policy | None, writing: int) -> None:
    """In the child: put the walls up, run, and write what comes out."""
    source, walls = request["source"], frozenset(request["walls"])
    os.environ.update(request["environment"])
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.close(null)
    sys.stdin = io.StringIO()
    sys.stdout = sys.stderr = printed = io.StringIO()
    loop = asyncio.SelectorEventLoop(selectors.PollSelector()) if "async def" in source else None
    code = compile(source, "<plan>", "exec", dont_inherit=True)
    warnings.simplefilter("ignore")
    os.set_inheritable(writing, True)  # so that a program in our place is waited for
    if walls and policy is not None:
        _put_up(walls, policy)
    os.write(writing, BEGUN.encode())
    shown = _shown(code, loop)
    text = (printed.getvalue() + "\n" + shown).encode(errors="replace")
    view = memoryview(text)[:OUTPUT_BYTES_MAX]
    while view:
        view = view[os.write(writing, view) :]


def _put_up(walls: frozenset[str], policy: Policy) -> None:
    """These parts of the second wall; raises if one can't be put up."""
    if walls == frozenset(WALL_NAMES):
        put_up = wall.put_up(policy, lambda: None)
        missing = {name: why for name, why in put_up.items() if why}
        if missing:
            raise OSError(f"the wall is not whole: {missing}")
        return
    libc = ctypes.CDLL(None, use_errno=True)
    if "rlimits" in walls:
        wall.limit_resources(policy.data_bytes, policy.cpu_seconds)
    if "no_new_privs" in walls:
        wall.give_up_new_privileges(libc)
    if "landlock" in walls:
        wall.forbid_files(libc)
    if "no_new_privs" in walls:
        wall.give_up_capabilities(libc)
    if "seccomp" in walls:
        wall.seal_code(libc)
        wall.forbid_system_calls(libc, policy)


def _shown(code: types.CodeType, loop: asyncio.AbstractEventLoop | None) -> str:
    """The value as a host would write it, or the error with its text."""
    shown: list[str] = []
    try:
        module = types.ModuleType("plan")
        exec(code, module.__dict__)  # noqa: S102 - the point: what the walls must hold
        value: object = module.__dict__["solve"]()
        if asyncio.iscoroutine(value) and loop is not None:
            value = loop.run_until_complete(value)
        for show in (str, _as_json):
            try:
                shown.append(show(value))
            except Exception as error:  # noqa: BLE001 - the value is the attempt's, as is the error
                shown.append(repr(error))
    except BaseException as error:  # noqa: BLE001 - exits and interrupts are attempts too
        shown.append(_error_text(error))
    return "\n".join(shown)


def _as_json(value: object) -> str:
    return json.dumps(value, default=str)


def _error_text(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"
    except Exception as second:  # noqa: BLE001 - an attempt's own class may raise anything
        return repr(type(second))


if __name__ == "__main__":
    main(sys.argv[1:])

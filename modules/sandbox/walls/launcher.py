"""The second wall: workers are started by a launcher that leaves them nothing to gain (Linux).

The first wall is the interpreter. Should a plan break out of it, into machine code of its own in
the worker, then the kernel still knows no file, socket, process or signal for it: see
`modules.sandbox.walls.launcher_program`, which puts up each part as far as this kernel has it,
as root and as an ordinary user, in containers too. `examine_walls` tells what stands.
"""

import contextlib
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from math import ceil
from pathlib import Path

from config.schema import WALL_NAMES, WallName
from core.base.frozen import frozen
from core.errors import UserError
from modules.sandbox.limits import MIB, SandboxLimits
from modules.sandbox.walls.seccomp import worker_filter

PROGRAM = Path(__file__).with_name("launcher_program.py")

WORKER_OVERHEAD_BYTES = 512 * MIB
"""Address space of a worker beyond its plan's memory: program, stacks, what malloc reserves."""

PLANS_PER_WORKER = 200
"""Plans that one worker serves before another takes its place."""

CPU_GRACE_SECONDS = 2
"""How far the kernel's limit on CPU time lies beyond the interpreter's own, which says more."""

REPORT_SECONDS = 10.0
"""Bound on a launcher that reports, and on the linker that lists libraries; 30 ms is usual."""

MFD_EXEC = 0x10
"""Asked for since Linux 6.3, where a file in memory may be run only if made so."""

ADVICE: dict[WallName, str] = {
    "rlimits": "see `ulimit -a`",
    "no_new_privs": "the kernel should be Linux 3.5 or newer",
    "landlock": "needs Linux 5.13 or newer with landlock in its lsm= list",
    "seccomp": "needs Linux with seccomp filters, on x86-64 or 64-bit ARM",
}
"""What a user can do about a part that is missing."""


@frozen
class Wall:
    """One part of the second wall, whether it stands here, and why not; `detail` may be empty."""

    name: WallName
    stands: bool
    detail: str


class NoLauncher(Exception):
    """Workers can't be started through a launcher here; the text says why."""


class Launcher:
    """A program that becomes the worker behind the wall. It lies in memory, and ends with us."""

    def __init__(
        self,
        worker: Path,
        limits: SandboxLimits,
        require: Collection[WallName] = (),
        python: str = sys.executable,
    ) -> None:
        """Prepare to start `worker`, not without the parts that `require` names.

        Takes some milliseconds: the linker is asked what the worker needs. `python` runs the
        launcher's program.

        Raises:
            NoLauncher: this system has no second wall.
        """
        if sys.platform != "linux":
            raise NoLauncher(f"there is no second wall on {sys.platform}")
        if not python:  # as where Python is part of another program
            raise NoLauncher("the Python that runs us is not known")
        words = [*policy_words(worker, limits), *_pairs("require", require)]
        self._command = [python, "-I", "-S", str(PROGRAM), *words]
        self._worker = worker
        self._file: int | None = None

    @property
    def path(self) -> Path:
        """What to run in place of the worker, with its arguments.

        A script in a memory file, because a pool takes one path and no arguments, and because
        that needs no folder in which programs may lie. The shell copes with any path to Python.

        Raises:
            NoLauncher: this system has no files in memory that can be run.
        """
        if self._file is None:
            script = f'#!/bin/sh\nexec {shlex.join([*self._command, "--", str(self._worker)])} "$@"'
            self._file = _memory_file(os.fsencode(f"{script}\n"))
        return Path("/proc", str(os.getpid()), "fd", str(self._file))

    def report(self) -> tuple[Wall, ...]:
        """Put up the wall as for a worker, but run none, and tell what stood.

        Raises:
            NoLauncher: the launcher itself doesn't run.
        """
        try:
            ran = subprocess.run(  # noqa: S603 - our own program
                [self.path, "--report"],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                env={},
                timeout=REPORT_SECONDS,
            )
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            raise NoLauncher(f"the launcher does not run: {error}") from error
        told = dict(line.split("\t", 1) for line in ran.stdout.splitlines() if "\t" in line)
        if ran.returncode != 0:
            raise NoLauncher(f"the launcher failed with status {ran.returncode}")
        return tuple(
            Wall(name, told.get(name) == "", told.get(name, "it was not put up"))
            for name in WALL_NAMES
        )

    def close(self) -> None:
        """Remove the program; workers that run are not concerned. Safe to call twice."""
        file, self._file = self._file, None
        if file is not None:
            os.close(file)


def examine_walls(limits: SandboxLimits) -> tuple[Wall, ...]:
    """Every part of the second wall and whether it stands here; blocks for about 30 ms."""
    try:
        with contextlib.closing(Launcher(find_worker(), limits)) as launcher:
            return launcher.report()
    except NoLauncher as reason:
        return tuple(Wall(name, stands=False, detail=str(reason)) for name in WALL_NAMES)


def require_walls(
    require: Collection[WallName],
    limits: SandboxLimits,
    examine: Callable[[SandboxLimits], tuple[Wall, ...]] = examine_walls,
) -> None:
    """See to it that these parts stand; blocks as long as `examine`, not at all if none is named.

    Raises:
        UserError: one doesn't; the text says which, why, and what can be done.
    """
    if not require:
        return
    missing = [w for w in examine(limits) if w.name in require and not w.stands]
    if missing:
        told = "; ".join(f"{wall.name}: {wall.detail} ({ADVICE[wall.name]})" for wall in missing)
        raise UserError(
            f"sandbox.require in the profile names what does not stand here: {told}. "
            "Run where it does, or take it out of sandbox.require"
        )


def find_worker() -> Path:
    """The interpreter's worker program, where its package puts it.

    Raises:
        NoLauncher: it is not there.
    """
    # The pool looks for it in the same way, and says nowhere else what it found. Late: 90 ms.
    from pydantic_monty._binary import find_monty_binary

    try:
        return Path(find_monty_binary()).resolve(strict=True)
    except OSError as error:
        raise NoLauncher(f"the worker program is missing: {error}") from error


def policy_words(worker: Path, limits: SandboxLimits) -> Iterator[str]:
    """What the launcher is told to allow, see `launcher_program.Policy.from_words`.

    Raises:
        NoLauncher: the worker can't be asked what it needs.
    """
    yield from ("memory", str(limits.memory_bytes + WORKER_OVERHEAD_BYTES))
    yield from ("cpu", str(PLANS_PER_WORKER * (ceil(limits.cpu_seconds) + CPU_GRACE_SECONDS)))
    yield from _pairs("run", (str(worker),))
    libraries = _libraries(worker)
    loaders = [path for path in libraries if Path(path).name.startswith("ld-")]
    yield from _pairs("run", loaders)
    yield from _pairs("read", sorted(set(libraries) - set(loaders)))
    if filter_program := worker_filter():
        yield from ("filter", filter_program.hex())


def _libraries(worker: Path) -> list[str]:
    """The files that the worker's dynamic linker loads, and its index of them.

    glibc's linker lists them instead of starting a program (`ld.so(8)`). The worker for musl is
    linked statically: it starts, tells its version, and needs no file.
    """
    try:
        listed = subprocess.run(  # noqa: S603 - the worker, which the linker doesn't start
            [worker, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env={"LD_TRACE_LOADED_OBJECTS": "1"},
            timeout=REPORT_SECONDS,
        ).stdout
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise NoLauncher(f"the worker does not start: {error}") from error
    words = (word for line in listed.splitlines() for word in line.split())
    found = {word for word in [*words, "/etc/ld.so.cache"] if word.startswith("/")}
    return sorted(word for word in found if Path(word).is_file())


def _pairs(key: str, values: Iterable[str]) -> Iterator[str]:
    for value in values:
        yield from (key, value)


def _memory_file(content: bytes) -> int:
    """A file in memory that can be run; other programs that we start don't inherit it."""
    with contextlib.ExitStack() as stack:
        try:
            try:
                file = os.memfd_create("cortex-r-launcher", os.MFD_CLOEXEC | MFD_EXEC)
            except OSError:  # an older kernel doesn't know the second flag
                file = os.memfd_create("cortex-r-launcher", os.MFD_CLOEXEC)
            stack.callback(os.close, file)
            while content:  # a bound of the system may cut it
                content = content[os.write(file, content) :]
            os.fchmod(file, 0o500)
        except (AttributeError, OSError) as error:
            raise NoLauncher(f"no program can be kept in memory: {error}") from error
        stack.pop_all()
        return file

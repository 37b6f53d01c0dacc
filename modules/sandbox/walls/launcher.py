"""The second wall: what a worker's process may do, and whether that holds here (Linux).

The first wall is WebAssembly. Should a plan break out of it, into machine code of its own in the
worker, then the kernel still knows no file, socket, process or signal for it:
`modules.sandbox.walls.wall`, which the worker puts up around itself. `examine_walls` tells what
stands.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Collection, Sequence
from math import ceil
from pathlib import Path

from config.schema import WALL_NAMES, WallName
from core.base.frozen import frozen
from core.errors import SandboxUnavailable, UserError
from modules.sandbox.component import Tell, compiled, discard, say_nothing, wasmtime_packages
from modules.sandbox.limits import MIB, SandboxLimits
from modules.sandbox.walls.seccomp import filter_call, worker_filter

PROGRAM = Path(__file__).parents[1] / "worker_program.py"

WORKER_OVERHEAD_BYTES = 256 * MIB
"""Memory of a worker beyond its plan's: Python, wasmtime, CPython as the component has it."""

PLANS_PER_WORKER = 200
"""Plans that one worker serves before another takes its place."""

CPU_GRACE_SECONDS = 2
"""How much more CPU time the kernel gives a worker than all its plans may take."""

REPORT_SECONDS = 20.0
"""Bound on a worker that reports; 0.1 s is usual."""

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


def worker_command(
    limits: SandboxLimits,
    require: Collection[WallName] = (),
    *,
    second_wall: bool = True,
    tell: Tell = say_nothing,
    python: str = sys.executable,
) -> list[str]:
    """How a worker is started; blocks for some seconds where its program must be compiled first.

    `tell` then says so.

    Raises:
        SandboxUnavailable: there is no such program here, and why.
    """
    if not python:  # as where Python is part of another program
        raise SandboxUnavailable("the sandbox needs the program that runs Python, which is unknown")
    policy = {
        "plan_bytes": limits.memory_bytes,
        "plan_seconds": limits.cpu_seconds,
        "printed_bytes": limits.printed_bytes,
        "data_bytes": limits.memory_bytes + WORKER_OVERHEAD_BYTES,
        "cpu_seconds": PLANS_PER_WORKER * (ceil(limits.cpu_seconds) + CPU_GRACE_SECONDS),
        "filter": worker_filter().hex(),
        "filter_call": filter_call(),
        "require": [*require],
        "wall": second_wall and sys.platform == "linux",
    }
    return [
        python,
        "-I",
        "-S",
        os.fspath(PROGRAM),
        os.fspath(wasmtime_packages()),
        os.fspath(compiled(tell=tell)),
        json.dumps(policy),
    ]


def discard_machine_code(command: Sequence[str]) -> None:
    """Have what a worker's command loads made anew, when such a command is next asked for."""
    discard(Path(command[-2]))


def examine_walls(limits: SandboxLimits) -> tuple[Wall, ...]:
    """Every part of the second wall and whether it stands here; blocks for about 0.1 s."""
    try:
        told = _report(limits)
    except (OSError, ValueError, subprocess.SubprocessError, SandboxUnavailable) as error:
        return tuple(Wall(name, stands=False, detail=str(error)) for name in WALL_NAMES)
    return tuple(
        Wall(name, told.get(name) == "", told.get(name, "it was not put up")) for name in WALL_NAMES
    )


def _report(limits: SandboxLimits) -> dict[str, str]:
    """What a worker says of each part: nothing where it stands, else why it doesn't."""
    if sys.platform != "linux":
        return dict.fromkeys(WALL_NAMES, f"there is no second wall on {sys.platform}")
    ran = subprocess.run(  # noqa: S603 - our own program
        [*worker_command(limits), "--report"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={},
        timeout=REPORT_SECONDS,
        check=True,
    )
    return dict(line.split("\t", 1) for line in ran.stdout.splitlines() if "\t" in line)


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

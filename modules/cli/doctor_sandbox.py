"""What `doctor` finds out about the sandbox: whether a plan runs, and which walls stand."""

import asyncio
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import fields
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from config.schema import WallName
from core.errors import CallRefused
from core.tools.catalog import ToolCatalog
from core.tools.content import ToolResult
from core.tools.spec import ToolSpec
from core.turn import PlanFailure
from core.values import JsonObject
from modules.cli.doctor_findings import Check, State
from modules.sandbox import Sandbox, SandboxLimits
from modules.sandbox.walls.launcher import ADVICE, Wall, examine_walls

Examine = Callable[[SandboxLimits], Sequence[Wall]]

TRIAL_SECONDS: Final = 20.0
"""Bound on starting the sandbox and running two plans; 0.1 s is usual."""

_TRIAL_PLAN: Final = "async def solve():\n    return 1\n"
_INTERPRETER: Final = "pydantic-monty"


def sandbox_checks(
    limits: SandboxLimits, require: Collection[WallName], examine: Examine = examine_walls
) -> Iterator[Check]:
    """The first wall, tried out with a plan under these limits, and the parts of the second.

    `examine` tells of the second. Blocks for some 100 ms, and needs a thread without a running
    event loop.
    """
    yield asyncio.run(_interpreter(limits))
    try:
        walls = examine(limits)
    except ImportError as error:  # an installation without its interpreter
        yield Check("sandbox", "second wall", "missing", f"can't be looked at: {error}")
        return
    # One reason for all, such as a system that has no such wall, is no part's own to mend.
    is_shared = len({(wall.stands, wall.detail) for wall in walls}) == 1
    for wall in walls:
        yield _wall(wall, is_required=wall.name in require, is_shared=is_shared)


def limits_check(limits: SandboxLimits) -> Check:
    """The bounds of one plan, each with its unit in its name."""
    told = ", ".join(f"{field.name} {getattr(limits, field.name):,}" for field in fields(limits))
    return Check("sandbox", "limits", "ok", told)


async def _interpreter(limits: SandboxLimits) -> Check:
    try:
        name = f"{_INTERPRETER} {version(_INTERPRETER)}"
    except PackageNotFoundError:
        advice = f"install {_INTERPRETER}, as the project's dependencies say"
        return Check("sandbox", "interpreter", "broken", f"{_INTERPRETER} is missing", advice)
    try:
        async with asyncio.timeout(TRIAL_SECONDS), Sandbox(limits) as sandbox:
            first_ms, failure = await _timed(sandbox)
            next_ms, _ = await _timed(sandbox)
    except TimeoutError:
        failure = PlanFailure("crash", f"no plan ran within {TRIAL_SECONDS:g} s")
        first_ms = next_ms = 0.0
    if failure is not None:
        advice = (
            "raise that limit under sandbox in the profile"
            if failure.kind == "limit"
            else f"no plan can run; reinstall {_INTERPRETER}"
        )
        return Check("sandbox", "interpreter", "broken", f"{name}: {failure}", advice)
    told = f"{name}, a plan runs: the first took {first_ms:.0f} ms, the next {next_ms:.1f} ms"
    return Check("sandbox", "interpreter", "ok", told)


async def _timed(sandbox: Sandbox) -> tuple[float, PlanFailure | None]:
    """Milliseconds that a plan takes that calls nothing, and why it failed, if so."""
    began = time.perf_counter()
    ran = await sandbox.run(_TRIAL_PLAN, ToolCatalog(()), _no_call)
    return (time.perf_counter() - began) * 1000, ran.failure


async def _no_call(tool: ToolSpec, arguments: JsonObject) -> ToolResult:
    raise CallRefused(f"{tool.name} is not on offer")


def _wall(wall: Wall, *, is_required: bool, is_shared: bool) -> Check:
    required = " (required by sandbox.require)" if is_required else ""
    if wall.stands:
        told = f"stands; {wall.detail}" if wall.detail else "stands"
        return Check("sandbox", wall.name, "ok", f"{told}{required}")
    state: State = "broken" if is_required else "missing"
    advice = "" if is_shared else ADVICE[wall.name]
    return Check("sandbox", wall.name, state, f"{wall.detail}{required}", advice)

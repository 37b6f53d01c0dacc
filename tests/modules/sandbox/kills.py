"""Plans in a row whose worker is killed now and then, at any moment: what is lost with it."""

import asyncio
import os
import signal
from dataclasses import dataclass
from random import Random

from core.tools.content import ToolResult
from core.tools.spec import ToolSpec
from core.values import JsonObject
from modules.sandbox import Sandbox, SandboxLimits
from tests.modules.sandbox.host_state import children
from tests.modules.sandbox.sandbox_tools import CATALOG, TEST_TIMEOUT_SECONDS, Tools, solve

EVERY = 50
"""Each of so many plans has its worker killed."""

WITHIN_SECONDS = 0.012
"""The longest from a plan's start to the kill: a plan here takes half of it, so some kills come
between plans."""

LIMITS = SandboxLimits(wall_seconds=TEST_TIMEOUT_SECONDS)


@dataclass(frozen=True, slots=True)
class Counted:
    """How many workers were killed, and how many plans were lost with theirs."""

    kills: int
    lost: int


async def survive(plans: int, seed: int, every: int = EVERY) -> Counted:
    """Run so many plans.

    Raises:
        AssertionError: a plan was lost whose worker was not killed, one gave another result than
            its own, or a call was made more often than its plan says.
    """
    random = Random(seed)  # noqa: S311 - moments, no secrets
    lost = kills = 0
    before = children()
    async with Sandbox(LIMITS) as sandbox:
        for number in range(plans):
            calls = _Calls()
            plan = solve(f"return [await tools.add({number}, n) for n in (1, 2)]")
            running = asyncio.ensure_future(sandbox.run(plan, CATALOG, calls))
            is_killed = number % every == every - 1
            if is_killed:
                await asyncio.wait({running}, timeout=random.uniform(0, WITHIN_SECONDS))
                kills += _kill(children() - before)
            async with asyncio.timeout(2 * TEST_TIMEOUT_SECONDS):
                result = await running
            if result.failure is None:
                assert result.value == [number + 1, number + 2], (number, result)
                assert calls.made == len(result.calls) == 2, (number, result)
            else:
                lost += 1
                assert is_killed, (number, result)
                assert result.failure.kind == "crash", (number, result)
                assert calls.made == len(result.calls) <= 2, (number, result)
    assert children() == before
    return Counted(kills, lost)


class _Calls:
    """Counts the calls that reach a tool."""

    def __init__(self) -> None:
        self.made = 0
        self._tools = Tools()

    async def __call__(self, tool: ToolSpec, arguments: JsonObject) -> ToolResult:
        self.made += 1
        return await self._tools(tool, arguments)


def _kill(workers: set[int]) -> int:
    for worker in workers:
        os.kill(worker, signal.SIGKILL)
    return len(workers)

"""Ours: each plan in a sandbox of its own, in a child like all others.

With the argument `bare` the first wall stands alone; else both do, as users have it.
The plan goes to the sandbox as it is: the static check before it is no wall. What comes out is
what a user or the next prompt may see of it: value, printed text, and the failure with its line.
"""

import asyncio
import importlib
import sys

from modules.sandbox import Sandbox, SandboxLimits
from tests.benchmarks.drivers.attempts import serve, told
from tests.modules.sandbox.sandbox_tools import CATALOG, Tools

LIMITS = SandboxLimits(cpu_seconds=2.0, wall_seconds=4.0)
"""Shorter than by default, so that they strike within the time that every executor has."""


BARE = "bare"


class PlanFailed(Exception):
    """The plan gave no value; the text is all that is told of it."""


def execute(source: str) -> object:
    """Run a plan and give its value."""
    return asyncio.run(_run(source))


async def _run(source: str) -> object:
    async with Sandbox(LIMITS, second_wall=sys.argv[1:] != [BARE]) as sandbox:
        ran = await sandbox.run(source, CATALOG, Tools())
    if ran.failure is not None:
        raise PlanFailed(f"{ran.failure}\n{ran.printed}")
    return f"{told(ran.value)}\n{ran.printed}"


if __name__ == "__main__":
    importlib.import_module("modules.sandbox.session")  # before children are forked
    serve(execute)

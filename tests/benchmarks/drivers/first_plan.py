"""How long the first plan of a process takes, beyond the imports that any run has.

The argument is `walled` or `bare`: with the second wall, as users have it, or without. It tells the
seconds from the making of the sandbox to the plan's value, and whether the wall was asked for.
"""

import asyncio
import importlib
import sys
import time

from core.tools.catalog import ToolCatalog
from modules.sandbox import Sandbox
from tests.benchmarks.drivers.sandbox_plans import answer
from tests.benchmarks.drivers.turns import say
from tests.benchmarks.plan_texts import ONE_LINE

WALLED = "walled"

IMPORTED = ("modules.action", "modules.sandbox.session")
"""What any run has imported, with what they import, before the clock starts."""


async def main() -> None:
    """Run one plan, and say what it took."""
    for name in IMPORTED:
        importlib.import_module(name)
    started = time.perf_counter()
    async with Sandbox(second_wall=sys.argv[1] == WALLED) as sandbox:
        ran = await sandbox.run(ONE_LINE, ToolCatalog([]), answer)
        seconds = time.perf_counter() - started
    if ran.failure is not None:
        raise RuntimeError(str(ran.failure))
    say({"seconds": seconds, "value": ran.value})


if __name__ == "__main__":
    asyncio.run(main())

"""Plan after plan of every kind in one sandbox, in an order that repeats: food for soak tests."""

import asyncio
from collections import Counter
from collections.abc import Callable

from core.turn import ActionResult, Plan, PlanFailed
from modules.action import run_plan
from modules.sandbox import Sandbox, SandboxLimits
from modules.sandbox.limits import MIB
from tests.modules.sandbox.sandbox_tools import CATALOG, TEST_TIMEOUT_SECONDS, Tools, solve

LIMITS = SandboxLimits(cpu_seconds=2, wall_seconds=5, memory_bytes=64 * MIB)

WAITING = solve("return await tools.meet('nobody else')")
"""This one is cancelled in the middle of its call."""

ROUND: tuple[tuple[str, int], ...] = (
    (solve("return 'FINAL_ANSWER: nothing to do'"), 40),
    (solve("return f'FINAL_ANSWER: {await tools.add(1, 2)}'"), 20),
    ("import asyncio\n" + solve("a = await asyncio.gather(*[echo(i) for i in range(5)])",
                                "return f'FURTHER_PROCESSING_REQUIRED: {a}'"), 10),
    (solve("x = await tools.echo(['x' * 1000] * 100)", "return f'FINAL_ANSWER: {len(x)}'"), 5),
    (solve("found = await search_tools('add')", "return f'FINAL_ANSWER: {found}'"), 4),
    (solve("return 1 / 0"), 6),
    (solve("return await tools.fail('timeout')"), 5),
    (solve("print('x' * 1000)", "return await tools.nope()"), 4),
    ("not python", 3),
    (solve("while True: 'x' * 10**12"), 1),
    (solve("while True: print('x' * 1000)"), 1),
    (WAITING, 1),
)  # fmt: skip
"""Plans, and how many of each there are in a hundred."""

PLANS = tuple(plan for plan, count in ROUND for _ in range(count))

STRIDE = 37
"""Prime to a hundred, so that the kinds are mixed and every plan has its turn."""


async def soak(
    sandbox: Sandbox, plans: int, each: Callable[[int], None] | None = None
) -> Counter[str]:
    """Run so many plans, one after the other; how often each kind of end came.

    `each` is called after every plan with the number of plans so far.
    """
    ends: Counter[str] = Counter()
    for number in range(plans):
        plan = PLANS[number * STRIDE % len(PLANS)]
        ends[await _end_of(plan, sandbox)] += 1
        if each is not None:
            each(number + 1)
    return ends


async def _end_of(plan: str, sandbox: Sandbox) -> str:
    tools = Tools()
    async with asyncio.timeout(TEST_TIMEOUT_SECONDS):
        running = asyncio.ensure_future(run_plan(Plan(plan), CATALOG, tools, sandbox))
        if plan is WAITING:
            await tools.started.wait()
            running.cancel()
            await asyncio.wait({running})
            return "cancelled" if running.cancelled() else "not cancelled"
        return _name_of(await running)


def _name_of(result: ActionResult) -> str:
    return result.failure.kind if isinstance(result, PlanFailed) else "done"

"""Hundreds of plans in one process leave nothing behind: `make bench` does the same with 10,000."""

import asyncio
import gc
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

from modules.sandbox import Sandbox
from modules.sandbox.limits import MIB
from tests.modules.sandbox.host_state import holdings, resident_bytes
from tests.modules.sandbox.sandbox_tools import TEST_TIMEOUT_SECONDS
from tests.modules.sandbox.soak import LIMITS, PLANS, soak

WARM_UP_PLANS = len(PLANS)
MEASURED_PLANS = 3 * len(PLANS)

TRACED_GROWTH_BYTES = 256 * 1024
"""Python's own objects; one record of a call kept by each plan would be more."""

RESIDENT_GROWTH_BYTES = 16 * MIB
"""What the system counts, allocators included; one plan's memory kept would be more."""


async def test_three_hundred_plans_leave_the_process_as_it_was() -> None:
    asyncio.get_running_loop().set_default_executor(
        ThreadPoolExecutor(1)
    )  # so that none comes late
    async with Sandbox(LIMITS) as first:
        await soak(first, WARM_UP_PLANS)  # what is loaded once stays: the interpreter's runtime
    outside = holdings()
    async with Sandbox(LIMITS) as sandbox:
        await soak(sandbox, WARM_UP_PLANS)
        gc.collect()
        tracemalloc.start()
        try:
            before, resident = holdings(), resident_bytes()
            ends = await soak(sandbox, MEASURED_PLANS)
            gc.collect()
            traced_bytes, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        after = holdings()
        assert after.descriptors <= before.descriptors
        assert after.threads <= before.threads
        assert len(after.children) == len(before.children) == len(outside.children) + 1
        assert traced_bytes < TRACED_GROWTH_BYTES
        assert resident_bytes() - resident < RESIDENT_GROWTH_BYTES
    async with asyncio.timeout(TEST_TIMEOUT_SECONDS):
        # The kernel shows a thread for a moment after its end: now, and when `outside` was counted.
        while not holdings().within(outside):  # noqa: ASYNC110 - nothing tells when that is over
            await asyncio.sleep(0)
    assert ends == {"done": 237, "error": 18, "tool": 27, "syntax": 9, "limit": 6, "cancelled": 3}

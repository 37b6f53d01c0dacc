"""asyncio in a plan is CPython's own: waiting for tools, timers and itself, and for ever."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from core.values import Json
from modules.sandbox import Sandbox, SandboxLimits
from tests.modules.sandbox.sandbox_tools import CATALOG, TEST_TIMEOUT_SECONDS, Tools, solve

IMPORTS = "import asyncio, time, contextlib, concurrent.futures\n"
LIMITS = SandboxLimits(cpu_seconds=2, wall_seconds=8, tool_calls=20, tool_calls_at_once=20)

PLANS: dict[str, tuple[list[str], Json]] = {
    "gather": (["return await asyncio.gather(add(1, 2), tools.add(3, 4))"], [3, 7]),
    "gather with errors": (
        [
            "got = await asyncio.gather(add(1, 2), fail('error'), return_exceptions=True)",
            "return [got[0], type(got[1]).__name__, str(got[1])]",
        ],
        [3, "RuntimeError", "the disk is full"],
    ),
    "task group": (
        [
            "async with asyncio.TaskGroup() as group:",
            "    tasks = [group.create_task(meet(n)) for n in 'ab']",
            "return [task.result() for task in tasks]",
        ],
        ["a", "b"],
    ),
    "task group with an error": (
        [
            "try:",
            "    async with asyncio.TaskGroup() as group:",
            "        group.create_task(fail('error'))",
            "        late = group.create_task(meet('nobody'))",
            "except* RuntimeError as many:",
            "    told = str(many.exceptions[0])",
            "return [told, late.cancelled()]",
        ],
        ["the disk is full", True],
    ),
    "timeout": (
        [
            "try:",
            "    async with asyncio.timeout(0.05):",
            "        await meet('nobody')",
            "except TimeoutError:",
            "    return 'timed out'",
        ],
        "timed out",
    ),
    "wait_for": (
        [
            "try:",
            "    await asyncio.wait_for(meet('nobody'), 0.05)",
            "except asyncio.TimeoutError:",
            "    return [await asyncio.wait_for(add(1, 2), 5), 'timed out']",
        ],
        [3, "timed out"],
    ),
    "a late result of a call that was given up": (
        [
            "waiting = asyncio.create_task(meet('late'))",
            "await asyncio.sleep(0.02)",
            "waiting.cancel()",
            "await meet('now')",
            "return await add(1, 2)",
        ],
        3,
    ),
    "as_completed": (
        [
            "async def after(seconds):",
            "    await asyncio.sleep(seconds)",
            "    return seconds",
            "parts = [after(0.15), after(0.01), after(0.08)]",
            "return [await part for part in asyncio.as_completed(parts)]",
        ],
        [0.01, 0.08, 0.15],
    ),
    "wait": (
        [
            "tasks = {asyncio.create_task(add(1, 2)), asyncio.create_task(meet('nobody'))}",
            "done, rest = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)",
            "return [len(done), len(rest), done.pop().result()]",
        ],
        [1, 1, 3],
    ),
    "queue": (
        [
            "queue, got = asyncio.Queue(maxsize=1), []",
            "async def work():",
            "    while (item := await queue.get()) is not None:",
            "        got.append(await add(item, 1))",
            "worker = asyncio.create_task(work())",
            "for item in [1, 2, 3, None]:",
            "    await queue.put(item)",
            "await worker",
            "return got",
        ],
        [2, 3, 4],
    ),
    "semaphore, lock, event and condition": (
        [
            "semaphore, lock, event, most, now = asyncio.Semaphore(2), asyncio.Lock(), "
            "asyncio.Event(), 0, 0",
            "async def work(n):",
            "    nonlocal most, now",
            "    async with semaphore:",
            "        now += 1",
            "        most = max(most, now)",
            "        await add(n, 1)",
            "        now -= 1",
            "    async with lock:",
            "        event.set()",
            "await asyncio.gather(*[work(n) for n in range(6)], event.wait())",
            "return most",
        ],
        2,
    ),
    "a task that is left running": (
        [
            "async def for_ever():",
            "    try:",
            "        await asyncio.sleep(1000)",
            "    finally:",
            "        print('cancelled')",
            "task = asyncio.create_task(for_ever())",
            "await asyncio.sleep(0)",
            "return 'done'",
        ],
        "done",
    ),
    "a call that is left running": (
        ["task = asyncio.create_task(meet('nobody'))", "await asyncio.sleep(0)", "return 1"],
        1,
    ),
    "threads that are none": (
        [
            "loop = asyncio.get_running_loop()",
            "both = [loop.run_in_executor(None, sum, [1, 2]), asyncio.to_thread(max, 3, 4)]",
            "return await asyncio.gather(*both)",
        ],
        [3, 4],
    ),
    "an error in a thread that is none": (
        [
            "try:",
            "    await asyncio.to_thread(int, 'x')",
            "except ValueError as error:",
            "    return str(error)[:15]",
        ],
        "invalid literal",
    ),
    "polling": (
        [
            "task = asyncio.create_task(add(1, 2))",
            "while not task.done():",
            "    await asyncio.sleep(0)",
            "return task.result()",
        ],
        3,
    ),
    "call_later and futures": (
        [
            "loop = asyncio.get_running_loop()",
            "future = loop.create_future()",
            "loop.call_later(0.02, future.set_result, 'later')",
            "return await future",
        ],
        "later",
    ),
    "async generators and context managers": (
        [
            "@contextlib.asynccontextmanager",
            "async def opened():",
            "    yield await add(1, 2)",
            "async def many():",
            "    for n in range(3):",
            "        yield await add(n, 1)",
            "async with opened() as first:",
            "    return [first, [n async for n in many()]]",
        ],
        [3, [1, 2, 3]],
    ),
    "asyncio.run within a loop": (
        [
            "def plain():",
            "    return asyncio.run(add(1, 2))",
            "try:",
            "    return plain()",
            "except RuntimeError as error:",
            "    return 'cannot be called from a running event loop' in str(error)",
        ],
        True,
    ),
    "shield": (["return await asyncio.shield(add(1, 2))"], 3),
    "a coroutine that is awaited twice": (
        [
            "once = add(1, 2)",
            "await once",
            "try:",
            "    await once",
            "except RuntimeError as error:",
            "    return str(error)",
        ],
        "cannot reuse already awaited coroutine",
    ),
}

OUTSIDE_OF_A_LOOP: dict[str, tuple[str, Json]] = {
    "asyncio.run in a plain solve": (
        "async def main():\n    return await add(1, 2)\n"
        "def solve():\n    return [asyncio.run(main()), asyncio.run(main())]",
        [3, 3],
    ),
    "gather in asyncio.run": (
        "async def main():\n    return await asyncio.gather(meet('a'), meet('b'))\n"
        "def solve():\n    both = asyncio.run(main())\n    return ' and '.join(both)",
        "a and b",
    ),
    "a loop of its own": (
        "def solve():\n    loop = asyncio.new_event_loop()\n    asyncio.set_event_loop(loop)\n"
        "    try:\n        return loop.run_until_complete(add(1, 2))\n"
        "    finally:\n        loop.close()",
        3,
    ),
    "the loop that is there": (
        "def solve():\n    return asyncio.get_event_loop().run_until_complete(add(1, 2))",
        3,
    ),
    "a runner": (
        "def solve():\n    with asyncio.Runner() as runner:\n"
        "        return [runner.run(add(n, 1)) for n in range(3)]",
        [1, 2, 3],
    ),
    "sleeping while calls are open": (
        "async def main():\n    task = asyncio.create_task(add(1, 2))\n"
        "    await asyncio.sleep(0)\n    time.sleep(0.05)\n    return await task\n"
        "def solve():\n    return asyncio.run(main())",
        3,
    ),
    "asyncio.run at the top, and its value in solve": (
        "async def main():\n    return await add(1, 2)\ntotal = asyncio.run(main())\n"
        "async def solve():\n    return await add(total, 1)",
        4,
    ),
}


@pytest_asyncio.fixture(
    loop_scope="module", scope="module", params=[True, False], ids=["both walls", "one wall"]
)
async def box(request: pytest.FixtureRequest) -> AsyncIterator[Sandbox]:
    async with Sandbox(LIMITS, second_wall=bool(request.param)) as sandbox:
        yield sandbox


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", PLANS)
async def test_an_async_plan_does_what_it_does_in_cpython(name: str, box: Sandbox) -> None:
    lines, value = PLANS[name]
    async with asyncio.timeout(TEST_TIMEOUT_SECONDS):
        ran = await box.run(IMPORTS + solve(*lines), CATALOG, Tools())
    assert (ran.failure, ran.value) == (None, value)
    assert ran.printed == ("cancelled\n" if "print" in "".join(lines) else "")


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", OUTSIDE_OF_A_LOOP)
async def test_a_plain_function_may_run_a_loop_of_its_own(name: str, box: Sandbox) -> None:
    source, value = OUTSIDE_OF_A_LOOP[name]
    async with asyncio.timeout(TEST_TIMEOUT_SECONDS):
        ran = await box.run(IMPORTS + source, CATALOG, Tools())
    assert (ran.failure, ran.value) == (None, value)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    "lines",
    [
        ["await asyncio.Event().wait()"],
        ["await asyncio.get_running_loop().create_future()"],
        ["lock = asyncio.Lock()", "async with lock:", "    async with lock: pass"],
        ["await asyncio.Queue().get()"],
        ["await add(1, 2)", "await asyncio.gather(*[asyncio.Event().wait() for n in range(3)])"],
        ["try:", "    await asyncio.Event().wait()", "except BaseException:", "    return 1"],
    ],
    ids=" ".join,
)
async def test_a_plan_that_waits_for_what_cannot_happen_is_told_at_once(
    lines: list[str], box: Sandbox
) -> None:
    async with asyncio.timeout(LIMITS.wall_seconds / 2):
        ran = await box.run(IMPORTS + solve(*lines), CATALOG, Tools())
    assert ran.failure is not None
    assert "waits for what can't happen" in ran.failure.message


@pytest.mark.asyncio(loop_scope="module")
async def test_five_calls_at_once_take_as_long_as_one(box: Sandbox) -> None:
    loop, tools = asyncio.get_running_loop(), Tools(meeting=5)
    async with asyncio.timeout(TEST_TIMEOUT_SECONDS):
        began = loop.time()
        plan = IMPORTS + solve("return await asyncio.gather(*[meet(n) for n in range(5)])")
        ran = await box.run(plan, CATALOG, tools)
    assert ran.value == [0, 1, 2, 3, 4]
    assert loop.time() - began < TEST_TIMEOUT_SECONDS

"""How long until several servers are up and listed; a line with `start` on stdin opens all anew.

Which client does it is the first argument: `multi_mcp`, or `client_session`, which opens one after
the other as the SDK's documentation shows. Its imports happen within the first start, so the
first time is a cold client's and later ones are not. The second argument is a JSON list of
`Target`s; each answer tells the seconds, how many tools were listed, and the memory of the
client with all sessions open (its servers not counted).
"""

import asyncio
import json
import resource
import sys
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path

from tests.benchmarks.drivers.clients import open_session, spec_of
from tests.benchmarks.drivers.turns import Target, say

StartAll = Callable[[Sequence[Target]], AbstractAsyncContextManager[int]]
"""Holds sessions with all the servers, and gives how many tools they list."""


@asynccontextmanager
async def client_session(targets: Sequence[Target]) -> AsyncGenerator[int]:
    """The SDK: open, initialize and list one server after the other, all staying open."""
    tools = 0
    async with AsyncExitStack() as scopes:
        for target in targets:
            session = await scopes.enter_async_context(open_session(target))
            tools += len((await session.list_tools()).tools)
        yield tools


@asynccontextmanager
async def multi_mcp(targets: Sequence[Target]) -> AsyncGenerator[int]:
    """Ours, without a cache of tool lists."""
    from core.session import MultiMCP

    specs = [spec_of(target, f"server_{number}") for number, target in enumerate(targets)]
    async with MultiMCP(specs) as multi:
        await multi.initialize()
        yield len(multi.get_all_tools())


async def main() -> None:
    """Start as often as told."""
    clients: dict[str, StartAll] = {"multi_mcp": multi_mcp, "client_session": client_session}
    start_all = clients[sys.argv[1]]
    targets = [Target(**target) for target in json.loads(sys.argv[2])]
    while await asyncio.to_thread(sys.stdin.readline):
        started = time.perf_counter()
        async with start_all(targets) as tools:
            seconds = time.perf_counter() - started
            say({"seconds": seconds, "tools": tools, **memory()})


def memory() -> dict[str, object]:
    """Bytes of this process: resident, and its proportional share where the system tells that.

    Source: proc(5), `smaps_rollup`; elsewhere the peak of getrusage(2).
    """
    rollup = Path("/proc/self/smaps_rollup")
    if not rollup.exists():
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return {"rss": peak * (1 if sys.platform == "darwin" else 1024), "pss": None}
    lines = rollup.read_text().splitlines()[1:]
    kilobytes = {line.split(":")[0]: int(line.split()[1]) for line in lines}
    return {"rss": kilobytes["Rss"] * 1024, "pss": kilobytes["Pss"] * 1024}


if __name__ == "__main__":
    asyncio.run(main())

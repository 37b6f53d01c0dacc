"""How long until planning can start with cached tool lists.

The arguments are the servers, a JSON list of `Target`s, and the folder of the cache: a first run
fills it, later ones are to be timed. Our imports are within the time, the interpreter's own start
isn't. It also tells how many processes it has started.
"""

import time

STARTED = time.perf_counter()


def main() -> None:
    """Learn the tools, and say what that took."""
    import asyncio
    import json
    import sys
    from pathlib import Path

    from core.dispatch.known_tools import ToolCache
    from core.session import MultiMCP
    from tests.benchmarks.drivers.clients import spec_of
    from tests.benchmarks.drivers.turns import Target, say

    async def learn() -> None:
        targets = [Target(**target) for target in json.loads(sys.argv[1])]
        specs = [spec_of(target, f"server_{number}") for number, target in enumerate(targets)]
        async with MultiMCP(specs, cache=ToolCache(Path(sys.argv[2]))) as multi:
            imported = time.perf_counter()
            await multi.initialize()
            done = time.perf_counter()
            say(
                {
                    "seconds": done - STARTED,
                    "initialize_seconds": done - imported,
                    "tools": len(multi.get_all_tools()),
                    "children": children(),
                }
            )

    asyncio.run(learn())


def children() -> int | None:
    """How many processes the main thread has started; None where the system doesn't tell.

    Source: proc(5), `/proc/pid/task/tid/children`.
    """
    from pathlib import Path

    listed = Path("/proc/thread-self/children")
    return len(listed.read_text().split()) if listed.exists() else None


if __name__ == "__main__":
    main()

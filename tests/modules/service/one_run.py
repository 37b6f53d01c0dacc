"""A program that begins a run which asks back, prints its id, and waits to be killed."""

import asyncio
import sys
from pathlib import Path

from tests.modules.service.made import OWNER, asks, serving, setting, until


async def _main(home: Path) -> None:
    async with serving(setting(home, [asks("which?")])) as runs:
        run = await runs.start(OWNER, "hm", conversation_id="notes")
        await until(run, "clarify.request")
        print(run.id, flush=True)  # noqa: T201 - whoever started it reads that
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_main(Path(sys.argv[1])))

"""Real server processes for tests of the dispatcher, and what became of them."""

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from config.servers import ServerSpec
from core.dispatch.hooks import DispatcherHooks
from core.dispatch.known_tools import ToolCache
from core.dispatch.start_failures import StartFailures
from core.process.server import SpawnedServer
from core.process.watchdog import StopGrace
from core.session import MultiMCP

ROOT = Path(__file__).parents[3]
SERVERS = ROOT / "tests" / "fixtures" / "servers"
QUICK = StopGrace(stdin_seconds=0.3, term_seconds=0.1, kill_seconds=5.0, lost_seconds=0.2)


def server(name: str, *arguments: str, id: str | None = None) -> ServerSpec:
    command = (sys.executable, str(SERVERS / f"{name}_server.py"), *arguments)
    return ServerSpec(id or name, command, ROOT)


@asynccontextmanager
async def dispatcher(
    *specs: ServerSpec,
    cache: ToolCache | None = None,
    logs: Path | None = None,
    spawned: dict[str, SpawnedServer] | None = None,
    failures: StartFailures | None = None,
    grace: StopGrace = QUICK,
    initialize: bool = True,
) -> AsyncGenerator[tuple[MultiMCP, list[str]]]:
    """A dispatcher, with the notices that it gave; all within 20 seconds."""
    notices: list[str] = []

    async def on_notice(text: str) -> None:
        notices.append(text)

    async with (
        asyncio.timeout(20),
        MultiMCP(
            specs,
            cache=cache,
            log_folder=logs,
            spawned=spawned,
            start_failures=failures,
            hooks=DispatcherHooks(on_notice=on_notice),
            stop_grace=grace,
        ) as multi,
    ):
        if initialize:
            await multi.initialize()
        yield multi, notices


async def ask(multi: MultiMCP, tool: str, **arguments: str | float) -> str:
    return (await multi.call_tool(tool, dict(arguments))).text


def is_gone(pid: int) -> bool:
    """Whether a process has ended; one that only awaits its reaping by init has."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


async def all_gone(pids: list[str]) -> None:
    while not all(is_gone(int(pid)) for pid in pids):  # noqa: ASYNC110 - the kernel tells nobody
        await asyncio.sleep(0)

"""Connections to real servers with a clock of their own, for tests of restarts."""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from config.servers import ServerSpec
from core.dispatch.connections import ServerConnection, ignore_tools
from core.dispatch.instance import ConnectionSettings, OnTools
from core.mcp.hooks import SessionHooks
from core.process.watchdog import Watchdog
from core.tools.spec import ToolSpec
from tests.core.dispatch.fixture_servers import QUICK, is_gone, server
from tests.doubles import HandClock


@asynccontextmanager
async def connected(
    spec: ServerSpec,
    clock: HandClock | None = None,
    logs: Path | None = None,
    on_tools: OnTools = ignore_tools,
    hooks: SessionHooks | None = None,
) -> AsyncGenerator[ServerConnection]:
    timing = (clock or HandClock()).timing
    settings = ConnectionSettings(logs, QUICK, hooks or SessionHooks(), timing, Watchdog(QUICK))
    connection = ServerConnection(spec, settings, on_tools=on_tools)
    async with asyncio.timeout(20):
        try:
            yield connection
        finally:
            await connection.aclose()


def flaky(folder: Path, *words: str) -> ServerSpec:
    """A server that lives its lives so; `starts(folder)` counts them."""
    return server("flaky", str(folder / "starts"), *words)


def starts(folder: Path) -> int:
    return (folder / "starts").stat().st_size


async def text_of(connection: ServerConnection, tool: ToolSpec | str) -> str:
    return (await connection.call(tool, {})).text


async def killed(connection: ServerConnection) -> None:
    """Kill the server while it is idle, and see its end noticed."""
    pid = connection.status().pid
    assert pid is not None
    os.kill(pid, 9)
    async with asyncio.timeout(5):
        while not is_gone(pid) or connection.is_up:  # noqa: ASYNC110 - the kernel tells nobody
            await asyncio.sleep(0)

"""What must hold around every fault of a server: the others answer, and nothing is left behind."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from config.servers import ServerSpec
from core.errors import ServerError
from core.session import MultiMCP
from tests.core.dispatch.fixture_servers import ask, dispatcher, server


def open_descriptors() -> dict[str, str]:
    """What each descriptor of this process is open on."""
    found: dict[str, str] = {}
    for link in Path("/proc/self/fd").iterdir():
        try:
            found[link.name] = str(link.readlink())
        except FileNotFoundError:
            continue  # the one that the listing itself used
    return found


def processes_with(marker: str) -> list[str]:
    """The command lines that hold the marker; those of forked children are their parents'."""
    lines: list[str] = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = file.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if marker in line:
            lines.append(line)
    return lines


@asynccontextmanager
async def unharmed(faulty: ServerSpec, folder: Path) -> AsyncGenerator[MultiMCP]:
    """A dispatcher with a faulty server and a good one, which must not notice anything.

    In the end no process of either is left, no descriptor is open, no task runs.
    """
    marker = str(folder)
    descriptors, tasks = open_descriptors(), asyncio.all_tasks()
    marked = faulty if faulty.url else replace(faulty, command=(*faulty.command, marker))
    good = server("able", marker, id="good")
    async with dispatcher(marked, good, logs=folder) as (multi, _):
        pid = await ask(multi, "good.pid")
        yield multi
        assert await ask(multi, "good.pid") == pid
    async with asyncio.timeout(5):
        # What was killed may take a moment to be gone, and a fork need not be a child of ours.
        while processes_with(marker):  # noqa: ASYNC110 - the kernel tells nobody
            await asyncio.sleep(0.01)
    assert open_descriptors() == descriptors
    assert asyncio.all_tasks() == tasks


def assert_tells(error: ServerError, server_id: str, where: str, *parts: str) -> None:
    """The message names the server, what happened, and where to look."""
    text = str(error)
    assert error.server == server_id
    for part in (f"server '{server_id}'", *parts, where):
        assert part in text, text

"""Watching a server process and ending it in order, without blocking the event loop.

The order is the protocol's (MCP 2025-11-25, "Lifecycle", shutdown over stdio): close its stdin,
wait, SIGTERM, wait, SIGKILL; the signals go to its whole group, and every wait is bounded. Light:
asyncio only. POSIX only.
"""

import asyncio
import logging
import os
import signal
from contextlib import suppress
from dataclasses import replace
from types import TracebackType
from typing import Self

from core.process.spawn import (
    SpawnedServer,
    has_exited,
    kill_all,
    release,
    signal_group,
)
from core.process.watchdog import StopGrace

EXIT_POLL_SECONDS = 0.005
"""How often a process is looked at where nothing tells us of its end."""

_log = logging.getLogger(__name__)


class ExitWatch:
    """Tells when a process has ended, and leaves it unreaped, so that its group keeps its id.

    Uses a pidfd (Linux 5.3 and later), else looks every `EXIT_POLL_SECONDS`.
    """

    def __init__(self, spawned: SpawnedServer) -> None:
        """Begin to watch when entered."""
        self.exited = asyncio.Event()
        self._process = spawned.process
        self._pidfd: int | None = None
        self._poll: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        """Start watching."""
        if has_exited(self._process):
            self.exited.set()
            return self
        try:
            self._pidfd = os.pidfd_open(self._process.pid)
        except (AttributeError, OSError):
            self._poll = asyncio.create_task(self._poll_until_exit())
        else:
            asyncio.get_running_loop().add_reader(self._pidfd, self._on_exit)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop watching."""
        self._close_pidfd()
        if self._poll is not None:
            self._poll.cancel()

    async def exits_within(self, seconds: float) -> bool:
        """Whether the process ends in that time."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.exited.wait()
        return self.exited.is_set()

    def _on_exit(self) -> None:
        self._close_pidfd()
        self.exited.set()

    def _close_pidfd(self) -> None:
        if self._pidfd is not None:
            asyncio.get_running_loop().remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = None

    async def _poll_until_exit(self) -> None:
        while not has_exited(self._process):  # noqa: ASYNC110 - nobody else could set an event
            await asyncio.sleep(EXIT_POLL_SECONDS)
        self.exited.set()


async def stop_server(
    spawned: SpawnedServer, watch: ExitWatch, grace: StopGrace, *, lost: bool = False
) -> bool:
    """End the server and what is left of its group, or left it; the caller then calls `release`.

    Nothing may write to its stdin any more. A reader of stdout should go on until this returns:
    a server that is stuck writing can't see that its stdin closed. `lost` says that the session
    broke down, so that there is less to wait for. A cancellation skips what is left of the waits.

    Returns:
        Whether the server ended of its own accord, that is, without a signal of ours.
    """
    process = spawned.process
    with suppress(OSError):
        spawned.stdin.close()
    willing = False
    try:
        willing = await watch.exits_within(grace.lost_seconds if lost else grace.stdin_seconds)
        if not willing:
            signal_group(process, signal.SIGTERM)
            await watch.exits_within(grace.term_seconds)
    finally:
        # Also when the leader is gone: its children may not be.
        kill_all(spawned)
        if not await watch.exits_within(grace.kill_seconds):
            _log.warning(
                "server '%s' (pid %d) survives SIGKILL; left alone", spawned.spec.id, process.pid
            )
    return willing


async def discard_server(spawned: SpawnedServer, grace: StopGrace) -> None:
    """End a server that was spawned and never spoken to.

    It has nothing to finish, so it gets no time to notice that its stdin closed: while it still
    imports, that would take it a second.
    """
    await _end(spawned, replace(grace, stdin_seconds=0))


def terminate(*servers: SpawnedServer, grace: StopGrace | None = None) -> None:
    """End servers that nobody talks to, all at once, where no event loop runs.

    Blocks for the sum of the graces at most. Safe to call twice.
    """

    async def end_all() -> None:
        await asyncio.gather(*(_end(server, grace or StopGrace()) for server in servers))

    asyncio.run(end_all())
    for server in servers:
        if server.watchdog is not None:
            server.watchdog.retire()


async def _end(spawned: SpawnedServer, grace: StopGrace) -> None:
    try:
        async with ExitWatch(spawned) as watch:
            await stop_server(spawned, watch, grace)
    finally:
        release(spawned)

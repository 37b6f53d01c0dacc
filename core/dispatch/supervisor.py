"""Starting a server when it is needed, and again after a crash, as often as makes sense."""

import asyncio
from collections.abc import Callable
from typing import TypeAlias

from config.servers import ServerSpec
from core.base.timing import Backoff, Timing
from core.dispatch.instance import ServerInstance
from core.errors import EntryUnusable, ServerStartError

FAILURES_MAX = 3
"""After so many failures in a row a use of the server is given up; the next one begins anew."""

BeginInstance: TypeAlias = Callable[[float], ServerInstance]
"""Begins an instance whose start may take so many seconds."""


class Supervisor:
    """Has a server running: one instance at a time, and one start, shared by all who wait for it.

    A start that fails, and an instance that ends before it did anything well, is a failure. Before
    the server has ever been up, a failure is reported at once: what is wrong then seldom mends
    itself.
    """

    def __init__(self, spec: ServerSpec, timing: Timing, begin: BeginInstance) -> None:
        """Start nothing yet."""
        self.instance: ServerInstance | None = None
        """The instance that is, or the last one that was."""
        self.problem: ServerStartError | None = None
        """Why the last start failed; None once one succeeds."""
        self._spec = spec
        self._timing = timing
        self._begin = begin
        self._backoff = Backoff(timing.draw)
        self._has_been_up = False
        self._starting: asyncio.Task[ServerInstance] | None = None

    async def running(self) -> ServerInstance:
        """The instance of the server, which is up; cancelling the caller leaves a start to go on.

        Raises:
            ServerStartError: it did not start, or not in time, or was given up.
        """
        if self.instance is not None and self.instance.is_up:
            return self.instance
        if self._starting is None or self._starting.done():
            self._starting = asyncio.create_task(self._start_unless_closed())
            self._starting.add_done_callback(_see_exception)
        return await asyncio.shield(self._starting)

    async def aclose(self) -> None:
        """End the server, in order and in bounded time, whether it is up or starting."""
        if self._starting is not None:
            # A task that is cancelled before it began would cancel those who wait for it.
            await asyncio.sleep(0)
            self._starting.cancel()
        if self.instance is not None:
            await self.instance.end()
        if self._starting is not None:
            await asyncio.wait({self._starting})

    async def _start_unless_closed(self) -> ServerInstance:
        try:
            return await self._start()
        except asyncio.CancelledError:
            server = self._spec.id
            text = f"server '{server}' did not start: it was closed while it started"
            raise ServerStartError(server, text) from None
        except ServerStartError as error:
            self.problem = error
            raise

    async def _start(self) -> ServerInstance:
        causes = await self._last_end()
        deadline = self._timing.now() + self._spec.start_timeout_seconds
        while True:
            if wait := min(self._backoff.seconds(), deadline - self._timing.now()):
                await self._timing.sleep(max(0.0, wait))
            instance = self.instance = self._begin(deadline - self._timing.now())
            try:
                await asyncio.shield(instance.opened)
            except EntryUnusable:
                raise
            except ServerStartError as error:
                self._backoff.failed()
                causes.append(instance.failure or str(error))
                await self._judge(causes, deadline, instance, error)
            else:
                self._has_been_up, self.problem = True, None
                return instance

    async def _last_end(self) -> list[str]:
        """Wait until the last instance is over: never two at a time; what it failed of."""
        last = self.instance
        if last is None:
            return []
        await asyncio.wait({last.owner})
        if not last.was_up:
            return []  # counted when it failed to start
        if last.did_well:
            self._backoff.reset()
            return []
        self._backoff.failed()
        return [f"{await last.loss()} before it had answered anything"]

    async def _judge(
        self, causes: list[str], deadline: float, instance: ServerInstance, error: ServerStartError
    ) -> None:
        """Return if another try is due.

        Raises:
            ServerStartError: enough is enough.
        """
        out_of_time = self._timing.now() >= deadline
        if self._has_been_up and not out_of_time and len(causes) < FAILURES_MAX:
            await asyncio.wait({instance.owner})
            return
        self._backoff.reset()
        if len(causes) == 1:
            raise error
        raise self._given_up(causes, instance, is_late=out_of_time) from error

    def _given_up(
        self, causes: list[str], instance: ServerInstance, *, is_late: bool
    ) -> ServerStartError:
        server = self._spec.id
        told = "; then it ".join(causes)
        limit = (
            f", and the {self._spec.start_timeout_seconds:g} s for it are over "
            f"(start_timeout_seconds of '{server}' {self._spec.origin})"
            if is_late
            else ""
        )
        return ServerStartError(
            server,
            f"server '{server}' was given up after {len(causes)} failures in a row{limit}: "
            f"first it {told}{instance.evidence()}; the next use tries anew",
        )


def _see_exception(task: asyncio.Task[ServerInstance]) -> None:
    """Take note of how a start ended, so that nobody has to be waiting for it."""
    if not task.cancelled():
        task.exception()

"""The rendezvous between a running task and whoever reads its events."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable

from core.events import Emit, Event


class EventChannel:
    """Turns a coroutine that emits events into an async iterator of them.

    `emit` returns only after the reader has asked for the next event, so a reader that writes
    to disk is always ahead of the work that follows.
    """

    def __init__(self) -> None:
        """Hold nothing yet; queue and task belong to one `stream` call."""
        self._queue: asyncio.Queue[tuple[Event, asyncio.Future[None]] | None] = asyncio.Queue()

    async def emit(self, event: Event) -> None:
        """Hand over one event and wait until the reader is done with it."""
        read = asyncio.get_running_loop().create_future()
        self._queue.put_nowait((event, read))
        await read

    async def stream(self, work: Callable[[Emit], Awaitable[None]]) -> AsyncGenerator[Event, None]:
        """Run `work(emit)` and yield its events; what it raises comes out at the end.

        Closing the iterator early cancels the work and waits for it.
        """
        task = asyncio.create_task(self._produce(work))
        try:
            while (item := await self._queue.get()) is not None:
                event, read = item
                yield event
                if not read.done():
                    read.set_result(None)
            await task
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait({task})

    async def _produce(self, work: Callable[[Emit], Awaitable[None]]) -> None:
        try:
            await work(self.emit)
        finally:
            self._queue.put_nowait(None)

"""The events of a run as Server-Sent Events (https://html.spec.whatwg.org/#server-sent-events).

Events are kept with the run, and the sender reads from there: a client that reads slowly slows
nobody down, and takes no memory but a connection's own buffer. sse-starlette is not used: it looks
for uvicorn's signal handlers twice a second, and would end every stream at once on SIGTERM.
"""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final

from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from modules.service.served.events import ServiceEvent
from modules.service.served.runs import ServedRun

EVENTS_TYPE: Final = "text/event-stream"

KEEP_ALIVE_SECONDS: Final = 15.0
"""After so long without an event a comment is sent: nobody is to take the connection for dead."""

KEEP_ALIVE: Final = b": keep-alive\n\n"


class EventStream(StreamingResponse):
    """The events of a run behind one of them; with `cancels`, the run ends with the connection."""

    def __init__(
        self,
        run: ServedRun,
        after: int = 0,
        *,
        cancels: bool = False,
        keep_alive_seconds: float = KEEP_ALIVE_SECONDS,
    ) -> None:
        headers = {"X-Run-Id": run.id, "X-Accel-Buffering": "no"}
        content = messages(run, after, keep_alive_seconds)
        super().__init__(content, headers=headers, media_type=EVENTS_TYPE)
        self._run = run
        self._cancels = cancels

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until the run has ended, or the client has gone; to HEAD, no more than the head."""
        if scope["method"] == "HEAD":
            await Response(None, headers=dict(self.headers))(scope, receive, send)
            return
        try:
            await super().__call__(scope, receive, send)
        finally:
            if self._cancels and not self._run.is_done:
                self._run.cancel()


async def messages(
    run: ServedRun, after: int, keep_alive_seconds: float
) -> AsyncGenerator[bytes, None]:
    """Each event as a message, with comments while there is none."""
    async with aclosing(run.events(after)) as events:
        following = asyncio.create_task(_next(events))
        try:
            while True:
                done, _ = await asyncio.wait({following}, timeout=keep_alive_seconds)
                if not done:
                    yield KEEP_ALIVE
                    continue
                if (event := following.result()) is None:
                    return
                following = asyncio.create_task(_next(events))
                yield message_of(event)
        finally:
            following.cancel()
            await asyncio.wait({following})


async def _next(events: AsyncGenerator[ServiceEvent, None]) -> ServiceEvent | None:
    return await anext(events, None)


def message_of(event: ServiceEvent) -> bytes:
    """An event as it goes over the wire; JSON has no line breaks outside of its texts."""
    data = json.dumps(event.data, ensure_ascii=False, allow_nan=False)
    return f"id: {event.id}\nevent: {event.name}\ndata: {data}\n\n".encode("utf-8", "replace")

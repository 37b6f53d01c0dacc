"""One event stream of an MCP server, read over as many connections as it takes.

Servers and proxies end streams when they like; one that numbers its events is asked for the rest
(MCP 2025-11-25, "Resumability and Redelivery", and SEP-1699: a server may close a stream on
purpose and name in `retry` when to come back). Everything about that is bounded.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing

from core.base.sse import EventParser, EventTooLong
from core.mcp.http_errors import HttpFault
from core.mcp.http_link import HttpAnswer, HttpLink
from core.mcp.wire import ReadingBudget

RESUME_SECONDS = 1.0
"""The pause before a broken stream is taken up again, where the server asks for none."""

RESUME_SECONDS_MIN = 0.05
"""The least pause, whatever the server asks for."""

RESUME_SECONDS_MAX = 60.0
"""A server that asks for a longer pause is not asked again."""

RESUMES_MAX = 500
"""How often the stream of one request is taken up again in all."""

RESUMES_FAILED_MAX = 3
"""How often in a row that may bring nothing."""

STEADY_SECONDS = 5.0
"""A stream that held for so long was of use, even if it brought nothing."""

_ENDED = "ended its event stream before the answer"


class EventStream:
    """The stream of one request, or the one on which a server speaks of its own accord.

    `take` gets the data of each message event. `is_answered` tells whether the request has its
    answer; it is None for the server's own stream, which never ends.
    """

    def __init__(
        self,
        link: HttpLink,
        take: Callable[[bytes], Awaitable[None]],
        event_bytes_max: int,
        is_answered: Callable[[], bool] | None,
        budget: ReadingBudget,
    ) -> None:
        """Read nothing yet."""
        self._link = link
        self._take = take
        self._events = EventParser(event_bytes_max)
        self._is_answered = is_answered
        self._budget = budget
        self.was_open = False
        """Whether a connection for it was ever granted, but for the one of a request itself."""

    async def follow(self, answer: HttpAnswer) -> HttpFault | None:
        """Read one connection to its end, or to the answer; what broke it, if something did.

        Raises:
            HttpFault: what came is over a cap, so that reading on would be no use.
        """
        try:
            async with aclosing(answer.chunks()) as chunks:
                async for chunk in chunks:
                    await self._read(chunk)
                    if self._is_over():
                        break
        except HttpFault as fault:
            if not fault.may_pass:
                raise
            return fault
        await answer.drain()
        return None

    async def read_all(self) -> None:
        """Open the server's own stream, and again when it ends; returns never.

        Raises:
            HttpFault: the server has none, or none that lasts.
        """
        await self.read_on(await self._connect())

    async def read_on(self, trouble: HttpFault | None) -> None:
        """Take the stream up again, and again, until its request is answered.

        `trouble` is what broke it last.

        Raises:
            HttpFault: that can't be done, or not any more.
        """
        failures, resumes = 0, 0
        clock = asyncio.get_running_loop().time
        while True:
            resumes += 1
            if self._is_answered is not None and not self._events.last_event_id:
                raise HttpFault(f"{trouble or _ENDED}, and can't be asked for the rest")
            await asyncio.sleep(self._pause_seconds(failures))
            blocks, began = self._events.blocks, clock()
            before = trouble or _ENDED
            try:
                trouble = await self._connect()
            except HttpFault as fault:
                raise HttpFault(f"{before}; asked for the rest, it {fault}") from fault
            if self._is_over():
                return
            was_of_use = self._events.blocks > blocks or clock() - began >= STEADY_SECONDS
            failures = 0 if was_of_use else failures + 1
            too_often = self._is_answered is not None and resumes >= RESUMES_MAX
            if failures >= RESUMES_FAILED_MAX or too_often:
                raise HttpFault(f"{before}; asked for the rest, it {trouble or _ENDED}")

    async def _connect(self) -> HttpFault | None:
        """Read the stream over one new connection; what broke it, where that may pass.

        Raises:
            HttpFault: it will not pass.
        """
        try:
            async with self._link.listen(self._events.last_event_id) as answer:
                self.was_open = True
                self._events.restart()
                return await self.follow(answer)
        except HttpFault as fault:
            if not fault.may_pass:
                raise
            return fault

    async def _read(self, chunk: bytes) -> None:
        """Take the events of a chunk; others have their turn between many."""
        events = self._events.feed(chunk)
        try:
            while True:
                await self._budget.rest()
                with self._budget:
                    event = next(events, None)
                if event is None:
                    return
                if event.type == "message" and event.data:
                    await self._take(event.data)
        except EventTooLong as cap:
            raise HttpFault(f"sent an event of more than {cap}") from cap

    def _is_over(self) -> bool:
        return self._is_answered is not None and self._is_answered()

    def _pause_seconds(self, failures: int) -> float:
        """The server's `retry`, or a second; longer after failures."""
        retry_ms = self._events.retry_ms
        asked = RESUME_SECONDS if retry_ms is None else retry_ms / 1000
        if asked > RESUME_SECONDS_MAX:
            raise HttpFault(f"asks to be left alone for {asked:g} s in the middle of its answer")
        return max(asked, RESUME_SECONDS_MIN) * 2**failures

"""The Streamable HTTP transport: each message a POST, each answer JSON or an event stream.

Follows MCP 2025-11-25, "Transports", and speaks to servers of 2025-03-26 and 2025-06-18. A request
runs in a task of its own until its answer has come: over its own stream, or over a later one where
the server or the network broke the first off and the server keeps events (Last-Event-ID,
SEP-1699). One further stream carries what the server says of its own accord.

Heavy: imports httpx2 (0.1 s).
"""

import asyncio
import logging
import re
from collections.abc import Callable, Coroutine
from contextlib import suppress
from http import HTTPStatus

from config.servers import ServerSpec
from core.mcp.http_errors import FaultWriter, HttpFault, SessionExpired
from core.mcp.http_link import HttpAnswer, HttpLink
from core.mcp.http_stream import EventStream
from core.mcp.peer import (
    NOT_SENT,
    STRAY_TEXT_CHARACTERS_KEPT,
    TRANSPORT_ERROR,
    Deliver,
    Transport,
    TransportDown,
)
from core.mcp.wire import (
    MESSAGE_BYTES_MAX,
    MessageTooLong,
    ReadingBudget,
    encode,
    error_reply,
    messages_in,
    read_messages,
)
from core.values import JsonObject

REQUESTS_OPEN_MAX = 64
"""So many requests may wait for their answers at once, each with a stream; more are refused."""

ASIDES_MAX = 256
"""So many notifications and answers of ours may wait; a server that takes none of them is lost."""

ASIDES_AT_ONCE = 8
"""How many of those are sent at a time."""

ASIDE_SECONDS = 10.0
"""How long a server may take to accept a notification or an answer."""

PROBE_SECONDS = 5.0
"""How long a ping may take that asks whether the session still stands."""

CLOSE_SECONDS = 1.0
"""How long the end of a session may take, farewells included."""

_VISIBLE_ASCII = re.compile(r"[\x21-\x7e]{1,1024}")
"""What a session id may be (MCP, "Session Management"), and no longer than a header can be."""

_log = logging.getLogger(__name__)


class HttpTransport(Transport):
    """Speaks to a server at a URL.

    A request that fails is answered by an error of our own, and the session goes on. It is lost
    only when the server no longer knows it.
    """

    def __init__(self, spec: ServerSpec, message_bytes_max: int = MESSAGE_BYTES_MAX) -> None:
        """Take note of where the server is."""
        super().__init__()
        self._spec = spec
        self._bytes_max = message_bytes_max
        self._faults = FaultWriter(spec)
        self._budget = ReadingBudget()
        self._deliver: Deliver = _to_nobody
        self._link: HttpLink | None = None
        self._requests: dict[int | str, asyncio.Task[None]] = {}
        self._readers: set[asyncio.Task[None]] = set()
        self._asides: set[asyncio.Task[None]] = set()
        self._aside_slots = asyncio.Semaphore(ASIDES_AT_ONCE)
        self._may_listen = False

    async def open(self, deliver: Deliver) -> None:
        """Make the client; nothing is sent.

        Raises:
            TransportDown: the entry of the server can't be used.
        """
        self._deliver = deliver
        # Certificates take a tenth of a second.
        self._link = await asyncio.to_thread(HttpLink, self._spec, self._faults)

    async def send(self, message: JsonObject) -> None:
        """Send one message; returns before the server has it, but for one.

        That is `notifications/initialized`: servers refuse requests that overtake it.

        Raises:
            TransportDown: the session is over, or was never opened.
            ValueError: the message can't be said in JSON.
        """
        body = encode(message)
        if self.is_down or self._link is None:
            raise TransportDown(self.loss or "was closed")
        method, number = message.get("method"), message.get("id")
        if isinstance(method, str) and isinstance(number, int | str):
            self._begin(number, self._ask(self._link, number, method, body))
        elif method == "notifications/initialized":
            await self._say(self._link, body)
            self._may_listen = True
            self._listen(self._link)
        else:
            if method == "notifications/cancelled":
                self._stop_waiting(message)
            self._say_aside(self._link, body)

    def negotiated(self, protocol_version: str) -> None:
        """Name the version in every request from now on (header `MCP-Protocol-Version`)."""
        if self._link is not None:
            self._link.protocol_version = protocol_version

    async def aclose(self) -> None:
        """End the session at the server and close all streams, within little over a second."""
        if self._closing:
            return
        self._closing = True
        self._deliver = _to_nobody
        link, farewells = self._link, set(self._asides)
        if link is None:
            return
        try:
            await _end(self._readers)
            if link.session_id is not None and not self.lost.is_set():
                farewells.add(asyncio.create_task(_farewell(link)))
            if farewells:
                await asyncio.wait(farewells, timeout=CLOSE_SECONDS)
        finally:
            await _end(farewells)
            with suppress(TimeoutError):
                async with asyncio.timeout(CLOSE_SECONDS):
                    await link.aclose()

    def _begin(self, number: int | str, work: Coroutine[None, None, None]) -> None:
        if len(self._requests) >= REQUESTS_OPEN_MAX:
            work.close()
            text = f"has {REQUESTS_OPEN_MAX} requests open already"
            self._hand_over(error_reply(number, text, NOT_SENT))
            return
        task = asyncio.create_task(work)
        self._requests[number] = task
        self._keep(task)

    async def _ask(self, link: HttpLink, number: int | str, method: str, body: bytes) -> None:
        """Send a request and read until it is answered."""
        try:
            await self._converse(link, number, method, body)
            self._listen(link)
        except SessionExpired as expired:
            self._hand_over(error_reply(number, str(expired), NOT_SENT))
            self._lose(str(expired))
        except HttpFault as fault:
            if await self._has_ended(link, fault):
                text = f"does not answer in this session any more: it {fault}"
                self._hand_over(error_reply(number, text, NOT_SENT))
                self._lose(text)
            else:
                code = TRANSPORT_ERROR if fault.was_taken else NOT_SENT
                self._hand_over(_own_answer(fault, number) or error_reply(number, str(fault), code))
        finally:
            self._requests.pop(number, None)

    async def _converse(self, link: HttpLink, number: int | str, method: str, body: bytes) -> None:
        stream = self._stream(link, lambda: number not in self._requests)
        async with link.post(body) as answer:
            if method == "initialize":
                self._keep_session(link, answer)
            if not answer.is_event_stream:
                await self._read_json(answer, number)
                return
            cut = await stream.follow(answer)
        if number in self._requests:
            await stream.read_on(cut)

    def _stream(self, link: HttpLink, is_answered: Callable[[], bool] | None) -> EventStream:
        return EventStream(link, self._take, self._bytes_max, is_answered, self._budget)

    def _keep_session(self, link: HttpLink, answer: HttpAnswer) -> None:
        if answer.session_id is None:
            return
        if _VISIBLE_ASCII.fullmatch(answer.session_id) is None:
            raise HttpFault("gave the session an id that is no visible ASCII (Mcp-Session-Id)")
        link.session_id = answer.session_id

    async def _read_json(self, answer: HttpAnswer, number: int | str) -> None:
        if answer.is_empty:
            raise HttpFault("took note of a request and left it without an answer")
        if answer.media_type != "application/json":
            raise await answer.wrong_content()
        body = await answer.whole(self._bytes_max)
        await self._take(body)
        if number in self._requests:
            quoted = self._faults.quote(body[: STRAY_TEXT_CHARACTERS_KEPT * 4])
            raise HttpFault(
                f"answered with what is no answer to the request: {quoted or 'nothing'}"
            )

    def _listen(self, link: HttpLink) -> None:
        """Hear from now on what the server says of its own accord, unless we do or it has none."""
        if self._may_listen and not self.is_down:
            self._may_listen = False
            self._keep(asyncio.create_task(self._overhear(link)))

    async def _overhear(self, link: HttpLink) -> None:
        """Read the server's own stream; that there is none is no fault.

        One that was there, and broke for good, is asked for again when the server next answers.
        """
        stream = self._stream(link, None)
        try:
            await stream.read_all()
        except HttpFault as fault:
            self._may_listen = stream.was_open
            _log.debug("server '%s' has no stream of its own: it %s", self._spec.id, fault)

    def _keep(self, reader: asyncio.Task[None]) -> None:
        self._readers.add(reader)
        reader.add_done_callback(self._readers.discard)

    async def _take(self, data: bytes) -> None:
        """Deliver what a body or an event holds: one message, or several from an old server."""
        try:
            messages = await self._read(data)
        except MessageTooLong as cap:
            raise HttpFault(f"sent a message {cap}") from cap
        if not messages and self.stray_text is None:
            self.stray_text = self._faults.one_line(
                data[: STRAY_TEXT_CHARACTERS_KEPT * 4].decode("utf-8", "replace"),
                STRAY_TEXT_CHARACTERS_KEPT,
            )
        with self._budget:
            for message in messages:
                self._hand_over(message)

    async def _read(self, data: bytes) -> list[JsonObject]:
        """What it holds, read in slices."""
        reading = read_messages(data)
        while True:
            await self._budget.rest()
            with self._budget:
                try:
                    next(reading)
                except StopIteration as done:
                    return done.value

    def _hand_over(self, message: JsonObject) -> None:
        number = message.get("id")
        if "method" not in message and isinstance(number, int | str):
            task = self._requests.pop(number, None)
            if task is not None and task is not asyncio.current_task():
                task.cancel()  # its own stream is of no more use
        self._deliver(message)

    def _stop_waiting(self, cancellation: JsonObject) -> None:
        """Close the stream of a request that nobody waits for any more."""
        params = cancellation.get("params")
        number = params.get("requestId") if isinstance(params, dict) else None
        if isinstance(number, int | str) and (task := self._requests.pop(number, None)):
            task.cancel()

    def _say_aside(self, link: HttpLink, body: bytes) -> None:
        """Send a notification or an answer without waiting for it to be accepted."""
        if len(self._asides) >= ASIDES_MAX:
            self._lose("does not take the answers to what it asks")
            return
        task = asyncio.create_task(self._say(link, body))
        self._asides.add(task)
        task.add_done_callback(self._asides.discard)

    async def _say(self, link: HttpLink, body: bytes) -> None:
        """Send what has no answer; a failure shows at the next request, if it lasts."""
        try:
            async with self._aside_slots, asyncio.timeout(ASIDE_SECONDS), link.post(body) as answer:
                await answer.drain()
        except SessionExpired as expired:
            self._lose(str(expired))
        except (HttpFault, TimeoutError) as fault:
            what = str(fault) or f"did not accept it within {ASIDE_SECONDS:g} s"
            _log.debug("server '%s' did not get a notification: it %s", self._spec.id, what)

    async def _has_ended(self, link: HttpLink, fault: HttpFault) -> bool:
        """Whether a refusal means the end of the session; a ping tells.

        Many servers say 400 where the protocol asks for 404, and 400 to other things too.
        """
        if fault.status != HTTPStatus.BAD_REQUEST or link.session_id is None:
            return False
        ping: JsonObject = {"jsonrpc": "2.0", "id": "cortex-r-ping", "method": "ping"}
        try:
            async with asyncio.timeout(PROBE_SECONDS), link.post(encode(ping)):
                return False
        except (HttpFault, TimeoutError) as refusal:
            status = refusal.status if isinstance(refusal, HttpFault) else None
            return status in (HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND)

    def _lose(self, why: str) -> None:
        """End the session; whoever is on top of it begins another."""
        if self.is_down:
            return
        self.loss = why
        self.lost.set()
        self._deliver = _to_nobody
        for task in {*self._readers, *self._asides} - {asyncio.current_task()}:
            task.cancel()


def _to_nobody(message: JsonObject) -> None:
    """Take what comes before a session is open and after it is over."""


def _own_answer(fault: HttpFault, number: int | str) -> JsonObject | None:
    """The server's own error for the request, where it came with a status that says no more."""
    telling = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND)
    if fault.status is None or fault.status in telling:
        return None
    found = messages_in(fault.body)
    return next((m for m in found if m.get("id") == number and "error" in m), None)


async def _farewell(link: HttpLink) -> None:
    with suppress(HttpFault):
        await link.end_session()


async def _end(tasks: set[asyncio.Task[None]]) -> None:
    """Cancel tasks and see them end."""
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=CLOSE_SECONDS)

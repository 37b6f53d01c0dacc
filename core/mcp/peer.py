"""One JSON-RPC 2.0 conversation with a server: what it goes over, requests, replies, notifications.

No task stands between the transport and a waiting call: a reply resolves its future in the very
callback that read it.
"""

import asyncio
import itertools
import logging
import math
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import TypeAlias

from core.base.json_text import json_start
from core.mcp.hooks import OnProgress
from core.mcp.wire import error_reply
from core.values import Json, JsonObject

Deliver: TypeAlias = Callable[[JsonObject], None]
"""Takes one message of the server; called in the event loop, must not block or raise."""


STRAY_TEXT_CHARACTERS_KEPT = 120
"""How much is kept, for error messages, of the first thing that came and was no message."""


class TransportDown(Exception):
    """The message was not sent: the transport is closed or lost; the text says why."""


class Transport(ABC):
    """What carries messages to one server and back; two kinds exist, over stdio and over HTTP.

    Opened and closed once, by one task; `send` may be called from any task of the loop.

    When the server dies, closes its end or breaks a cap, `lost` is set and `loss` says why, as the
    end of a sentence that begins with the server. Nothing is delivered after that. Its owner may
    set both to give up a server that does not answer any more.
    """

    def __init__(self) -> None:
        """Be whole, and neither lost nor closed."""
        self.lost = asyncio.Event()
        self.loss: str | None = None
        self.stray_text: str | None = None
        """The beginning of the first thing that the server sent and that was no message."""
        self._closing = False

    @property
    def is_down(self) -> bool:
        """Whether no request can be answered any more: lost, or being closed."""
        return self._closing or self.lost.is_set()

    @abstractmethod
    async def open(self, deliver: Deliver) -> None:
        """Begin to deliver what the server sends.

        Raises:
            TransportDown: the server can't be reached.
        """

    @abstractmethod
    async def send(self, message: JsonObject) -> None:
        """Send one message; returns when it is on its way, which may be before it is received.

        A request that can't be delivered, or whose answer is lost on the way, is answered by a
        JSON-RPC error that the transport itself delivers (code `TRANSPORT_ERROR`, or `NOT_SENT`
        where it is certain that the server did not take it).

        Raises:
            TransportDown: nothing was sent.
            ValueError: the message can't be said in JSON (a lone surrogate, an infinity).
        """

    @abstractmethod
    def negotiated(self, protocol_version: str) -> None:
        """Hear which version of the protocol the handshake settled on."""

    @abstractmethod
    async def aclose(self) -> None:
        """End the session and, over stdio, the server; bounded, and safe to call twice."""


TRANSPORT_ERROR = -32099
"""JSON-RPC error code for requests that a transport failed; from the range left to implementers."""

NOT_SENT = -32098
"""The same, where the server certainly did nothing about the request."""


SERVER_REQUESTS_MAX = 32
"""So many requests of a server are worked on at once; further ones are refused."""

TASK_END_SECONDS = 1.0
"""Bound on the wait for cancelled answers to a server's requests."""

ERROR_TEXT_CHARACTERS_MAX = 20_000
"""How much of a server's error message is kept."""

ERROR_DATA_CHARACTERS_MAX = 4_000
"""How much of an error's `data` is told behind its message: the reason, or where to sign in."""

_INTERNAL_ERROR = -32603

_log = logging.getLogger(__name__)


class RpcError(Exception):
    """The other side answered a request with an error, or is to be answered with one."""

    def __init__(self, code: int, message: str, data: Json = None) -> None:
        """Keep JSON-RPC's code, and what else is said of it, beside the message."""
        super().__init__(message)
        self.code = code
        self.data = data


class Unanswered(Exception):
    """A request got no answer; the text is a sentence's end after the server."""

    def __init__(self, text: str, *, was_sent: bool) -> None:
        """`was_sent` is false where the server certainly did nothing about it."""
        super().__init__(text)
        self.was_sent = was_sent


class NotDelivered(Unanswered):
    """The transport failed this one request, and the session goes on."""


class SessionLost(Unanswered):
    """No answer will come to any: the session broke down or was closed."""


OnRequest: TypeAlias = Callable[[str, JsonObject], Awaitable[JsonObject]]
"""Answers a request of the server; an `RpcError` that it raises is the answer."""

OnNotification: TypeAlias = Callable[[str, JsonObject], None]
"""Hears a notification of the server; must not block or raise."""


@dataclass(slots=True)
class _OpenRequest:
    """A request that waits for its reply."""

    reply: asyncio.Future[JsonObject]
    on_progress: OnProgress | None


class Peer:
    """Our end of the conversation; `open` and `aclose` it once, ask from any task."""

    def __init__(
        self, transport: Transport, on_request: OnRequest, on_notification: OnNotification
    ) -> None:
        """Say nothing yet."""
        self._transport = transport
        self._on_request = on_request
        self._on_notification = on_notification
        self._ids = itertools.count(1)
        self._open: dict[int, _OpenRequest] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._answering: dict[int | str, asyncio.Task[None]] = {}
        self._loss_watch: asyncio.Task[None] | None = None
        self._is_over = False

    async def open(self) -> None:
        """Begin to listen.

        Raises:
            TransportDown: the server can't be reached.
        """
        await self._transport.open(self._deliver)
        self._loss_watch = asyncio.create_task(self._end_when_lost())

    async def aclose(self) -> None:
        """Give up what is open, and close the transport."""
        if self._loss_watch is not None:
            self._loss_watch.cancel()
        self._is_over = True
        self._give_up()
        tasks = set(self._tasks)
        for task in tasks:
            task.cancel()
        try:
            if tasks:
                await asyncio.wait(tasks, timeout=TASK_END_SECONDS)
        finally:
            await self._transport.aclose()

    async def request(
        self,
        method: str,
        params: JsonObject,
        on_progress: OnProgress | None = None,
        *,
        cancellable: bool = True,
    ) -> JsonObject:
        """Ask, and wait for the reply as long as it takes; cancelling tells the server.

        Raises:
            RpcError: the server answered with an error.
            NotDelivered: the transport failed the request, and the session goes on.
            SessionLost: there will be no answer.
            ValueError: the parameters can't be said in JSON; nothing was sent.
        """
        if self._is_over:
            raise SessionLost("was closed", was_sent=False)
        number = next(self._ids)
        if on_progress is not None:
            about = params.get("_meta")
            about = about if isinstance(about, dict) else {}
            params = {**params, "_meta": {**about, "progressToken": number}}
        waiting = _OpenRequest(asyncio.get_running_loop().create_future(), on_progress)
        self._open[number] = waiting
        try:
            await self._transport.send(
                {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            )
            return await waiting.reply
        except TransportDown as error:
            raise SessionLost(str(error), was_sent=False) from error
        except asyncio.CancelledError:
            if cancellable:
                cancelled: JsonObject = {"requestId": number, "reason": "the caller gave up"}
                self._spawn(self.notify("notifications/cancelled", cancelled))
            raise
        finally:
            del self._open[number]
            if waiting.reply.done() and not waiting.reply.cancelled():
                waiting.reply.exception()  # seen, also where the caller was cancelled meanwhile

    async def notify(self, method: str, params: JsonObject | None = None) -> None:
        """Tell the server something that it does not answer; one that is gone hears nothing."""
        message: JsonObject = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = params
        await self._send(message)

    def _deliver(self, message: JsonObject) -> None:
        method = message.get("method")
        if not isinstance(method, str):
            self._settle(message)
            return
        params = message.get("params")
        body = params if isinstance(params, dict) else {}
        if "id" in message:
            self._answer(message["id"], method, body)
        elif method == "notifications/progress":
            self._progressed(body)
        elif method == "notifications/cancelled":
            self._withdrawn(body.get("requestId"))
        else:
            self._on_notification(method, body)

    def _settle(self, message: JsonObject) -> None:
        """Hand a reply to whoever waits for it; one that nobody waits for came too late."""
        number = message.get("id")
        waiting = self._open.get(number) if isinstance(number, int) else None
        if waiting is None or waiting.reply.done():
            return
        result = message.get("result")
        if isinstance(result, dict):
            waiting.reply.set_result(result)
        else:
            waiting.reply.set_exception(_error_of(message.get("error")))

    def _progressed(self, params: JsonObject) -> None:
        token, done = params.get("progressToken"), _number(params.get("progress"))
        waiting = self._open.get(token) if isinstance(token, int) else None
        if waiting is None or waiting.on_progress is None or done is None:
            return
        text = params.get("message")
        waiting.on_progress(
            done,
            _number(params.get("total")),
            text[:ERROR_TEXT_CHARACTERS_MAX] if isinstance(text, str) else None,
        )

    def _answer(self, reply_to: Json, method: str, params: JsonObject) -> None:
        if not isinstance(reply_to, int | str) or reply_to in self._answering:
            return
        if len(self._answering) >= SERVER_REQUESTS_MAX:
            busy = error_reply(reply_to, "too many requests are open", _INTERNAL_ERROR)
            self._spawn(self._send(busy))
            return
        task = self._answering[reply_to] = self._spawn(self._work_on(reply_to, method, params))
        # Not in the task itself: one that is withdrawn at once never begins, and so never ends.
        task.add_done_callback(lambda done: self._answered(reply_to, done))

    async def _work_on(self, reply_to: int | str, method: str, params: JsonObject) -> None:
        try:
            result = await self._on_request(method, params)
        except RpcError as error:
            await self._send(error_reply(reply_to, str(error), error.code, error.data))
        except Exception:  # noqa: BLE001 - a bug of ours must not leave the server waiting
            _log.exception("a request of the server failed here")
            await self._send(error_reply(reply_to, "internal error", _INTERNAL_ERROR))
        else:
            await self._send({"jsonrpc": "2.0", "id": reply_to, "result": result})

    def _withdrawn(self, request_id: Json) -> None:
        """The server no longer wants an answer."""
        if isinstance(request_id, int | str) and (task := self._answering.pop(request_id, None)):
            task.cancel()

    def _answered(self, reply_to: int | str, task: asyncio.Task[None]) -> None:
        if self._answering.get(reply_to) is task:  # the id may be in use again
            del self._answering[reply_to]

    async def _send(self, message: JsonObject) -> None:
        try:
            await self._transport.send(message)
        except (TransportDown, ValueError) as error:
            _log.debug("not sent: %s", error)

    def _spawn(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _end_when_lost(self) -> None:
        await self._transport.lost.wait()
        self._give_up()

    def _give_up(self) -> None:
        for waiting in self._open.values():
            if not waiting.reply.done():
                waiting.reply.set_exception(SessionLost("the session broke down", was_sent=True))


def _number(value: Json) -> float | None:
    """A finite number; None for anything else, also for one too large for a float."""
    if not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _error_of(error: Json) -> RpcError | NotDelivered:
    body = error if isinstance(error, dict) else {}
    code, text = body.get("code"), body.get("message")
    told = text[:ERROR_TEXT_CHARACTERS_MAX] if isinstance(text, str) and text else "(no message)"
    if code in (TRANSPORT_ERROR, NOT_SENT):
        return NotDelivered(told, was_sent=code != NOT_SENT)
    data = body.get("data")
    shown = data if isinstance(data, str) else json_start(data, ERROR_DATA_CHARACTERS_MAX)
    if data not in (None, "", {}, []) and shown not in told:
        told = f"{told}: {shown[:ERROR_DATA_CHARACTERS_MAX]}"
    return RpcError(code if isinstance(code, int) else _INTERNAL_ERROR, told, data)

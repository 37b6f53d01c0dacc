"""What carries JSON-RPC messages to one server and back; two kinds exist, stdio and HTTP."""

import asyncio
from collections.abc import Callable
from typing import Protocol, TypeAlias

from core.values import JsonObject

Deliver: TypeAlias = Callable[[JsonObject], None]
"""Takes one message of the server; called in the event loop, must not block or raise."""


STRAY_TEXT_CHARACTERS_KEPT = 120
"""How much is kept, for error messages, of the first thing that came and was no message."""


class TransportDown(Exception):
    """The message was not sent: the transport is closed or lost; the text says why."""


class Transport(Protocol):
    """Opened and closed once, by one task; `send` may be called from any task of the loop.

    When the server dies, closes its end or breaks a cap, `lost` is set and `loss` says why, as the
    end of a sentence that begins with the server. Nothing is delivered after that. Its owner may
    set both to give up a server that does not answer any more.
    """

    lost: asyncio.Event
    loss: str | None

    @property
    def is_down(self) -> bool:
        """Whether no request can be answered any more: lost, or being closed."""
        ...

    @property
    def stray_text(self) -> str | None:
        """The beginning of the first thing that the server sent and that was no message."""
        ...

    async def open(self, deliver: Deliver) -> None:
        """Begin to deliver what the server sends.

        Raises:
            TransportDown: the server can't be reached.
        """
        ...

    async def send(self, message: JsonObject) -> None:
        """Send one message; returns when it is on its way, which may be before it is received.

        A request that can't be delivered, or whose answer is lost on the way, is answered by a
        JSON-RPC error that the transport itself delivers (code `TRANSPORT_ERROR`, or `NOT_SENT`
        where it is certain that the server did not take it).

        Raises:
            TransportDown: nothing was sent.
            ValueError: the message can't be said in JSON (a lone surrogate, an infinity).
        """
        ...

    def negotiated(self, protocol_version: str) -> None:
        """Hear which version of the protocol the handshake settled on."""
        ...

    async def aclose(self) -> None:
        """End the session and, over stdio, the server; bounded, and safe to call twice."""
        ...


TRANSPORT_ERROR = -32099
"""JSON-RPC error code for requests that a transport failed; from the range left to implementers."""

NOT_SENT = -32098
"""The same, where the server certainly did nothing about the request."""

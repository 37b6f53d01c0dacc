"""Connections: how many there are, and how long one may take to say what it wants.

uvicorn bounds neither: a client that connects and sends nothing, or a byte a second, or that reads
nothing of what it asked for, would keep its connection for ever. Bodies are bounded in `guard`.
"""

import asyncio
from typing import Any, ClassVar, Final, cast

import h11
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

HEAD_SECONDS: Final = 10.0
"""So long a request may take to name its endpoint and headers."""

READ_SECONDS: Final = 60.0
"""So long a client may leave unread what was sent; whoever follows a run can come back for it."""

CONNECTIONS_MAX: Final = 256
"""So many connections are open; a further one takes the place of the one that waits longest."""

HEAD_BYTES_MAX: Final = 16 * 1024
"""Longer request lines and headers are refused."""

_REFUSED: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nContent-Length: 0\r\n"
    b"Connection: close\r\n\r\n"
)


class BoundedProtocol(H11Protocol):
    """HTTP/1.1 of uvicorn with these bounds; a test takes smaller ones."""

    head_seconds: ClassVar[float] = HEAD_SECONDS
    read_seconds: ClassVar[float] = READ_SECONDS
    connections_max: ClassVar[int] = CONNECTIONS_MAX

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._head_timer: asyncio.TimerHandle | None = None
        self._read_timer: asyncio.TimerHandle | None = None
        self._waits_since = self.loop.time()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request, where there is room."""
        if len(self.connections) >= self.connections_max and not self._make_room():
            transport.write(_REFUSED)
            transport.close()
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Take what has come."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        self._unwatch()
        self._end_read_timer()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Give the client a while to read: the buffer of the connection is full."""
        super().pause_writing()
        self._read_timer = self.loop.call_later(self.read_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on: it has read enough."""
        self._end_read_timer()
        super().resume_writing()

    @property
    def is_idle(self) -> bool:
        """Whether no request is being answered."""
        return self.conn.their_state is h11.IDLE

    def _watch(self) -> None:
        """Have the time of a head run while one is due."""
        if not self.is_idle or self.transport.is_closing():
            self._unwatch()
        elif self._head_timer is None:
            self._waits_since = self.loop.time()
            self._head_timer = self.loop.call_later(self.head_seconds, self._give_up)

    def _unwatch(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _end_read_timer(self) -> None:
        if self._read_timer is not None:
            self._read_timer.cancel()
            self._read_timer = None

    def _give_up(self) -> None:
        self._head_timer = None
        if self.is_idle:
            self.transport.abort()

    def _make_room(self) -> bool:
        """End the connection that has waited longest for a request; whether there was one."""
        idle = [
            each
            for each in cast("set[BoundedProtocol]", self.connections)
            if each.is_idle and not each.transport.is_closing()
        ]
        if not idle:
            return False
        oldest = min(idle, key=lambda each: each._waits_since)
        oldest.transport.abort()
        return True

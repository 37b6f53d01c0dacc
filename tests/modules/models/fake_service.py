"""A server on loopback that answers HTTP requests as it was told, and keeps what it was asked."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from core.values import JsonObject

Ending: TypeAlias = Literal["whole", "cut", "hang"]
"""How a response ends: as it should, in the middle, or not until the client leaves."""


@dataclass
class FakeService:
    """`left` is set when the client hangs up while a response hangs.

    `asides` are answers by the beginning of a path, 404 where None: such requests are not kept.
    """

    url: str = ""
    connections: int = 0
    heads: list[str] = field(default_factory=list[str])
    bodies: list[JsonObject] = field(default_factory=list[JsonObject])
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    left: asyncio.Event = field(default_factory=asyncio.Event)
    handlers: set[asyncio.Task[None] | None] = field(default_factory=set[asyncio.Task[None] | None])
    asides: dict[str, JsonObject | None] = field(default_factory=dict[str, JsonObject | None])
    _head: str = ""
    _writes: tuple[bytes, ...] = ()
    _ending: Ending = "whole"
    _then: tuple[str, tuple[bytes, ...], Ending] | None = None

    def answers(
        self,
        status: int,
        body: JsonObject | bytes,
        headers: str = "",
        ending: Ending = "whole",
        kind: str = "application/json",
    ) -> None:
        """A response in one piece; `headers` are whole lines."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self._head = (
            f"HTTP/1.1 {status} Status\r\nContent-Type: {kind}\r\n{headers}"
            f"Content-Length: {len(data)}\r\n\r\n"
        )
        self._writes, self._ending = (data,), ending

    def refuses_once(self, status: int, body: JsonObject) -> None:
        """An error for the next request; what was set before is for those behind it."""
        head, writes, ending = self._head, self._writes, self._ending
        self.answers(status, body)
        self._then = (head, writes, ending)

    def streams(self, *pieces: bytes, ending: Ending = "whole") -> None:
        """A response with server-sent events, each piece of it sent by itself."""
        self._head = (
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
            "Transfer-Encoding: chunked\r\n\r\n"
        )
        chunks = [b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces]
        self._writes = (*chunks, b"0\r\n\r\n") if ending == "whole" else tuple(chunks)
        self._ending = ending

    def is_silent(self) -> None:
        """No response at all."""
        self._head, self._writes, self._ending = "", (), "hang"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.handlers.add(asyncio.current_task())
        try:
            while await self._serve_one(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            self.left.set()
        finally:
            writer.close()

    async def _serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        lines = head.lower().splitlines()
        lengths = [line.split(":")[1] for line in lines if line.startswith("content-length:")]
        length = int(lengths[0]) if lengths else 0
        path = head.split()[1].partition("?")[0]
        if (known := next((p for p in self.asides if path.startswith(p)), None)) is not None:
            await reader.readexactly(length)
            writer.write(_aside(self.asides[known]))
            return True
        self.heads.append(head)
        self.bodies.append(json.loads(await reader.readexactly(length)))
        self.asked.set()
        writer.write(self._head.encode())
        for piece in self._writes:
            writer.write(piece)
            await writer.drain()
        if self._then is not None:
            (self._head, self._writes, self._ending), self._then = self._then, None
            return True
        if self._ending == "hang":
            await reader.read()  # until the client hangs up
            self.left.set()
        return self._ending == "whole"


def _aside(document: JsonObject | None) -> bytes:
    data = json.dumps(document or {"error": {"message": "Not found."}}).encode()
    status = "404 Not Found" if document is None else "200 OK"
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(data)}"
    return head.encode() + b"\r\n\r\n" + data


@asynccontextmanager
async def fake_service() -> AsyncGenerator[FakeService]:
    fake = FakeService()
    server = await asyncio.start_server(fake.serve, "127.0.0.1", 0)
    async with server:
        fake.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield fake
        async with asyncio.timeout(10):
            await asyncio.gather(*(task for task in fake.handlers if task is not None))

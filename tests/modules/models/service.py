"""A service of models on loopback: it answers HTTP requests as it was told, and keeps them.

`service.plays(handler, …)` gives the next requests to handlers, the last of which stays;
`service.on[path] = handler` answers all requests to paths that begin so, which `bodies` leaves out.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, TypeVar

from core.values import Json, JsonObject

Ending: TypeAlias = Literal["whole", "cut", "hang"]
"""How a response ends: as it should, in the middle, or not until the client leaves."""

END_SECONDS = 10.0
"""How long the connections may take to end once the test is over: the client has to close them."""


@dataclass
class Exchange:
    """One request, and the means to answer it; `gone` is set when the client has hung up."""

    head: str
    body: JsonObject
    writer: asyncio.StreamWriter
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    is_over: bool = False

    @property
    def path(self) -> str:
        return self.head.split()[1]

    @property
    def headers(self) -> dict[str, str]:
        pairs = (line.split(": ", 1) for line in self.head.strip().split("\r\n")[1:])
        return {name.lower(): value for name, value in pairs}

    async def reply(
        self, body: bytes, status: int = 200, kind: str = "application/json", headers: str = ""
    ) -> None:
        """A response in one piece; `headers` are whole lines."""
        length = f"Content-Length: {len(body)}\r\n\r\n"
        head = f"HTTP/1.1 {status} Status\r\nContent-Type: {kind}\r\n{headers}{length}"
        await self.send(head.encode() + body)

    async def json(self, value: Json, status: int = 200) -> None:
        await self.reply(json.dumps(value).encode(), status)

    async def begin(self, kind: str = "application/x-ndjson") -> None:
        """Begin a stream."""
        chunked = "Transfer-Encoding: chunked\r\n\r\n"
        await self.send(f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n{chunked}".encode())

    async def write(self, data: bytes) -> None:
        """A piece of a stream, in an HTTP chunk of its own."""
        await self.send(b"%x\r\n%b\r\n" % (len(data), data))

    async def line(self, value: Json) -> None:
        await self.write(json.dumps(value).encode() + b"\n")

    async def lines(self, *values: Json) -> None:
        """A whole stream of lines."""
        await self.begin()
        for value in values:
            await self.line(value)
        await self.end()

    async def end(self) -> None:
        """End a stream in good order."""
        await self.send(b"0\r\n\r\n")

    async def send(self, data: bytes) -> None:
        """Bytes as they are."""
        self.writer.write(data)
        await self.writer.drain()

    def cut(self) -> None:
        """End the connection, whatever was promised."""
        self.is_over = True


Handler: TypeAlias = Callable[[Exchange], Awaitable[None]]


def pieces(*data: bytes, ending: Ending = "whole", kind: str = "text/event-stream") -> Handler:
    """Streams these, each sent by itself."""

    async def play(exchange: Exchange) -> None:
        await exchange.begin(kind)
        for each in data:
            await exchange.write(each)
        if ending == "whole":
            await exchange.end()
        elif ending == "cut":
            exchange.cut()
        else:
            await exchange.gone.wait()

    return play


def sends(data: str | bytes, kind: str = "text/event-stream") -> Handler:
    """Sends a body as it stands."""
    return answers(200, data.encode() if isinstance(data, str) else data, kind=kind)


def answers(
    status: int, body: Json | bytes, headers: str = "", kind: str = "application/json"
) -> Handler:
    """Sends a response in one piece; `headers` are whole lines."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()

    async def play(exchange: Exchange) -> None:
        await exchange.reply(data, status, kind, headers)

    return play


def refuses(
    status: int, error: Json = None, headers: Mapping[str, str] | None = None, **fields: Json
) -> Handler:
    """Answers with a status and an error document, OpenAI's form by default."""
    lines = "".join(f"{name}: {value}\r\n" for name, value in (headers or {}).items())
    return answers(status, error or {"error": {"message": "No.", **fields}}, lines)


async def silence(exchange: Exchange) -> None:
    """No response at all."""
    await exchange.gone.wait()


@dataclass
class FakeService:
    """`begun` is set with the first request, `left` when a client hung up before the end."""

    url: str = ""
    connections: int = 0
    seen: list[Exchange] = field(default_factory=list[Exchange])
    bodies: list[JsonObject] = field(default_factory=list[JsonObject])
    on: dict[str, Handler] = field(default_factory=dict[str, Handler])
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    left: asyncio.Event = field(default_factory=asyncio.Event)
    handlers: set[asyncio.Task[None] | None] = field(default_factory=set[asyncio.Task[None] | None])
    _plays: list[Handler] = field(default_factory=list[Handler])

    @property
    def place(self) -> str:
        """`host:port`."""
        return self.url.partition("://")[2]

    @property
    def heads(self) -> list[str]:
        """Request lines and headers, oldest first."""
        return [exchange.head for exchange in self.seen]

    def asked(self, path: str) -> list[JsonObject]:
        """The bodies of the requests to a path."""
        return [exchange.body for exchange in self.seen if exchange.path == path]

    def plays(self, *handlers: Handler) -> None:
        """Hand the next requests to these; the last one to all that follow."""
        self._plays = [*handlers]

    def streams(self, *data: bytes, ending: Ending = "whole") -> None:
        """Have events streamed, each piece sent by itself."""
        self.plays(pieces(*data, ending=ending))

    def answers(
        self, status: int, body: Json | bytes, headers: str = "", kind: str = "application/json"
    ) -> None:
        """Have a response sent in one piece."""
        self.plays(answers(status, body, headers, kind))

    async def answer(self, exchange: Exchange) -> None:
        """Answer what no path in `on` is for."""
        self.bodies.append(exchange.body)
        self.begun.set()
        await (self._plays.pop(0) if len(self._plays) > 1 else self._plays[0])(exchange)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection: a request after the other, each given up when the client hangs up."""
        self.connections += 1
        self.handlers.add(asyncio.current_task())
        next_byte = asyncio.create_task(reader.read(1))
        try:
            while first := await next_byte:
                exchange = await _read(first, reader, writer)
                self.seen.append(exchange)
                next_byte = asyncio.create_task(reader.read(1))
                await self._reply(exchange, next_byte)
                if exchange.is_over:
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            self.left.set()
        finally:
            next_byte.cancel()
            writer.close()

    async def _reply(self, exchange: Exchange, next_byte: asyncio.Task[bytes]) -> None:
        known = next((path for path in self.on if exchange.path.startswith(path)), None)
        handler = self.answer if known is None else self.on[known]
        work = asyncio.ensure_future(handler(exchange))
        await asyncio.wait({work, next_byte}, return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            exchange.gone.set()
            self.left.set()
            work.cancel()
            await asyncio.wait({work})
        if not work.cancelled():
            work.result()


async def _read(
    first: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> Exchange:
    head = (first + await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    exchange = Exchange(head, {}, writer)
    length = int(exchange.headers.get("content-length", "0"))
    exchange.body = json.loads(await reader.readexactly(length) or b"{}")
    return exchange


ServiceT = TypeVar("ServiceT", bound=FakeService)


@asynccontextmanager
async def serving(fake: ServiceT) -> AsyncGenerator[ServiceT]:
    """The service, on a free port; at the end its connections have to have been closed."""
    server = await asyncio.start_server(fake.serve, "127.0.0.1", 0)
    async with server:
        fake.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield fake
        async with asyncio.timeout(END_SECONDS):
            await asyncio.gather(*(task for task in fake.handlers if task is not None))

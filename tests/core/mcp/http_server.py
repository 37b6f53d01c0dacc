"""A real MCP server over Streamable HTTP on loopback, with whatever faults a test wants.

It answers as the protocol asks: a session id, JSON for each request, an open event stream for GET,
an end for DELETE. `server.on[name] = handler` replaces what it does for a JSON-RPC method, or for
"GET" and "DELETE". `server.seen` keeps what it was asked.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeAlias, cast

from core.values import JsonObject

SESSION = "session-1"
PHRASES = {200: "OK", 202: "Accepted", 307: "Temporary Redirect"}


@dataclass(frozen=True, slots=True)
class Seen:
    """One request; `message` is its body, empty for GET and DELETE."""

    verb: str
    path: str
    headers: dict[str, str]
    message: JsonObject

    @property
    def name(self) -> str:
        """The JSON-RPC method, "(answer)" for an answer of the client, else the HTTP method."""
        if self.verb != "POST":
            return self.verb
        return str(self.message.get("method", "(answer)"))


class Exchange:
    """One request and the means to answer it."""

    def __init__(
        self,
        seen: Seen,
        server: "McpHttpServer",
        writer: asyncio.StreamWriter,
        gone: asyncio.Event,
    ) -> None:
        self.seen = seen
        self.server = server
        self.gone = gone
        """The connection has ended, from either side."""
        self._writer = writer

    @property
    def id(self) -> int:
        number = self.seen.message["id"]
        assert isinstance(number, int)
        return number

    def result(self, **values: str) -> JsonObject:
        return {"jsonrpc": "2.0", "id": self.id, "result": {**values}}

    async def reply(
        self,
        status: int = 200,
        body: bytes = b"",
        kind: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        head = {"content-length": str(len(body)), "content-type": kind, **(headers or {})}
        await self.write(_head(status, head) + body)

    async def json(
        self, value: object, status: int = 200, headers: Mapping[str, str] | None = None
    ) -> None:
        await self.reply(status, json.dumps(value).encode(), "application/json", headers)

    async def stream(self) -> None:
        """Begin an event stream."""
        head = {"content-type": "text/event-stream", "transfer-encoding": "chunked"}
        await self.write(_head(200, head))

    async def event(self, value: object = None, lines: str = "") -> None:
        """One event, `lines` before its data; without a value its data is empty."""
        data = "" if value is None else json.dumps(value)
        await self.text(f"{lines}data: {data}\n\n")

    async def text(self, text: str) -> None:
        """A piece of the stream, as it stands."""
        data = text.encode()
        await self.write(b"%x\r\n%b\r\n" % (len(data), data))

    async def end(self) -> None:
        """End the stream in order."""
        await self.write(b"0\r\n\r\n")

    async def write(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    def cut(self) -> None:
        """Close the connection whatever was promised."""
        self._writer.close()
        self.gone.set()


Handler: TypeAlias = Callable[[Exchange], Awaitable[None]]


class _Reader(asyncio.StreamReader):
    """A reader that tells of the end of its connection while nobody reads."""

    def __init__(self) -> None:
        super().__init__()
        self.gone = asyncio.Event()

    def feed_eof(self) -> None:
        super().feed_eof()
        self.gone.set()

    def set_exception(self, exc: Exception) -> None:
        super().set_exception(exc)
        self.gone.set()


@dataclass
class McpHttpServer:
    """The server; `url` is its endpoint."""

    url: str = ""
    session: str = SESSION
    on: dict[str, Handler] = field(default_factory=dict[str, Handler])
    seen: list[Seen] = field(default_factory=list[Seen])
    connections: int = 0
    news: asyncio.Condition = field(default_factory=asyncio.Condition)
    tasks: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])

    @property
    def names(self) -> list[str]:
        return [seen.name for seen in self.seen]

    async def saw(self, name: str, times: int = 1) -> Seen:
        """Wait until so many requests of that name have come; the last of them."""
        async with self.news:
            await self.news.wait_for(lambda: self.names.count(name) >= times)
        return [seen for seen in self.seen if seen.name == name][times - 1]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection until it ends."""
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        assert isinstance(reader, _Reader)
        self.tasks.add(task)
        try:
            while (seen := await _request(reader)) is not None:
                await self._take(seen, writer, reader.gone)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client has gone, or the test is over
        finally:
            self.tasks.discard(task)
            writer.close()

    async def _take(self, seen: Seen, writer: asyncio.StreamWriter, gone: asyncio.Event) -> None:
        self.seen.append(seen)
        async with self.news:
            self.news.notify_all()
        await self.on.get(seen.name, _as_it_should)(Exchange(seen, self, writer, gone))


async def _as_it_should(exchange: Exchange) -> None:
    match exchange.seen.name:
        case "initialize":
            session = {"mcp-session-id": exchange.server.session}
            await exchange.json(exchange.result(protocolVersion="2025-11-25"), headers=session)
        case "GET":
            await exchange.stream()
            await exchange.gone.wait()
        case "DELETE":
            await exchange.reply(200)
        case name if name == "(answer)" or "id" not in exchange.seen.message:
            await exchange.reply(202)
        case _:
            await exchange.json(exchange.result(said="hello"))


@asynccontextmanager
async def http_server(session: str = SESSION) -> AsyncGenerator[McpHttpServer]:
    """A server on a free port of loopback; its connections are cut at the end."""
    server = McpHttpServer(session=session)
    loop = asyncio.get_running_loop()
    listener = await loop.create_server(
        lambda: asyncio.StreamReaderProtocol(_Reader(), server.serve), "127.0.0.1", 0
    )
    port = cast("tuple[str, int]", listener.sockets[0].getsockname())[1]
    server.url = f"http://127.0.0.1:{port}/mcp"
    try:
        yield server
    finally:
        listener.close()
        for task in set(server.tasks):
            task.cancel()
        if server.tasks:
            await asyncio.wait(set(server.tasks))


def _head(status: int, headers: dict[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} {PHRASES.get(status, 'No')}"]
    lines += [f"{name}: {value}" for name, value in headers.items() if value]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


async def _request(reader: asyncio.StreamReader) -> Seen | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *rest = head.decode().strip().split("\r\n")
    verb, path, _ = first.split(" ")
    headers = {line.partition(":")[0].lower(): line.partition(":")[2].strip() for line in rest}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    message = cast("JsonObject", json.loads(body)) if body else {}
    return Seen(verb, path, headers, message)

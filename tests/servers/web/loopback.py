"""A web of one server on loopback, with real sockets and programmable paths.

    async with loopback_web() as web:
        web.pages["/a"] = page("<p>text")          # a Reply, or a handler for what is no answer
        options = WebOptions(allow_private=("127.0.0.1",))
        await GuardedFetcher(options).fetch(web.url("/a"))
        assert web.asked[0].path == "/a"

Two ways lead a fetcher here. With `allow_private` it reads `http://127.0.0.1:PORT/` as a user
would allow it; so can a server in a process of its own. With `web.public_fetcher()` every host
name is a public one (`resolve`) whose connection is led here at the last moment (`connect`), after
the guard has checked it: so the guard is whole, and `http://any.example/` can be asked for.

`threaded_web()` is the same for tests that block.
"""

import asyncio
import ssl
import threading
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias, cast

from core.base.clock import Clock
from core.base.timing import Timing

if TYPE_CHECKING:
    from httpcore2 import AsyncNetworkStream

    from servers.web.fetching.fetcher import GuardedFetcher
    from servers.web.options import WebOptions

PUBLIC = "93.184.215.14"
"""An address that the guard lets pass."""

HTML = "text/html; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Asked:
    """One request; names of headers in lower case. `path` has no query."""

    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer; its length is told truly unless `headers` tell another."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


def page(text: str, media_type: str = HTML, encoding: str = "utf-8") -> Reply:
    """A page with its type."""
    return Reply(text.encode(encoding), headers={"content-type": media_type})


def redirect(location: str, status: int = 302) -> Reply:
    """An answer that sends on."""
    return Reply(status=status, headers={"location": location})


class Exchange:
    """One request, and the means to answer it in any way."""

    def __init__(self, asked: Asked, writer: asyncio.StreamWriter) -> None:
        self.asked = asked
        self._writer = writer

    async def reply(self, reply: Reply) -> None:
        """A whole answer."""
        head = {"content-length": str(len(reply.body)), "connection": "close", **reply.headers}
        lines = [f"HTTP/1.1 {reply.status} Said", *(f"{key}: {head[key]}" for key in head)]
        await self.write("\r\n".join([*lines, "", ""]).encode() + reply.body)

    async def write(self, data: bytes) -> None:
        """Bytes as they stand; raises ConnectionError once the client has gone."""
        self._writer.write(data)
        await self._writer.drain()

    def cut(self) -> None:
        """Reset the connection."""
        self._writer.transport.abort()

    async def hang(self) -> None:
        """Say nothing more, until the test is over."""
        await asyncio.Event().wait()


Handler: TypeAlias = Callable[[Exchange], Awaitable[None]]


@dataclass
class LoopbackWeb:
    """The server. `pages` answers by path, `asked` keeps the requests in their order."""

    port: int = 0
    scheme: str = "http"
    pages: dict[str, Reply | Handler] = field(default_factory=dict[str, "Reply | Handler"])
    asked: list[Asked] = field(default_factory=list[Asked])
    resolved: list[str] = field(default_factory=list[str])
    connected: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    tasks: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        """The address of a path, with this server's port."""
        return f"{self.scheme}://{host}:{self.port}{path}"

    @property
    def paths(self) -> list[str]:
        """What was asked for, in order."""
        return [asked.path for asked in self.asked]

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        """Every name has one public address; `resolved` keeps the names."""
        self.resolved.append(host)
        return [PUBLIC]

    async def connect(self, address: str, port: int, seconds: float) -> "AsyncNetworkStream":
        """Every checked address leads to this server; `connected` keeps the addresses."""
        from servers.web.fetching.transport import system_connector

        self.connected.append((address, port))
        return await system_connector("127.0.0.1", self.port, seconds)

    def public_fetcher(
        self, options: "WebOptions | None" = None, clock: Clock = time.monotonic
    ) -> "GuardedFetcher":
        """A fetcher that finds this server at every public name, without waits between tries."""
        from servers.web.fetching.fetcher import GuardedFetcher
        from servers.web.options import WebOptions

        return GuardedFetcher(
            options or WebOptions(),
            resolver=self.resolve,
            connector=self.connect,
            timing=Timing(clock, _at_once),
        )

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection's one request."""
        task = asyncio.current_task()
        assert task is not None
        self.tasks.add(task)
        try:
            asked = await _request(reader)
            self.asked.append(asked)
            told = self.pages.get(asked.path, Reply(b"no such page", 404))
            exchange = Exchange(asked, writer)
            await (exchange.reply(told) if isinstance(told, Reply) else told(exchange))
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError, ssl.SSLError):
            pass  # the client has gone, or the test is over
        finally:
            self.tasks.discard(task)
            writer.close()


@asynccontextmanager
async def loopback_web(tls: ssl.SSLContext | None = None) -> AsyncGenerator[LoopbackWeb]:
    """A server on a free port of loopback; its connections are cut at the end."""
    web = LoopbackWeb(scheme="https" if tls else "http")
    listener = await asyncio.start_server(web.serve, "127.0.0.1", 0, ssl=tls)
    web.port = cast("tuple[str, int]", listener.sockets[0].getsockname())[1]
    try:
        yield web
    finally:
        listener.close()
        for task in set(web.tasks):
            task.cancel()
        if web.tasks:
            await asyncio.wait(set(web.tasks))


@contextmanager
def threaded_web() -> Generator[LoopbackWeb]:
    """The same beside a test that blocks; set `pages` before they are asked for."""
    started: list[LoopbackWeb] = []
    ready, over = threading.Event(), threading.Event()

    async def live() -> None:
        async with loopback_web() as web:
            started.append(web)
            ready.set()
            await asyncio.to_thread(over.wait)

    thread = threading.Thread(target=lambda: asyncio.run(live()), daemon=True)
    thread.start()
    assert ready.wait(10)
    try:
        yield started[0]
    finally:
        over.set()
        thread.join(10)


async def _at_once(seconds: float) -> None:
    await asyncio.sleep(0)


async def _request(reader: asyncio.StreamReader) -> Asked:
    head = await reader.readuntil(b"\r\n\r\n")
    first, *rest = head.decode("latin-1").strip().split("\r\n")
    method, target, _ = first.split(" ")
    headers = {line.partition(":")[0].lower(): line.partition(":")[2].strip() for line in rest}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    path, _, query = target.partition("?")
    return Asked(method, path, query, headers, body)

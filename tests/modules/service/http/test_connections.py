import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import httpx2
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send

from modules.service.http.connections import BoundedProtocol
from tests.modules.service.http.served import WAIT_SECONDS, listening

HEAD = b"GET /hello HTTP/1.1\r\nHost: localhost\r\n"


class Hasty(BoundedProtocol):
    """A protocol that gives clients little time, and few connections."""

    head_seconds = 0.2
    read_seconds = 0.2
    connections_max = 3


class Roomy(BoundedProtocol):
    """A protocol that has two connections and all the time."""

    connections_max = 2


async def hello(request: Request) -> Response:
    return PlainTextResponse("hello")


class _Much(StreamingResponse):
    """An answer without end, which tells when nobody is there to read it any more."""

    def __init__(self, ended: asyncio.Event) -> None:
        super().__init__(self._endless())
        self._ended = ended

    async def _endless(self) -> AsyncIterator[bytes]:
        while True:
            await asyncio.sleep(0)  # others have their turn, also when nothing is written any more
            yield b"x" * 65_536

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._ended.set()


async def much(request: Request) -> Response:
    return _Much(asyncio.Event())


APP = Router([Route("/hello", hello), Route("/much", much)])


@asynccontextmanager
async def connected(url: str) -> AsyncGenerator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    host, _, port = url.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port), limit=4_096)
    try:
        yield reader, writer
    finally:
        writer.close()


async def rest(reader: asyncio.StreamReader) -> bytes:
    """All that still comes; a connection that is aborted ends, too."""
    try:
        return await asyncio.wait_for(reader.read(), WAIT_SECONDS)
    except ConnectionResetError:
        return b""


async def test_a_client_that_says_nothing_is_let_go() -> None:
    async with listening(APP, Hasty) as url, connected(url) as (reader, _):
        assert await rest(reader) == b""


async def test_a_client_that_never_ends_its_head_is_let_go() -> None:
    async with listening(APP, Hasty) as url, connected(url) as (reader, writer):
        ended = asyncio.create_task(rest(reader))
        writer.write(HEAD)
        while not ended.done():  # a byte now and then does not help
            writer.write(b"X")
            await asyncio.wait({ended}, timeout=0.02)
        assert ended.result() == b""


async def test_a_client_that_reads_nothing_is_let_go() -> None:
    ended = asyncio.Event()

    async def much(request: Request) -> Response:
        return _Much(ended)

    app = Router([Route("/much", much)])
    async with listening(app, Hasty) as url, connected(url) as (_, writer):
        writer.write(b"GET /much HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await asyncio.wait_for(ended.wait(), WAIT_SECONDS)


async def test_a_request_in_pieces_is_answered() -> None:
    async with listening(APP, Hasty) as url, connected(url) as (reader, writer):
        for at in range(0, len(HEAD), 8):
            writer.write(HEAD[at : at + 8])
            await writer.drain()
        writer.write(b"Connection: close\r\n\r\n")
        assert (await rest(reader)).endswith(b"hello")


async def test_a_further_connection_takes_the_place_of_the_one_that_waits_longest() -> None:
    async with listening(APP, Roomy) as url, AsyncExitStack() as stack:
        silent = [await stack.enter_async_context(connected(url)) for _ in range(2)]
        for _, writer in silent:
            writer.write(HEAD)
            await writer.drain()
        async with httpx2.AsyncClient(base_url=url, timeout=WAIT_SECONDS) as http:
            assert (await http.get("/hello")).text == "hello"
        assert await rest(silent[0][0]) == b""
        silent[1][1].write(b"Connection: close\r\n\r\n")
        assert (await rest(silent[1][0])).endswith(b"hello")


async def test_without_an_idle_connection_a_further_one_is_refused() -> None:
    async with listening(APP, Roomy) as url, AsyncExitStack() as stack:
        for _ in range(2):
            reader, writer = await stack.enter_async_context(connected(url))
            writer.write(b"GET /much HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert b"200" in await reader.readline()
        reader, writer = await stack.enter_async_context(connected(url))
        writer.write(HEAD + b"\r\n")
        assert b" 503 " in await reader.readline()

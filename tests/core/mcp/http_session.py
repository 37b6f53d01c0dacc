"""HTTP transports in a session with a scripted server, and messages for them."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from config.servers import ServerSpec
from core.mcp.http import HttpTransport
from core.mcp.peer import NOT_SENT, TRANSPORT_ERROR
from core.mcp.wire import MESSAGE_BYTES_MAX
from core.values import JsonObject
from tests.core.mcp.http_server import Exchange, Handler, McpHttpServer, http_server

BEARER = "Bearer s3cret-token"
WHERE = "in the file of this test"
Inbox = asyncio.Queue[JsonObject]


def spec(url: str, token: str = "") -> ServerSpec:
    headers = {"authorization": token} if token else {}
    return ServerSpec("web", (), Path.cwd(), url=url, headers=headers, origin=WHERE)


@asynccontextmanager
async def opened(
    where: McpHttpServer | str, token: str = "", *, bytes_max: int = MESSAGE_BYTES_MAX
) -> AsyncGenerator[tuple[HttpTransport, Inbox]]:
    """An open transport, and what it delivers; all within ten seconds."""
    url = where if isinstance(where, str) else where.url
    transport = HttpTransport(spec(url, token), bytes_max)
    inbox: Inbox = asyncio.Queue()
    async with asyncio.timeout(10):
        await transport.open(inbox.put_nowait)
        try:
            yield transport, inbox
        finally:
            await transport.aclose()


@asynccontextmanager
async def in_session(
    server: McpHttpServer, token: str = ""
) -> AsyncGenerator[tuple[HttpTransport, Inbox]]:
    """As `opened`, with the handshake done."""
    async with opened(server, token) as (transport, inbox):
        await transport.send(request("initialize", 0))
        await inbox.get()
        transport.negotiated("2025-11-25")
        await transport.send(notification("notifications/initialized"))
        yield transport, inbox


@asynccontextmanager
async def served(**handlers: Handler) -> AsyncGenerator[McpHttpServer]:
    """A server that does as it should but for these methods ("/" is written "__")."""
    async with http_server() as server:
        server.on = {name.replace("__", "/"): handler for name, handler in handlers.items()}
        yield server


def request(method: str = "tools/call", number: int = 1) -> JsonObject:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": {}}


def notification(method: str, **params: int) -> JsonObject:
    return {"jsonrpc": "2.0", "method": method, "params": {**params}}


def progress(done: int) -> JsonObject:
    return notification("notifications/progress", progress=done)


def answer(number: int = 1, said: str = "hello") -> JsonObject:
    return {"jsonrpc": "2.0", "id": number, "result": {"said": said}}


async def fault(transport: HttpTransport, inbox: Inbox) -> str:
    """The text of the error that a request comes to."""
    await transport.send(request())
    return text_of(await inbox.get())


def text_of(message: JsonObject) -> str:
    error = message["error"]
    assert isinstance(error, dict)
    assert error["code"] in (TRANSPORT_ERROR, NOT_SENT)
    assert isinstance(error["message"], str)
    return error["message"]


def replying(status: int, body: bytes = b"", kind: str = "", **headers: str) -> Handler:
    named = {name.replace("_", "-"): value for name, value in headers.items()}

    async def reply(exchange: Exchange) -> None:
        await exchange.reply(status, body, kind, named)

    return reply


async def silent(exchange: Exchange) -> None:
    """Never answer."""
    await exchange.gone.wait()


async def silent_stream(exchange: Exchange) -> None:
    """Begin a stream, and say nothing on it."""
    await exchange.stream()
    await exchange.gone.wait()


def streaming(*events: JsonObject, lines: str = "") -> Handler:
    """Streams these events, then the answer; `lines` stand before the first."""

    async def stream(exchange: Exchange) -> None:
        await exchange.stream()
        if lines:
            await exchange.text(lines)
        for event in (*events, answer(exchange.id)):
            await exchange.event(event)
        await exchange.end()

    return stream


def slowly(released: asyncio.Event, status: int = 200) -> Handler:
    """Answers once it may."""

    async def wait(exchange: Exchange) -> None:
        await released.wait()
        if status == 200:
            await exchange.json(answer(exchange.id))
        else:
            await exchange.reply(status)

    return wait

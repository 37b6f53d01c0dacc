"""An Ollama server on loopback, after docs/api.md of ollama/ollama, with faults on order.

It knows the models that a test gives it. `server.on[path] = handler` replaces what it does at a
path; `server.seen` keeps what it was asked.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TypeAlias

from config.models_file import ModelEntry
from core.ports import ModelRequest, ReplyDelta
from core.values import Json, JsonObject
from modules.models.ollama.model import OllamaModel

REQUEST = ModelRequest("decision", "You plan. Add 1 and 2.", prefix_characters=9)

SHOWN: JsonObject = {
    "parameters": 'stop                           "<|im_end|>"',
    "template": "{{ .Prompt }}",
    "details": {"family": "qwen2", "parameter_size": "7.6B", "quantization_level": "Q4_K_M"},
    "model_info": {"general.architecture": "qwen2", "qwen2.context_length": 32768},
    "capabilities": ["completion", "tools"],
}
"""What /api/show says of a model by default."""


def listed(name: str, **fields: Json) -> JsonObject:
    """A model as /api/tags lists it."""
    return {
        "name": name,
        "model": name,
        "modified_at": "2026-05-10T08:06:48.639712648-07:00",
        "size": 4683075271,
        "digest": "0a8c266910232fd3291e71e5ba1e058cc5af9d411192cf88b6d30e92b6e73163",
        "details": {
            "format": "gguf",
            "family": "qwen2",
            "families": ["qwen2"],
            "parameter_size": "7.6B",
            "quantization_level": "Q4_K_M",
        },
        **fields,
    }


def chunk(content: str = "", **message: Json) -> JsonObject:
    """A part of a chat's reply."""
    return {
        "model": "m",
        "created_at": "2026-08-04T08:52:19.385406455-07:00",
        "message": {"role": "assistant", "content": content, **message},
        "done": False,
    }


def last(content: str = "", reason: str = "stop", **fields: Json) -> JsonObject:
    """The last part of a chat's reply."""
    counts: JsonObject = {"prompt_eval_count": 26, "eval_count": 298, "total_duration": 4883583458}
    return {**chunk(content), "done": True, "done_reason": reason, **counts, **fields}


@dataclass
class Asked:
    """One request, and the means to answer it; `gone` is set when the client has hung up."""

    verb: str
    path: str
    headers: dict[str, str]
    body: JsonObject
    writer: asyncio.StreamWriter
    gone: asyncio.Event = field(default_factory=asyncio.Event)

    async def json(self, value: Json, status: int = 200) -> None:
        """A reply in one piece."""
        await self.raw(json.dumps(value).encode(), status)

    async def raw(self, body: bytes, status: int = 200) -> None:
        head = (
            f"HTTP/1.1 {status} Status\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        self.writer.write(head.encode() + body)
        await self.writer.drain()

    async def begin(self) -> None:
        """Begin a stream of lines."""
        self.writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
        )
        await self.writer.drain()

    async def write(self, data: bytes) -> None:
        """Bytes of a stream, in an HTTP chunk of their own."""
        self.writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        await self.writer.drain()

    async def line(self, value: Json) -> None:
        """A line of a stream."""
        await self.write(json.dumps(value).encode() + b"\n")

    async def end(self) -> None:
        """End a stream in good order."""
        self.writer.write(b"0\r\n\r\n")
        await self.writer.drain()

    async def lines(self, *values: Json) -> None:
        """A whole stream."""
        await self.begin()
        for value in values:
            await self.line(value)
        await self.end()

    def cut(self) -> None:
        """End the connection, whatever was under way."""
        self.writer.transport.abort()


Handler: TypeAlias = Callable[[Asked], Awaitable[None]]


@dataclass
class OllamaServer:
    """What is installed, what is in memory, how a chat is answered, and what was asked."""

    models: list[JsonObject] = field(default_factory=lambda: [listed("qwen:7b")])
    running: list[JsonObject] = field(default_factory=list[JsonObject])
    shown: JsonObject = field(default_factory=lambda: dict(SHOWN))
    chat: list[JsonObject] = field(default_factory=lambda: [chunk("Hello"), chunk("!"), last()])
    on: dict[str, Handler] = field(default_factory=dict[str, Handler])
    seen: list[Asked] = field(default_factory=list[Asked])
    connections: int = 0
    handlers: set[asyncio.Task[None] | None] = field(default_factory=set[asyncio.Task[None] | None])
    place: str = ""

    @property
    def environ(self) -> dict[str, str]:
        """An environment in which Ollama is this server."""
        return {"OLLAMA_HOST": self.place}

    def asked(self, path: str) -> list[JsonObject]:
        """The bodies of the requests to a path."""
        return [asked.body for asked in self.seen if asked.path == path]

    def options(self) -> JsonObject:
        """The options of the last chat."""
        options = self.asked("/api/chat")[-1]["options"]
        assert isinstance(options, dict)
        return options

    async def answer(self, asked: Asked) -> None:
        """As Ollama answers."""
        models: list[Json] = [*self.models]
        running: list[Json] = [*self.running]
        match asked.path:
            case "/api/tags":
                await asked.json({"models": models})
            case "/api/ps":
                await asked.json({"models": running})
            case _ if asked.body["model"] not in [model["name"] for model in self.models]:
                missing = f"model '{asked.body['model']}' not found"
                await asked.json({"error": missing}, 404)
            case "/api/show":
                await asked.json(self.shown)
            case "/api/chat":
                await asked.lines(*self.chat)
            case _:
                await asked.raw(b"404 page not found", 404)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection: a request after the other, each given up when the client hangs up."""
        self.connections += 1
        self.handlers.add(asyncio.current_task())
        next_byte = asyncio.create_task(reader.read(1))
        try:
            with suppress(asyncio.IncompleteReadError, ConnectionError):
                while first := await next_byte:
                    asked = await _read(first, reader, writer)
                    self.seen.append(asked)
                    next_byte = asyncio.create_task(reader.read(1))
                    await self._reply(asked, next_byte)
        finally:
            next_byte.cancel()
            writer.close()

    async def _reply(self, asked: Asked, next_byte: asyncio.Task[bytes]) -> None:
        work = asyncio.ensure_future(self.on.get(asked.path, self.answer)(asked))
        await asyncio.wait({work, next_byte}, return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            asked.gone.set()
            work.cancel()
            await asyncio.wait({work})
        if not work.cancelled():
            work.result()


async def _read(first: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Asked:
    head = (first + await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    start, *rest = head.strip().split("\r\n")
    verb, path, _ = start.split()
    headers = dict(line.split(": ", 1) for line in rest)
    headers = {name.lower(): value for name, value in headers.items()}
    text = await reader.readexactly(int(headers.get("content-length", "0")))
    return Asked(verb, path, headers, json.loads(text or "{}"), writer)


@asynccontextmanager
async def ollama_server(*names: str) -> AsyncGenerator[OllamaServer]:
    """A server with these models, by default `qwen:7b`."""
    fake = OllamaServer()
    if names:
        fake.models = [listed(name) for name in names]
    server = await asyncio.start_server(fake.serve, "127.0.0.1", 0)
    async with server:
        host, port = server.sockets[0].getsockname()
        fake.place = f"{host}:{port}"
        yield fake
        handlers = [task for task in fake.handlers if task is not None]
        for task in handlers:
            task.cancel()
        async with asyncio.timeout(10):
            ended = await asyncio.gather(*handlers, return_exceptions=True)
        assert not [error for error in ended if isinstance(error, Exception)]


@asynccontextmanager
async def ollama(
    fake: OllamaServer, name: str = "qwen:7b", **fields: Json
) -> AsyncGenerator[OllamaModel]:
    """A model of the server, with these fields in its entry; ten seconds for all."""
    entry = ModelEntry.model_validate({"type": "ollama", "model": name, **fields})
    model = OllamaModel(entry, fake.environ)
    try:
        async with asyncio.timeout(10):
            yield model
    finally:
        await model.aclose()
        await model.aclose()


async def deltas(model: OllamaModel, request: ModelRequest = REQUEST) -> list[ReplyDelta]:
    """All that a request is answered with."""
    return [delta async for delta in model.stream(request)]

"""A model service's reply as it comes in: server-sent events, lines of JSON, or one JSON body.

Server-sent events follow the WHATWG HTML standard (`core.base.sse`), lines of JSON what Ollama
calls NDJSON. Both are read in time linear in their length, with bounds on each part and the whole.
"""

import asyncio
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing, suppress
from typing import Final

import httpx2

from core.base.sse import EventParser, EventTooLong
from core.errors import ModelUnavailable
from core.mcp.wire import LineSplitter, MessageTooLong
from core.ports import ReplyDelta, ReplyEnd
from core.turn import Usage
from core.values import JsonObject
from modules.models.http.errors import ServiceErrors
from modules.models.http.json_text import json_value

EVENT_BYTES_MAX = 1024 * 1024
"""Longest event or line: a delta has some hundred bytes."""

JSON_BODY_BYTES_MAX = 2 * 1024 * 1024
"""Longest reply in one piece."""

STREAM_BYTES_MAX = 256 * 1024 * 1024
"""Longest stream: a reply of a million characters, each in a delta of 256 bytes."""

ERROR_BODY_BYTES_MAX = 16 * 1024
"""How much of a body that is no reply is read, such as a refusal's."""

ERROR_BODY_SECONDS = 2.0
"""How long that may take to come."""

PIECE_BYTES = 4096
"""How much of a stream is taken apart at a time: every line costs, and all may be empty."""

SLICE_SECONDS = 0.01
"""After so long the other tasks have their turn, however much came at once."""

LINGER_SECONDS = 0.5
"""How long the end of a stream is waited for once the reply is whole: only then the connection
can be used again."""

_HALF_ENDS: Final = re.compile(
    rb"(?<!\\)(?:\\\\){0,50}(?P<half>\\u[dD][89abAB][0-9a-fA-F]{2}"
    rb"|[\xf0-\xf4][\x80-\xbf]{0,2}|[\xe0-\xef][\x80-\xbf]?|[\xc2-\xdf])(?=\")"
)
"""The first half of a character, with which a text ends."""

_HALF_BEGINS: Final = re.compile(rb'(?<!\\)"(?=\\u[dD][c-fC-F]|[\x80-\xbf])')
"""A text that begins with the second."""

DONE = b"[DONE]"
"""The data of the event that ends a stream of OpenAI's protocol."""


class ReplyReader(ABC):
    """Reads the pieces of one reply: what each adds, how all of it ended.

    Attributes:
        reply: what it reads from.
        errors: makes the service's errors.
        usage: what the reply has taken so far; one that fails is billed all the same.
        is_complete: whether all of the reply is there, though the end of its stream may not be.
    """

    def __init__(self, reply: "ServiceReply") -> None:
        self.reply = reply
        self.errors = reply.errors
        self.usage = Usage(model_calls=1)
        self.is_complete = False

    @abstractmethod
    def feed(self, piece: JsonObject, /) -> Iterable[ReplyDelta]:
        """What one more piece adds; raises ModelUnavailable where the service failed."""

    @abstractmethod
    def end(self) -> Iterable[ReplyDelta]:
        """What is left when no piece comes any more: `ReplyEnd`, and an error behind it, if any."""


async def deltas_of(
    pieces: AsyncGenerator[JsonObject],
    reader: ReplyReader,
    when_complete: Callable[[], None] | None = None,
) -> AsyncGenerator[ReplyDelta, None]:
    """The deltas of a reply as it is written; `when_complete` is called once it is all there.

    Raises:
        ModelUnavailable: the service failed before that, or the reply is of no use.
    """
    has_begun = False
    try:
        async with aclosing(pieces):
            async for piece in pieces:
                has_begun = True
                for delta in reader.feed(piece):
                    yield delta
                if reader.is_complete and when_complete is not None:
                    when_complete()
    except ModelUnavailable:
        if not reader.is_complete:
            if has_begun:
                yield ReplyEnd(reader.usage)
            raise
    for delta in reader.end():
        yield delta


class HalvesJoined:
    """Puts a character together that a service has cut in two, each half at a text's end.

    Services cut a stream by tokens, and an emoji is often two: half of a surrogate pair, or some
    bytes of it, end one event, and the rest begins the next.
    """

    def __init__(self) -> None:
        self._half = b""

    def feed(self, piece: bytes) -> bytes:
        """The piece with the half that was left of the one before, without its own."""
        half, self._half = self._half, b""
        if half and (begins := _HALF_BEGINS.search(piece)) is not None:
            piece = piece[: begins.end()] + half + piece[begins.end() :]
        if (ends := _HALF_ENDS.search(piece)) is not None:
            self._half = ends["half"]
            piece = piece[: ends.start("half")] + piece[ends.end("half") :]
        return piece


class ServiceReply:
    """A successful response whose body is still to be read, in one of three ways.

    Attributes:
        errors: makes the service's errors.
        media_type: its content type in small letters, without parameters.
        is_done: becomes true when `events` meets `[DONE]`.
    """

    def __init__(self, response: httpx2.Response, errors: ServiceErrors) -> None:
        self.errors = errors
        content_type: str = response.headers.get("content-type", "")
        self.media_type = content_type.partition(";")[0].strip().lower()
        self.is_done = False
        self._ends_at: float | None = None  # in seconds of the event loop's clock
        self._response = response

    def expect_end(self, seconds: float = LINGER_SECONDS) -> None:
        """What is left of the body may take that long, all of it; the first to say so counts.

        To be called while the body is read, once all is there that is needed: a service that goes
        on sending signs of life must not keep the reply.
        """
        if self._ends_at is None:
            self._ends_at = asyncio.get_running_loop().time() + seconds

    async def events(self) -> AsyncGenerator[bytes]:
        """The data of each server-sent event that has some, up to the end or `[DONE]`.

        An event counts that the end of the body cuts off behind a whole line: some servers leave
        out the last empty line.

        Raises:
            ModelUnavailable: the connection broke (transient), or a bound was passed.
        """
        parser = EventParser(EVENT_BYTES_MAX)
        try:
            async with aclosing(self._pieces()) as pieces:
                async for piece in pieces:
                    for event in parser.feed(piece):
                        if event.data.strip() == DONE:
                            self.is_done = True
                            self.expect_end()
                        elif event.data and not self.is_done:
                            yield event.data
        except EventTooLong as cap:
            raise self.errors.too_long(f"an event of more than {cap}") from None
        except ModelUnavailable:
            if not self.is_done:
                raise

    async def lines(self) -> AsyncGenerator[bytes]:
        """The lines that are not blank, the last with or without its end.

        Raises:
            ModelUnavailable: the connection broke (transient), or a bound was passed.
        """
        splitter = LineSplitter(EVENT_BYTES_MAX)
        try:
            async with aclosing(self._pieces()) as pieces:
                async for piece in pieces:
                    for line in splitter.feed(piece):
                        if line := line.strip():
                            yield line
        except MessageTooLong as cap:
            raise self.errors.too_long(f"a line {cap}") from None

    async def objects(self, texts: AsyncGenerator[bytes]) -> AsyncGenerator[JsonObject]:
        """The objects that events or lines hold.

        Raises:
            ModelUnavailable: one holds none, or reports an error; or as `events`.
        """
        halves = HalvesJoined()
        async with aclosing(texts):
            async for piece in texts:
                text = halves.feed(piece)
                document = json_value(text)
                if not isinstance(document, dict):
                    raise self.unreadable(text)
                if (error := self.errors.reported(document)) is not None:
                    raise error
                yield document

    async def json(self) -> JsonObject:
        """The object that the whole body is.

        Raises:
            ModelUnavailable: it is none, or too long; or the connection broke (transient).
        """
        body = bytearray()
        async with aclosing(self._chunks()) as chunks:
            async for chunk in chunks:
                body += chunk
                if len(body) > JSON_BODY_BYTES_MAX:
                    cap = f"{JSON_BODY_BYTES_MAX:,} bytes"
                    raise self.errors.too_long(f"an answer of more than {cap}")
        value = json_value(bytes(body))
        if not isinstance(value, dict):
            raise self.unreadable(bytes(body))
        return value

    def unreadable(self, data: bytes) -> ModelUnavailable:
        """The error of an event, line or body that should be a JSON object and is none."""
        return self.errors.unreadable(self.media_type, data)

    async def beginning(self) -> bytes:
        """As much of a body that is no reply as an error may quote; what fails is left out."""
        self.expect_end(ERROR_BODY_SECONDS)
        body = bytearray()
        with suppress(ModelUnavailable):
            async with aclosing(self._chunks()) as chunks:
                async for chunk in chunks:
                    body += chunk
                    if len(body) >= ERROR_BODY_BYTES_MAX:
                        break
        return bytes(body[:ERROR_BODY_BYTES_MAX])

    async def _pieces(self) -> AsyncGenerator[bytes]:
        """The body, and a line's end behind the last."""
        async with aclosing(self._chunks()) as chunks:
            async for chunk in chunks:
                yield chunk
        yield b"\n"

    async def _chunks(self) -> AsyncGenerator[bytes]:
        """The body in pieces that take no time to read, with turns of other tasks in between.

        Raises:
            ModelUnavailable: the connection broke or was silent (transient), or a bound was passed.
        """
        clock = asyncio.get_running_loop().time
        turn_ends, size = clock() + SLICE_SECONDS, 0
        body = self._response.aiter_raw()
        while True:
            try:
                async with asyncio.timeout_at(self._ends_at):
                    chunk = await anext(body, None)
            except Exception as error:  # noqa: BLE001 - whatever HTTP raises, the body ends here
                raise self.errors.in_body(error) from None
            if chunk is None:
                return
            size += len(chunk)
            if size > STREAM_BYTES_MAX:
                raise self.errors.too_long(f"a stream of more than {STREAM_BYTES_MAX:,} bytes")
            for start in range(0, len(chunk), PIECE_BYTES):
                yield chunk[start : start + PIECE_BYTES]
                if clock() > turn_ends:
                    await asyncio.sleep(0)
                    turn_ends = clock() + SLICE_SECONDS

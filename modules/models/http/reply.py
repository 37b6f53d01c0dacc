"""A model service's reply as it comes in: server-sent events, lines of JSON, or one JSON body.

Which of these it is, the body itself says: the content type of many services and proxies is wrong.
Server-sent events follow the WHATWG HTML standard (`core.base.sse`), lines of JSON what Ollama
calls NDJSON. All are read in time linear in their length, with bounds on each part and the whole.
"""

import asyncio
import json
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing, suppress
from typing import Final

import httpx2

from core.base.sse import EventParser, EventTooLong, ServerSentEvent
from core.errors import ModelUnavailable
from core.mcp.wire import LineSplitter, MessageTooLong
from core.ports import NativeToolCall, ReplyDelta, ReplyEnd, TextDelta, ThinkingDelta
from core.turn import Usage
from core.values import Json, JsonObject
from modules.models.http.error_document import error_document, told_in_words
from modules.models.http.errors import ServiceErrors
from modules.models.http.json_text import (
    json_value,
    whole_characters,
    with_whole_characters,
    without_half,
)

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

DONE = b"[DONE]"
"""The data of the event that ends a stream of OpenAI's protocol."""

BROKEN_OFF = frozenset(
    {"error", "network_error", "engine_error", "abort", "aborted", "cancelled", "timeout"}
    | {"insufficient_system_resource", "failed", "interrupted"}
)
"""What OpenRouter, GLM, DeepSeek, vLLM and others say of a reply that their service stopped."""

ERROR = "error"
"""The type of the event that tells an error, in whatever form."""

_BEFORE = b" \t\r\n\xef\xbb\xbf"
"""What may stand before a body: blanks, with which services keep a connection open, and a mark."""


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

    def check_finish(self, name: str, reason: str) -> None:
        """Look whether the service says, under this name, that it broke the reply off.

        Raises:
            ModelUnavailable: it does; another try may help.
        """
        if reason.lower() in BROKEN_OFF:
            raise self.errors.broke_off(f"{name} {reason.lower()}")

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
    characters = _Characters()
    try:
        async with aclosing(pieces):
            async for piece in pieces:
                has_begun = True
                for delta in reader.feed(piece):
                    for whole in characters.feed(delta):
                        reader.reply.has_begun = True
                        yield whole
                if reader.is_complete and when_complete is not None:
                    when_complete()
    except ModelUnavailable:
        if not reader.is_complete:
            if has_begun:
                yield ReplyEnd(reader.usage)
            raise
    for delta in reader.end():
        for whole in characters.feed(delta):
            yield whole


class _Characters:
    """Puts the halves of characters together that services cut at the border of two pieces.

    Such a character lies beyond U+FFFF, as an emoji does: JSON escapes it as a pair of surrogates.
    """

    def __init__(self) -> None:
        self._half: TextDelta | ThinkingDelta | None = None

    def feed(self, delta: ReplyDelta) -> list[ReplyDelta]:
        """What is whole with one more delta; the first half of a character waits for the other."""
        before, self._half = self._half, None
        if isinstance(delta, NativeToolCall):
            delta = with_whole_characters(delta)
        if not isinstance(delta, TextDelta | ThinkingDelta):
            return (
                [delta] if before is None else [type(before)(whole_characters(before.text)), delta]
            )
        kind = type(delta)
        if before is None and delta.text.isascii():
            return [delta]
        text, waiting = delta.text, list[ReplyDelta]()
        if isinstance(before, kind):
            text = before.text + text
        elif before is not None:
            waiting.append(type(before)(whole_characters(before.text)))
        text, half = without_half(text)
        self._half = kind(half) if half else None
        return [*waiting, kind(whole_characters(text))] if text else waiting


_BYTES_END: Final = re.compile(
    rb"(?:[\xf0-\xf4][\x80-\xbf]{0,2}|[\xe0-\xef][\x80-\xbf]?|[\xc2-\xdf])(?=\")"
)
"""The first bytes of a character, with which a text ends."""

_BYTES_BEGIN: Final = re.compile(rb'(?<!\\)"(?=[\x80-\xbf])')
"""Where a text begins with the rest."""


class _BytesJoined:
    """Joins the bytes of a character that a service has cut at the border of two events.

    Services cut a stream by tokens, and an emoji is often two. Such events are no UTF-8.
    """

    def __init__(self) -> None:
        self._half = b""

    def feed(self, event: bytes) -> bytes:
        """The event with the bytes that were left of the one before, without its own."""
        half, self._half = self._half, b""
        if half and (begins := _BYTES_BEGIN.search(event)) is not None:
            event = event[: begins.end()] + half + event[begins.end() :]
        if (ends := _BYTES_END.search(event)) is not None:
            self._half = ends[0]
            event = event[: ends.start()] + event[ends.end() :]
        return event


class ServiceReply:
    """A successful response whose body is still to be read: `documents`, or `json` at once.

    Attributes:
        errors: makes the service's errors.
        is_done: becomes true when `events` meets `[DONE]`.
        has_begun: whether the model has written something; from then on, silence means a stall.
    """

    def __init__(self, response: httpx2.Response, errors: ServiceErrors) -> None:
        self.errors = errors
        self.is_done = False
        self.has_begun = False
        self._ends_at: float | None = None  # in seconds of the event loop's clock
        self._body = response.aiter_raw()
        self._ahead = b""  # what was looked at, and is still to be read
        self._size = 0

    def expect_end(self, seconds: float = LINGER_SECONDS) -> None:
        """What is left of the body may take that long, all of it; the first to say so counts.

        To be called while the body is read, once all is there that is needed: a service that goes
        on sending signs of life must not keep the reply.
        """
        if self._ends_at is None:
            self._ends_at = asyncio.get_running_loop().time() + seconds

    async def documents(self) -> AsyncGenerator[JsonObject]:
        """The objects of a reply in whatever form it comes.

        Raises:
            ModelUnavailable: it is none, or reports an error; the connection broke or was silent
                (transient); a bound was passed.
        """
        first = await self._first_byte()
        if first == b"<":  # such as a proxy's page
            raise self.unreadable(await self.beginning())
        values = self._json_values() if first in (b"{", b"[") else self._event_values()
        async with aclosing(values):
            async for value in values:
                if not isinstance(value, dict):
                    raise self.unreadable(json.dumps(value).encode())
                if (error := self.errors.reported(value, has_begun=self.has_begun)) is not None:
                    raise error
                yield value

    async def events(self) -> AsyncGenerator[bytes]:
        """The data of each server-sent event that has some, up to the end or `[DONE]`.

        An event counts that the end of the body cuts off behind a whole line: some servers leave
        out the last empty line.

        Raises:
            ModelUnavailable: an event reports an error, or there are no events but other text; the
                connection broke (transient), or a bound was passed.
        """
        parser = EventParser(EVENT_BYTES_MAX, takes_error_lines=True)
        start = b""
        try:
            async with aclosing(self._pieces()) as pieces:
                async for piece in pieces:
                    if not parser.has_fields and len(start) < ERROR_BODY_BYTES_MAX:
                        start += piece
                    for event in parser.feed(piece):
                        if self._is_data(event):
                            yield event.data
        except EventTooLong as cap:
            raise self.errors.too_long(f"an event of more than {cap}") from None
        except ModelUnavailable:
            if not self.is_done:
                raise
        if not parser.has_fields and start.strip():
            raise self.unreadable(start)

    def _is_data(self, event: ServerSentEvent) -> bool:
        """Whether an event is a part of the reply; none is behind the one that ends it.

        Raises:
            ModelUnavailable: it reports an error.
        """
        if event.data.strip() == DONE:
            self.is_done = True
            self.expect_end()
        elif event.type == ERROR and not self.is_done:
            raise self._told_error(event.data)
        return bool(event.data) and not self.is_done

    async def _event_values(self) -> AsyncGenerator[Json]:
        halves = _BytesJoined()
        async with aclosing(self.events()) as events:
            async for event in events:
                data = halves.feed(event)
                if (value := json_value(data, keep_halves=True)) is None:
                    raise self.unreadable(data)
                yield value

    async def _json_values(self) -> AsyncGenerator[Json]:
        """The values of lines that are JSON each, or of the body that is JSON as a whole.

        Those of a list count one by one.
        """
        splitter = LineSplitter(JSON_BODY_BYTES_MAX)
        held = bytearray()  # lines that are JSON only together
        try:
            async with aclosing(self._pieces()) as pieces:
                async for piece in pieces:
                    for line in splitter.feed(piece):
                        if not held and (value := json_value(line, keep_halves=True)) is not None:
                            for each in value if isinstance(value, list) else [value]:
                                yield each
                        elif held or line.strip():
                            held += line + b"\n"
                            self._bound(len(held), JSON_BODY_BYTES_MAX, "an answer")
        except MessageTooLong as cap:
            raise self.errors.too_long(f"a line {cap}") from None
        if held:
            if (value := json_value(bytes(held), keep_halves=True)) is None:
                raise self.unreadable(bytes(held))
            for each in value if isinstance(value, list) else [value]:
                yield each

    def _told_error(self, data: bytes) -> ModelUnavailable:
        """The error of an event that is one, whatever its data are."""
        said = error_document(json_value(data))
        if said is None:
            said = told_in_words(data.decode("utf-8", "replace"))
        return self.errors.in_reply(said, has_begun=self.has_begun)

    async def json(self) -> JsonObject:
        """The object that the whole body is.

        Raises:
            ModelUnavailable: it is none, or too long; or the connection broke (transient).
        """
        body = bytearray()
        async with aclosing(self._chunks()) as chunks:
            async for chunk in chunks:
                body += chunk
                self._bound(len(body), JSON_BODY_BYTES_MAX, "an answer")
        value = json_value(bytes(body))
        if not isinstance(value, dict):
            raise self.unreadable(bytes(body))
        return value

    def unreadable(self, data: bytes) -> ModelUnavailable:
        """The error of an event, line or body that should be a JSON object and is none."""
        return self.errors.unreadable(data)

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

    async def _first_byte(self) -> bytes:
        """The first byte of the body that says something, which stays to be read; else nothing."""
        while (received := await self._received()) is not None:
            if start := received.lstrip(_BEFORE):
                self._ahead = start
                return start[:1]
        return b""

    async def _chunks(self) -> AsyncGenerator[bytes]:
        """The body in pieces that take no time to read, with turns of other tasks in between.

        Raises:
            ModelUnavailable: the connection broke or was silent (transient), or a bound was passed.
        """
        clock = asyncio.get_running_loop().time
        turn_ends = clock() + SLICE_SECONDS
        while (received := await self._received()) is not None:
            for start in range(0, len(received), PIECE_BYTES):
                yield received[start : start + PIECE_BYTES]
                if clock() > turn_ends:
                    await asyncio.sleep(0)
                    turn_ends = clock() + SLICE_SECONDS

    async def _received(self) -> bytes | None:
        """What came next of the body; None at its end."""
        if self._ahead:
            ahead, self._ahead = self._ahead, b""
            return ahead
        ends_at = self._ends_at
        if ends_at is None and self.has_begun:
            ends_at = asyncio.get_running_loop().time() + self.errors.idle_seconds
        try:
            async with asyncio.timeout_at(ends_at):
                received = await anext(self._body, None)
        except Exception as error:  # noqa: BLE001 - whatever HTTP raises, the body ends here
            raise self.errors.in_body(error, has_begun=self.has_begun) from None
        if received is not None:
            self._size += len(received)
            self._bound(self._size, STREAM_BYTES_MAX, "a stream")
        return received

    def _bound(self, size: int, most: int, what: str) -> None:
        if size > most:
            raise self.errors.too_long(f"{what} of more than {most:,} bytes")

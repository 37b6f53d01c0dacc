"""A model service's reply as it comes in: server-sent events, lines of JSON, or one JSON body.

Server-sent events follow the WHATWG HTML standard (`core.base.sse`), lines of JSON what Ollama
calls NDJSON. Both are read in time linear in their length, with bounds on each part and the whole.
"""

import asyncio
import json
import math
import re
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING

from pydantic_core import from_json

from core.base.sse import EventParser, EventTooLong
from core.errors import ModelUnavailable
from core.mcp.wire import LineSplitter, MessageTooLong
from core.values import Json, JsonObject
from modules.models.hosted.errors import ServiceError, WireFaults, service_error

if TYPE_CHECKING:
    import httpx2

EVENT_BYTES_MAX = 1024 * 1024
"""Longest event or line: a delta has some hundred bytes."""

STREAM_BYTES_MAX = 256 * 1024 * 1024
"""Longest stream: a reply of a million characters, each in a delta of 256 bytes."""

JSON_BODY_BYTES_MAX = 2 * 1024 * 1024
"""Longest reply in one piece."""

JSON_MARKS_MAX = 100_000
"""Opening brackets and braces, commas and colons in one piece of JSON, those in texts too: each
may stand for a value, and a value costs up to a microsecond in which nothing else can run."""

MENDED_BYTES_MAX = 128 * 1024
"""In longer JSON nothing but bad UTF-8 is put right; it would take too long."""

ERROR_BODY_BYTES_MAX = 16 * 1024
"""How much of a refusal's body is read."""

ERROR_BODY_SECONDS = 2.0
"""How long that may take to come."""

LINGER_SECONDS = 0.25
"""How long the end of a stream is waited for after `[DONE]`, so that the connection is kept."""

FED_BYTES = 4096
"""How much of a stream is taken apart at a time: every line costs, and all may be empty."""

SLICE_SECONDS = 0.01
"""After so long the other tasks have their turn, however much came at once."""

DONE = b"[DONE]"
"""The data of the event that ends a stream of OpenAI's protocol."""

_HUGE = re.compile(rb"[0-9][eE]\+?[0-9]{3}|[0-9]{300}")
"""What a number holds that is larger than a float."""


class WireReply:
    """A successful response whose body is still to be read, in one of three ways.

    `media_type` is its content type in small letters, without parameters. `is_done` becomes true
    when `events` meets `[DONE]`.
    """

    def __init__(self, response: "httpx2.Response", faults: WireFaults) -> None:
        """Read the head only."""
        content_type: str = response.headers.get("content-type", "")
        self.media_type = content_type.partition(";")[0].strip().lower()
        self.is_done = False
        self._ends_at: float | None = None  # in seconds of the event loop's clock
        self._body: AsyncIterator[bytes] = response.aiter_raw()
        self._faults = faults

    def expect_end(self, seconds: float) -> None:
        """What is left of the body may take that long, all of it; the first to say so counts.

        To be called while the body is read, once all is there that is needed: a service that goes
        on sending signs of life must not keep the reply.
        """
        if self._ends_at is None:
            self._ends_at = asyncio.get_running_loop().time() + seconds

    async def events(self) -> AsyncGenerator[bytes, None]:
        """The data of each server-sent event that has some, up to the end or `[DONE]`.

        An event counts that the end of the body cuts off behind a whole line: some servers leave
        out the last empty line.

        Raises:
            ModelUnavailable: the connection broke (transient), or a bound was passed.
        """
        parser = EventParser(EVENT_BYTES_MAX)
        async with aclosing(self._pieces()) as pieces:
            async for piece in pieces:
                try:
                    for event in parser.feed(piece):
                        if event.data.strip() == DONE:
                            self.is_done = True
                            await self._drain()
                            return
                        if event.data:
                            yield event.data
                except EventTooLong as cap:
                    raise self._faults.too_long(f"an event of more than {cap}") from None

    async def lines(self) -> AsyncGenerator[bytes, None]:
        """The lines that are not blank, the last with or without its end.

        Raises:
            ModelUnavailable: the connection broke (transient), or a bound was passed.
        """
        splitter = LineSplitter(EVENT_BYTES_MAX)
        async with aclosing(self._pieces()) as pieces:
            async for piece in pieces:
                try:
                    lines = splitter.feed(piece)
                except MessageTooLong as cap:
                    raise self._faults.too_long(f"a line {cap}") from None
                for line in lines:
                    if line := line.strip():
                        yield line

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
                    raise self._faults.too_long(f"an answer of more than {cap}")
        value = json_value(bytes(body))
        if not isinstance(value, dict):
            raise self.unreadable(bytes(body))
        return value

    def error_in(self, document: JsonObject) -> ModelUnavailable | None:
        """The failure that an event, line or body reports under HTTP 200 as `error`, if any."""
        if document.get("error") is None:
            return None
        return self._faults.in_reply(service_error(document) or ServiceError())

    def unreadable(self, data: bytes) -> ModelUnavailable:
        """The failure of an event, line or body that should be a JSON object and is none."""
        return self._faults.not_json(self.media_type, data)

    def broke_off(self) -> ModelUnavailable:
        """The failure of a stream that ended before the reply was complete (transient)."""
        return self._faults.broke_off()

    async def beginning(self) -> bytes:
        """As much of the body as an error may quote, in bounded time; what fails is left out."""
        body = bytearray()
        with suppress(ModelUnavailable, TimeoutError):
            async with asyncio.timeout(ERROR_BODY_SECONDS), aclosing(self._chunks()) as chunks:
                async for chunk in chunks:
                    body += chunk
                    if len(body) >= ERROR_BODY_BYTES_MAX:
                        break
        return bytes(body[:ERROR_BODY_BYTES_MAX])

    async def _pieces(self) -> AsyncGenerator[bytes, None]:
        """The body in pieces that take no time to read, and a line's end behind the last."""
        clock = asyncio.get_running_loop().time
        turn_ends, size = clock() + SLICE_SECONDS, 0
        async with aclosing(self._chunks()) as chunks:
            async for chunk in chunks:
                size += len(chunk)
                if size > STREAM_BYTES_MAX:
                    raise self._faults.too_long(f"a stream of more than {STREAM_BYTES_MAX:,} bytes")
                for start in range(0, len(chunk), FED_BYTES):
                    yield chunk[start : start + FED_BYTES]
                    if clock() > turn_ends:
                        await asyncio.sleep(0)
                        turn_ends = clock() + SLICE_SECONDS
        yield b"\n"

    async def _chunks(self) -> AsyncGenerator[bytes, None]:
        while True:
            try:
                async with asyncio.timeout_at(self._ends_at):
                    chunk = await anext(self._body, None)
            except Exception as error:  # noqa: BLE001 - whatever HTTP raises, the body ends here
                raise self._faults.in_body(error) from None
            if chunk is None:
                return
            yield chunk

    async def _drain(self) -> None:
        """Read what is left, if it ends soon: only then the connection can be used again."""
        with suppress(ModelUnavailable, TimeoutError):
            async with asyncio.timeout(LINGER_SECONDS), aclosing(self._chunks()) as chunks:
                async for _ in chunks:
                    pass


def json_value(data: bytes) -> Json:
    """What a piece of JSON says; None where it says nothing.

    Bytes that are no UTF-8 and halves of surrogate pairs are replaced; NaN and what is larger
    than a float are null. What is nested or filled beyond all measure says nothing.
    """
    if sum(map(data.count, (b"[", b"{", b",", b":"))) > JSON_MARKS_MAX:
        return None
    try:
        value: Json = from_json(data, allow_inf_nan=False)
    except ValueError:
        value = _mended(data)
    return _finite(value) if _HUGE.search(data) else value


def _mended(data: bytes) -> Json:
    text = data.decode("utf-8-sig", "replace")
    with suppress(ValueError):
        return from_json(text, allow_inf_nan=False)
    if len(data) > MENDED_BYTES_MAX:
        return None
    try:
        value: Json = json.loads(text, parse_constant=_nothing)
        # Through text once more, which makes each half of a surrogate pair a question mark.
        return from_json(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None


def _nothing(_: str) -> None:
    """Stands for a number that JSON lacks."""


def _finite(value: Json) -> Json:
    """The value without infinities, which numbers such as 1e999 become."""
    if isinstance(value, list):
        return [_finite(element) for element in value]
    if isinstance(value, dict):
        return {name: _finite(element) for name, element in value.items()}
    return None if isinstance(value, float) and math.isinf(value) else value

"""JSON-RPC messages as bytes and back (JSON-RPC 2.0; MCP 2025-11-25, "Transports").

Servers err in known ways, and one bad line must cost no session: lines end in CRLF, are blank, are
text that was meant for a log, or hold a byte that is no UTF-8 or half of a surrogate pair.

What a message holds is counted before it is parsed (`core.base.json_text`), which keeps each one
short; `ReadingBudget` keeps many of them apart.
"""

import asyncio
import codecs
import json
import re
import time
from collections.abc import Generator, Iterator

from pydantic_core import from_json, to_json

from core.base.clock import Clock
from core.base.json_text import SLICE_BYTES, UNCOUNTED_BYTES_MAX, at_once, excess
from core.values import Json, JsonObject

MESSAGE_BYTES_MAX = 64 * 1024 * 1024
"""A server that sends a longer message loses its session: we would have to hold it in memory."""

BATCH_MESSAGES_MAX = 1_000
"""Messages in one batch; servers that knew batches sent a handful."""

INVALID_REQUEST = -32600
"""JSON-RPC's code for a message that is none."""

METHOD_NOT_FOUND = -32601
"""JSON-RPC's code for a method that the receiver lacks."""

REPAIRED_BYTES_MAX = 1024 * 1024
"""In a longer line only bad bytes are mended: all else takes a microsecond a number or word."""

_ID_BYTES_SEARCHED = 200
"""How far from either end of a line that can't be read the id of its call is looked for."""

TEXT_BEFORE_BYTES_MAX = 64 * 1024
"""How far into a line that begins with other text an answer is looked for."""

LEVELS_MAX = 190
"""What is nested deeper in a message is cut off; the parser knows 200 levels."""

CUT_OFF = "[cut off: nested too deeply]"
"""Stands where the levels below were cut off."""

_START_BYTES = 1024
"""Where a message or a batch must begin; what does not is told apart without being parsed."""

_OBJECT = re.compile(rb"(?:\xef\xbb\xbf)?[ \t\r\n]*\{")
_LIST = re.compile(rb"\s*\[")

_ANSWER = re.compile(rb'\{\s*"(?:jsonrpc|id|result|error)"\s*:')
"""How a message begins in the middle of a line."""

_VERSION = rb'\A\s*\{(?:\s*"jsonrpc"\s*:\s*"2\.0"\s*,)?\s*'
_ID_FIRST = re.compile(_VERSION + rb'"id"\s*:\s*(\d{1,18})\b')
_ID_LAST = re.compile(rb'"id"\s*:\s*(\d{1,18})\s*\}\s*\Z')
_ASKED_OR_TOLD = re.compile(_VERSION + rb'(?:"id"\s*:\s*[^,]{1,100},\s*)?"method"')
"""How a request or a notification of the server begins, whose id is none of ours."""


class MessageTooLong(Exception):
    """A message is over a bound; "sent a message" goes before the text ("of more than 9 bytes")."""


class LineSplitter:
    """Cuts a byte stream into lines, in time linear in its length, however it is chunked."""

    def __init__(self, bytes_max: int = MESSAGE_BYTES_MAX) -> None:
        """Lines of over `bytes_max` bytes are refused."""
        self._bytes_max = bytes_max
        self._pending = bytearray()

    def feed(self, chunk: bytes) -> list[bytes]:
        r"""The lines that this chunk completes, without their `\n`.

        Raises:
            MessageTooLong: the line that is being read is over the cap.
        """
        lines = chunk.split(b"\n")
        rest = lines.pop()
        if lines and self._pending:
            self._pending += lines[0]
            lines[0] = bytes(self._pending)
            self._pending.clear()
        self._pending += rest
        if len(self._pending) > self._bytes_max or any(len(n) > self._bytes_max for n in lines):
            raise MessageTooLong(f"of more than {self._bytes_max:,} bytes")
        return lines


def read_messages(data: bytes) -> Generator[None, None, list[JsonObject]]:
    """The message on a line or in a body, or those of a batch; none where it holds none.

    Yields between slices of the work, so that others can have their turn. MCP knew batches until
    2025-03-26; what is no message in one is left out.

    A reply that is broken, or holds too much, becomes an error reply to its id where that can be
    read, so that its call fails now and not at its timeout. What else holds too much is left out,
    which a log message tells.

    Raises:
        MessageTooLong: it holds too much (`core.base.json_text`), and what it is can't be told.
    """
    start = data[:_START_BYTES]
    found: list[JsonObject] = []
    if _OBJECT.match(start) or _LIST.match(start):
        found = yield from _messages(data)
    return found or (yield from _behind_text(data))


def _messages(data: bytes) -> Generator[None, None, list[JsonObject]]:
    """What begins as a message or a batch does, read; raises what `read_messages` does."""
    if len(data) > UNCOUNTED_BYTES_MAX and (surplus := (yield from excess(data))) is not None:
        return [_refusal(data, surplus)]
    try:
        value: Json = from_json(data, allow_inf_nan=False)
    except ValueError:
        value = yield from _mended(data)
    if isinstance(value, list):
        return _of_batch(value)
    message = _as_message(value) if isinstance(value, dict) else _broken_reply(data)
    return [] if message is None else [message]


def _behind_text(data: bytes) -> Generator[None, None, list[JsonObject]]:
    """The answer on a line that begins with other text: a program's own words, without a newline.

    Only answers, whole and to the end of the line: requests and the like stand in logs as well.
    """
    found = _ANSWER.search(data, 0, TEXT_BEFORE_BYTES_MAX)
    if found is None or found.start() == 0:
        return []
    rest = data[found.start() :]
    if (yield from excess(rest)) is not None:
        return []
    try:
        value: Json = from_json(rest, allow_inf_nan=False)
    except ValueError:
        return []
    is_answer = isinstance(value, dict) and "method" not in value and _is_reply(value)
    return [value] if isinstance(value, dict) and is_answer else []


def messages_in(data: bytes) -> list[JsonObject]:
    """The same at once, for little data; raises what `read_messages` does."""
    return at_once(read_messages(data))


def encode(message: JsonObject) -> bytes:
    """The line that carries a message, with its end.

    Raises:
        ValueError: it holds text that is not Unicode (a lone surrogate) or a number that JSON
            lacks (an infinity).
    """
    # A fifth of the time that json takes; but infinities would pass, as names that JSON lacks.
    line = to_json(message, inf_nan_mode="constants")
    if b"NaN" in line or b"Infinity" in line:
        try:
            json.dumps(message, allow_nan=False)
        except ValueError as error:
            raise ValueError("a number is infinite or none at all (inf, nan)") from error
    return line + b"\n"


def error_reply(
    reply_to: int | str | None, message: str, code: int = INVALID_REQUEST, data: Json = None
) -> JsonObject:
    """An error as the answer to the request of that id; None where it has none that can be read."""
    error: JsonObject = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    return {"jsonrpc": "2.0", "id": reply_to, "error": error}


def _as_message(value: JsonObject) -> JsonObject | None:
    """The object if it has the form of a message; a reply with another becomes an error."""
    reply_to = value.get("id")
    has_id = isinstance(reply_to, int | str) and not isinstance(reply_to, bool)
    if "method" in value:
        well_formed = isinstance(value["method"], str) and ("id" not in value or has_id)
        return value if well_formed else None
    if not isinstance(reply_to, int | str) or not has_id:
        return None
    return value if _is_reply(value) else error_reply(reply_to, "the server's answer is malformed")


def _is_reply(value: JsonObject) -> bool:
    return isinstance(value.get("result"), dict) or isinstance(value.get("error"), dict)


def _of_batch(parts: list[Json]) -> list[JsonObject]:
    if len(parts) > BATCH_MESSAGES_MAX:
        raise MessageTooLong(f"of more than {BATCH_MESSAGES_MAX:,} parts")
    found = (_as_message(part) for part in parts if isinstance(part, dict))
    return [message for message in found if message is not None]


def _mended(data: bytes) -> Generator[None, None, Json]:
    """What the data says once its bad bytes are replaced; None if it still says nothing."""
    yield
    mended = bytearray()
    for piece in _as_utf8(data):
        mended += piece
        if len(mended) > MESSAGE_BYTES_MAX:
            return None
        yield
    try:
        return from_json(mended, allow_inf_nan=False)
    except ValueError:
        yield
    if len(mended) > REPAIRED_BYTES_MAX:
        return None
    return (yield from _repaired(mended))


def _as_utf8(data: bytes) -> Iterator[bytes]:
    """The data slice by slice, without a byte order mark, U+FFFD for what is no UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
    for start in range(0, len(data), SLICE_BYTES):
        yield decoder.decode(data[start : start + SLICE_BYTES]).encode()
    yield decoder.decode(b"", final=True).encode()


def _repaired(data: bytearray) -> Generator[None, None, Json]:
    """What it says without what keeps it from being read: halves of surrogate pairs, great depth.

    Each half becomes a question mark, and what is nested over `LEVELS_MAX` deep is cut off, so
    that a schema without end costs its tool and not the list of all. None if it says nothing.
    """
    try:
        value: Json = json.loads(data, parse_constant=_refuse)
        yield
        value = _cut_off(value, LEVELS_MAX)
        yield
        clean = json.dumps(value, ensure_ascii=False)
        yield
        return from_json(clean.encode("utf-8", "replace"), allow_inf_nan=False)
    except (ValueError, RecursionError):
        return None


def _refuse(constant: str) -> Json:
    raise ValueError(f"{constant} is not JSON")


def _cut_off(value: Json, levels: int) -> Json:
    """The value with so many levels of arrays and objects at most."""
    if not isinstance(value, dict | list):
        return value
    if not levels:
        return CUT_OFF
    if isinstance(value, dict):
        return {key: _cut_off(inner, levels - 1) for key, inner in value.items()}
    return [_cut_off(inner, levels - 1) for inner in value]


def _refusal(data: bytes, surplus: str) -> JsonObject:
    """What takes the place of a message that holds too much."""
    if (reply := _broken_reply(data, f"holds {surplus}; ask for less")) is not None:
        return reply
    if _ASKED_OR_TOLD.match(data[:_ID_BYTES_SEARCHED]) is None:
        raise MessageTooLong(f"that holds {surplus}")
    said: JsonObject = {"level": "warning", "data": f"a message was left out: it holds {surplus}"}
    return {"jsonrpc": "2.0", "method": "notifications/message", "params": said}


def _broken_reply(data: bytes, fault: str = "is malformed") -> JsonObject | None:
    """An error for the call whose answer can't be read at all, where its id stands in sight."""
    start = data[:_ID_BYTES_SEARCHED]
    if not start.lstrip().startswith(b"{") or _ASKED_OR_TOLD.match(start):
        return None
    found = _ID_FIRST.search(start) or _ID_LAST.search(data[-_ID_BYTES_SEARCHED:])
    return error_reply(int(found[1]), f"the server's answer {fault}") if found else None


SLICE_SECONDS = 0.01
"""After so much work the other tasks have their turn, however much a server has sent at once."""

SHARE = 0.5
"""What one server may take of the time that passes; its messages wait in the pipe meanwhile."""

BURST_SECONDS = 0.25
"""What it may take at once before that counts."""


class ReadingBudget:
    """The time that the messages of one server take, in CPU seconds of the thread.

    The work is done inside of it, as of a context; between its steps whoever does it asks
    `is_turn_over`, and then waits for what `end_turn` says.
    """

    def __init__(
        self,
        clock: Clock = time.monotonic,
        cpu_clock: Clock = time.thread_time,
    ) -> None:
        """Have the burst to spend."""
        self._clock = clock
        self._cpu_clock = cpu_clock
        self._left = BURST_SECONDS
        self._counted_at = clock()
        self._turn_seconds = self._began = 0.0

    @property
    def is_turn_over(self) -> bool:
        """Whether others must have their turn now."""
        return self._turn_seconds >= SLICE_SECONDS or self._left < 0

    def __enter__(self) -> None:
        """Count what is done from here on."""
        self._began = self._cpu_clock()

    def __exit__(self, *_: object) -> None:
        """Count no more."""
        spent = self._cpu_clock() - self._began
        self._turn_seconds += spent
        self._left -= spent

    def end_turn(self) -> float:
        """Begin a new turn; the seconds to wait before it."""
        now = self._clock()
        self._left = min(BURST_SECONDS, self._left + (now - self._counted_at) * SHARE)
        self._counted_at = now
        self._turn_seconds = 0.0
        return max(0.0, -self._left / SHARE)

    async def rest(self) -> None:
        """Let others have their turn, if it is over."""
        if self.is_turn_over:
            await asyncio.sleep(self.end_turn())

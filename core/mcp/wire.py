"""JSON-RPC messages as bytes and back (JSON-RPC 2.0; MCP 2025-11-25, "Transports").

Servers err in known ways, and one bad line must cost no session: lines end in CRLF, are blank, are
text that was meant for a log, hold a byte that is no UTF-8 or half of a surrogate pair, or hold a
number of over 4,300 digits.
"""

import json
import re
import sys
from contextlib import suppress

from pydantic_core import from_json, to_json

from core.values import Json, JsonObject

MESSAGE_BYTES_MAX = 64 * 1024 * 1024
"""A server that sends a longer message loses its session: we would have to hold it in memory."""

MESSAGE_CONTAINERS_MAX = 1_000_000
"""Brackets and braces that open in one line: each may cost us a hundred bytes, the server one."""

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

_OBJECT = re.compile(rb"(?:\xef\xbb\xbf)?[ \t\r\n]*\{")
"""How a line begins that can hold a message; all others are told apart without being parsed."""

_ID_FIRST = re.compile(rb'\A\s*\{(?:\s*"jsonrpc"\s*:\s*"2\.0"\s*,)?\s*"id"\s*:\s*(\d{1,18})\b')
_ID_LAST = re.compile(rb'"id"\s*:\s*(\d{1,18})\s*\}\s*\Z')


BATCH_START_BYTES = 1024
"""Where the bracket must stand that begins a batch."""


class MessageTooLong(Exception):
    """A message grew past a cap, which the text names."""


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
            raise MessageTooLong(f"{self._bytes_max:,} bytes")
        return lines


def parse_line(line: bytes) -> JsonObject | None:
    """The message on a line: a request, a notification or a reply; None when it holds none.

    A reply that is broken but whose id can be read becomes an error reply to that id, so that
    its call fails now and not at its timeout.

    Raises:
        MessageTooLong: it holds so many lists and objects that we would run out of memory.
    """
    if line.count(b"[") + line.count(b"{") > MESSAGE_CONTAINERS_MAX:
        # Counted in texts too: a text of that many brackets costs its call, not the session.
        cap = f"{MESSAGE_CONTAINERS_MAX:,} lists and objects"
        if (refusal := _broken_reply(line, f"holds more than {cap}")) is None:
            raise MessageTooLong(cap)
        return refusal
    if _OBJECT.match(line) is None:
        return None
    try:
        value: Json = from_json(line, allow_inf_nan=False)
    except ValueError:
        value = _read_leniently(line)
    return _as_message(value) if isinstance(value, dict) else _broken_reply(line)


def parse_batch(data: bytes) -> list[JsonObject]:
    """The messages of a batch, which MCP knew until 2025-03-26; what is none is left out.

    Raises:
        MessageTooLong: it has so many that they would hold up everybody else.
    """
    try:
        batch: Json = from_json(data, allow_inf_nan=False)
    except ValueError:
        batch = _read_leniently(data)
    parts = batch if isinstance(batch, list) else []
    if len(parts) > BATCH_MESSAGES_MAX:
        raise MessageTooLong(f"{BATCH_MESSAGES_MAX:,} parts")
    found = (_as_message(part) for part in parts if isinstance(part, dict))
    return [message for message in found if message is not None]


def messages_in(data: bytes) -> list[JsonObject]:
    """The message on a line or in a body, or those of a batch; none where it holds none.

    Raises:
        MessageTooLong: see `parse_line` and `parse_batch`.
    """
    if (message := parse_line(data)) is not None:
        return [message]
    return parse_batch(data) if data[:BATCH_START_BYTES].lstrip().startswith(b"[") else []


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


def error_reply(reply_to: int | str, message: str, code: int = INVALID_REQUEST) -> JsonObject:
    """An error as the answer to the request of that id."""
    return {"jsonrpc": "2.0", "id": reply_to, "error": {"code": code, "message": message}}


def _as_message(value: JsonObject) -> JsonObject | None:
    """The object if it has the form of a message; a reply with another becomes an error."""
    reply_to = value.get("id")
    has_id = isinstance(reply_to, int | str) and not isinstance(reply_to, bool)
    if "method" in value:
        well_formed = isinstance(value["method"], str) and ("id" not in value or has_id)
        return value if well_formed else None
    if not isinstance(reply_to, int | str) or not has_id:
        return None
    if isinstance(value.get("result"), dict) or isinstance(value.get("error"), dict):
        return value
    return error_reply(reply_to, "the server's answer is malformed")


def _read_leniently(line: bytes) -> Json:
    """What a line says once its bad bytes are replaced; None when it still says nothing."""
    text = line.decode("utf-8-sig", "replace")
    if (mended := text.encode()) != line:
        with suppress(ValueError):
            return from_json(mended, allow_inf_nan=False)
    if len(line) > REPAIRED_BYTES_MAX:
        return None
    try:
        value: Json = json.loads(text, parse_int=_integer)
        # Through text once more, which makes each half of a surrogate pair a question mark.
        clean = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
        return from_json(clean, allow_inf_nan=False)
    except (ValueError, RecursionError):
        return None


def _integer(digits: str) -> int | str:
    """An integer; one that Python refuses to convert stays text."""
    limit = sys.get_int_max_str_digits()
    return digits if limit and len(digits) > limit else int(digits)


def _broken_reply(line: bytes, fault: str = "is malformed") -> JsonObject | None:
    """An error for the call whose answer can't be read at all, where its id stands in sight."""
    found = _ID_FIRST.search(line[:_ID_BYTES_SEARCHED])
    if found is None and line.lstrip().startswith(b"{"):
        found = _ID_LAST.search(line[-_ID_BYTES_SEARCHED:])
    return error_reply(int(found[1]), f"the server's answer {fault}") if found else None

"""Newline-delimited JSON-RPC: bytes to messages and back (MCP 2025-11-25, "Transports", stdio).

Heavy: imports the MCP SDK's types. Servers err in known ways, and one bad line must cost no
session: lines end in CRLF, are blank, are text that was meant for a log, hold a byte that is no
UTF-8 or half of a surrogate pair, or hold a number of over 4,300 digits.
"""

import json
import sys

from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from core.values import Json

MESSAGE_BYTES_MAX = 64 * 1024 * 1024
"""A server that sends a longer line loses its session: we would have to hold it in memory."""


MESSAGE_CONTAINERS_MAX = 1_000_000
"""Brackets and braces that open in one line: each may cost us a hundred bytes, the server one."""


class MessageTooLong(Exception):
    """A line grew past a cap, which the text names."""


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


def parse_line(line: bytes) -> JSONRPCMessage | None:
    """The message on a line; None when it holds none.

    A reply that is broken but whose id can be read becomes an error reply to that id, so that
    its call fails now and not at its timeout.

    Raises:
        MessageTooLong: it holds so many lists and objects that we would run out of memory.
    """
    if line.count(b"[") + line.count(b"{") > MESSAGE_CONTAINERS_MAX:
        raise MessageTooLong(f"{MESSAGE_CONTAINERS_MAX:,} lists and objects")
    try:
        return jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError:
        return _repair(line)


def encode(message: SessionMessage) -> bytes:
    """The line that carries a message.

    Raises:
        ValueError: the message holds text that is not Unicode (a lone surrogate).
    """
    text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
    return text.encode() + b"\n"


def _repair(line: bytes) -> JSONRPCMessage | None:
    try:
        value: Json = json.loads(line.decode("utf-8-sig", "replace"), parse_int=_integer)
        clean = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    try:
        return jsonrpc_message_adapter.validate_json(clean, by_name=False)
    except ValidationError:
        reply_to = value.get("id")
        if "method" in value or isinstance(reply_to, bool) or not isinstance(reply_to, int | str):
            return None
        error = ErrorData(code=INVALID_REQUEST, message="the server's answer is malformed")
        return JSONRPCError(jsonrpc="2.0", id=reply_to, error=error)


def _integer(digits: str) -> int | str:
    """An integer; one that Python refuses to convert stays text."""
    limit = sys.get_int_max_str_digits()
    return digits if limit and len(digits) > limit else int(digits)

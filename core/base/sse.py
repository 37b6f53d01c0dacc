"""Server-sent events: bytes to events, in time linear in the stream however it is cut.

Follows the WHATWG HTML standard, "Server-sent events", interpretation of an event stream. The data
of an event stays bytes, because what reads it next (`core.mcp.wire`) takes bytes.
"""

from collections.abc import Iterator

from core.base.frozen import frozen

EVENT_ID_BYTES_MAX = 1024
"""A longer id counts as empty: it would have to go into a header of ours."""

RETRY_DIGITS_MAX = 12
"""A `retry` of more digits, some 30 years, counts as the longest of so many."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

_FIELDS = frozenset({b"", b"data", b"event", b"id", b"retry"})
"""The names of fields; a comment has the empty one."""


class EventTooLong(Exception):
    """An event grew past the cap, which the text names."""


@frozen
class ServerSentEvent:
    """One event; `id` is the stream's last event id at that point, empty where none was given."""

    data: bytes
    type: str = "message"
    id: bytes = b""


class EventParser:
    """Reads one stream, which may go on over several connections (`restart`).

    `last_event_id` is where a broken stream can be taken up again, `retry_ms` how long the server
    asks us to wait before that, and `blocks` how many blank lines have ended something so far.
    `has_fields`: there was a line that only an event stream has.
    """

    def __init__(self, event_bytes_max: int, *, takes_error_lines: bool = False) -> None:
        """Events of over `event_bytes_max` bytes, and lines of such a length, are refused.

        `takes_error_lines`: a line `error: …`, which the standard has ignored and some services
        of models send, is the data of an event of type `error`.
        """
        self.last_event_id = b""
        self.retry_ms: int | None = None
        self.blocks = 0
        self.has_fields = False
        self._bytes_max = event_bytes_max
        self._takes_error_lines = takes_error_lines
        self.restart()

    def restart(self) -> None:
        """Drop what was read in part, and read the same stream on from a new connection."""
        self._line = bytearray()
        self._data = bytearray()
        self._type = b""
        self._id = self.last_event_id
        self._after_cr = False
        self._at_start = True

    def feed(self, chunk: bytes) -> Iterator[ServerSentEvent]:
        """The events that this chunk completes; to be read to its end.

        Raises:
            EventTooLong: an event is over the cap; nothing can be read from here on.
        """
        for line in self._lines(chunk):
            if line:
                self._take_field(line)
            elif (event := self._dispatch()) is not None:
                yield event

    def _lines(self, chunk: bytes) -> Iterator[bytes | bytearray]:
        """The lines that end in this chunk, without their ends: CR, LF or both."""
        if self._after_cr and chunk.startswith(b"\n"):
            chunk, self._after_cr = chunk[1:], False
        if not chunk:
            return
        self._after_cr = chunk.endswith(b"\r")
        # Of bytes, unlike text, this cuts at CR, LF and CRLF only.
        lines = chunk.splitlines()
        rest = b"" if chunk.endswith((b"\r", b"\n")) else lines.pop()
        for line in lines:
            yield self._whole(line)
        self._check(len(self._line) + len(rest))
        self._line += rest

    def _whole(self, line: bytes | bytearray) -> bytes | bytearray:
        """A line with what came before this chunk, and without the stream's byte order mark."""
        self._check(len(self._line) + len(line))
        if self._line:
            self._line += line
            line, self._line = self._line, bytearray()
        if self._at_start:
            self._at_start = False
            if line.startswith(_BYTE_ORDER_MARK):
                line = line[len(_BYTE_ORDER_MARK) :]
        return line

    def _take_field(self, line: bytes | bytearray) -> None:
        if line.startswith(b"data:"):  # not cut up: it may be long, and each piece is a copy
            self.has_fields = True
            start = 6 if line.startswith(b"data: ") else 5
            self._check(len(self._data) + len(line) - start)
            if isinstance(line, bytearray) and not self._data:
                del line[:start]  # moves nothing
                self._data = line
            else:
                self._data += memoryview(line)[start:]
            self._data += b"\n"
            return
        name, _, rest = bytes(line).partition(b":")
        value = rest.removeprefix(b" ")
        self.has_fields = self.has_fields or name in _FIELDS
        if name == b"data":
            self._data += b"\n"
        elif name == b"event":
            self._type = value
        elif name == b"error" and self._takes_error_lines:
            self._type, self.has_fields = name, True
            self._data += value + b"\n"
        elif name == b"id" and b"\0" not in value:
            self._id = value if len(value) <= EVENT_ID_BYTES_MAX else b""
        elif name == b"retry" and value.isdigit():
            self.retry_ms = int(
                value if len(value) <= RETRY_DIGITS_MAX else b"9" * RETRY_DIGITS_MAX
            )

    def _dispatch(self) -> ServerSentEvent | None:
        """End a block; one without a data field makes no event, but its id counts."""
        self.blocks += 1
        self.last_event_id = self._id
        name = self._type.decode("utf-8", "replace") or "message"
        data, self._data = self._data, bytearray()
        self._type = b""
        return ServerSentEvent(bytes(memoryview(data)[:-1]), name, self._id) if data else None

    def _check(self, size: int) -> None:
        if size > self._bytes_max:
            raise EventTooLong(f"{self._bytes_max:,} bytes")

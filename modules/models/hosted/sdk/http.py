"""The HTTP client that a provider's SDK works with: ours, so that its bounds are ours.

The SDKs take what a server sends as it comes: events and errors of any size, compressed as much
as it likes, redirects to any place. This client asks for plain bytes, follows no redirect, sends
the key that was given and no other, cuts off what is too long, and knows which response a request
is reading, so that it can be closed at once.

Heavy: imports httpx2 (0.1 s).
"""

import asyncio
import re
import ssl
from collections.abc import AsyncIterator, Iterator, Mapping
from weakref import WeakKeyDictionary

import httpx2
from pydantic_core import from_json

from config.http_address import is_loopback
from core.values import Json

CONNECT_SECONDS = 10.0
"""How long a connection may take, with its TLS handshake."""

WRITE_SECONDS = 60.0
"""How long the service may take no byte of a request."""

KEEPALIVE_SECONDS = 30.0
"""How long a connection is kept idle: long enough for the next step of a run."""

CONNECTIONS_MAX = 100
"""As many as an entry's `concurrent_requests` may be."""

EVENT_BYTES_MAX = 256 * 1024
"""Longest event: a delta has some hundred bytes."""

STREAM_BYTES_MAX = 256 * 1024 * 1024
"""Longest stream: a reply of a million characters, each in a delta of 256 bytes."""

ERROR_BYTES_MAX = 64 * 1024
"""How much of a refusal's body is read."""

PIECE_BYTES = 4096
"""How much an SDK gets at a time: each line costs, and all may be empty."""

SLICE_SECONDS = 0.01
"""After so long the other tasks have their turn, however much came at once."""

_BLANK_LINE = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_DATA_FIELD = re.compile(rb"^data: ?", re.MULTILINE)
_BEFORE_A_VALUE = (b",", b"{", b"[")


class Pace:
    """Lets other tasks have their turn, in a loop that may find its next round ready at once."""

    def __init__(self) -> None:
        """The first turn begins now."""
        self._clock = asyncio.get_running_loop().time
        self._turn_ends = self._clock() + SLICE_SECONDS

    async def keep(self) -> None:
        """To be awaited in every round; costs nothing until a turn is over."""
        if self._clock() > self._turn_ends:
            await asyncio.sleep(0)
            self._turn_ends = self._clock() + SLICE_SECONDS


class ReplyTooLong(Exception):
    """A server sent more than a bound allows; the text says of what."""


class SdkHttp:
    """The client for one service, and the responses that are being read.

    `context` is what its TLS connections are checked with.
    """

    def __init__(
        self,
        base_url: str,
        headers: Mapping[str, str],
        idle_seconds: float,
        *,
        values_max: int | None = None,
    ) -> None:
        """Open the client; it connects when first used. Takes some 0.1 s: call it in a thread.

        A service on this machine is reached directly, one elsewhere as the environment says
        (HTTPS_PROXY, NO_PROXY). `headers` go with every request in place of what an SDK has under
        these names, those with an empty value are left out. The service may send nothing for
        `idle_seconds`. `values_max` bounds the JSON values of an event, where an SDK takes events
        apart: it makes objects of them, which holds up all tasks.

        Raises:
            ValueError, ImportError, OSError, httpx2.InvalidURL: the address, or the environment's
                proxy or certificate settings are no use.
        """
        url = httpx2.URL(base_url)
        nearby = is_loopback(url.host)
        self._headers = dict(headers)
        self._values_max = values_max
        self._timeout = httpx2.Timeout(
            connect=CONNECT_SECONDS,
            read=idle_seconds,
            write=WRITE_SECONDS,
            pool=idle_seconds,
        )
        self._open = WeakKeyDictionary[asyncio.Task[object], httpx2.Response]()
        # Plain HTTP to this machine needs no authorities, which take their time to read.
        plain = nearby and url.scheme == "http"
        self.context: ssl.SSLContext = (
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if plain else httpx2.create_ssl_context()
        )
        self.client = httpx2.AsyncClient(
            verify=self.context,
            timeout=self._timeout,
            limits=httpx2.Limits(
                max_connections=CONNECTIONS_MAX, keepalive_expiry=KEEPALIVE_SECONDS
            ),
            follow_redirects=False,
            trust_env=not nearby,
            event_hooks={"request": [self._prepare], "response": [self._watch]},
        )

    def take(self) -> httpx2.Response | None:
        """The response that this task's last request opened, once."""
        task = asyncio.current_task()
        return self._open.pop(task, None) if task is not None else None

    async def aclose(self) -> None:
        """Close all connections; safe to call twice."""
        await self.client.aclose()

    async def _prepare(self, request: httpx2.Request) -> None:
        """The last word on a request: SDKs add headers and bounds from the environment too."""
        for name, value in self._headers.items():
            request.headers.pop(name, None)
            if value:
                request.headers[name] = value
        request.headers["accept-encoding"] = "identity"
        request.extensions["timeout"] = self._timeout.as_dict()

    async def _watch(self, response: httpx2.Response) -> None:
        # Who compresses all the same may send a few bytes that become gigabytes: unreadable.
        response.headers.pop("content-encoding", None)
        stream = response.stream
        if isinstance(stream, httpx2.AsyncByteStream):
            whole = response.is_success
            response.stream = _BoundedBody(
                stream, whole=whole, values_max=self._values_max if whole else None
            )
        if (task := asyncio.current_task()) is not None:
            self._open[task] = response


class _BoundedBody(httpx2.AsyncByteStream):
    """A response's bytes in small pieces: refused where too long, or just cut if not `whole`.

    With `values_max`, pieces are whole events, each of no more JSON values than that.
    """

    def __init__(
        self, stream: httpx2.AsyncByteStream, *, whole: bool, values_max: int | None
    ) -> None:
        self._stream = stream
        self._whole = whole
        self._values_max = values_max
        self._size = 0
        self._waiting = b""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        pace = Pace()
        async for chunk in self._stream:
            for start in range(0, len(chunk), PIECE_BYTES):
                for piece in self._pass_on(chunk[start : start + PIECE_BYTES]):
                    yield piece
                    await pace.keep()
                if self._size >= ERROR_BYTES_MAX and not self._whole:
                    return
        if self._waiting:
            yield self._checked(self._waiting)

    async def aclose(self) -> None:
        await self._stream.aclose()

    def _pass_on(self, piece: bytes) -> Iterator[bytes]:
        """What may be read on now; the beginning of an event waits for its end."""
        self._size += len(piece)
        if self._size > STREAM_BYTES_MAX:
            raise ReplyTooLong(f"a stream of more than {STREAM_BYTES_MAX:,} bytes")
        if self._values_max is None:
            yield piece
            return
        # A blank line that the last piece began ends in this one.
        begin, block = max(0, len(self._waiting) - 3), self._waiting + piece
        end = max((blank.end() for blank in _BLANK_LINE.finditer(block, begin)), default=0)
        block, self._waiting = block[:end], block[end:]
        if len(self._waiting) > EVENT_BYTES_MAX:
            raise ReplyTooLong(f"an event of more than {EVENT_BYTES_MAX:,} bytes")
        if block:
            yield self._checked(block)

    def _checked(self, block: bytes) -> bytes:
        """Whole events, if each holds few values: an SDK makes an object of each, in 80 µs."""
        limit = self._values_max
        if limit is None or _has_few_signs(block, limit):
            return block  # the usual case, told without reading it
        for event in _BLANK_LINE.split(block):
            if not _has_few_signs(event, limit) and _holds_more(event, limit):
                raise ReplyTooLong(f"an event of more than {limit:,} values")
        return block


def _has_few_signs(text: bytes, limit: int) -> bool:
    """Whether JSON holds too few commas and brackets for `limit` values, in texts too."""
    return sum(map(text.count, _BEFORE_A_VALUE)) < limit


def _holds_more(event: bytes, limit: int) -> bool:
    """Whether the JSON of an event has more than `limit` values, keys aside, or is none."""
    try:
        document: Json = from_json(_DATA_FIELD.sub(b"", event))
    except ValueError:
        return True
    waiting, count = [document], 0
    while waiting and count <= limit:
        value = waiting.pop()
        count += 1
        if isinstance(value, list):
            waiting += value
        elif isinstance(value, dict):
            waiting += value.values()
    return count > limit

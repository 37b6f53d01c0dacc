"""JSON over HTTP with a service of models: bounded, and tried again where that may help."""

import json
import socket
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from threading import Event, Lock
from typing import Literal, Protocol, TypeAlias, TypeVar, cast, runtime_checkable
from urllib.parse import urlsplit
from weakref import WeakSet

import httpx2
from pydantic import BaseModel, ValidationError

from core.base.frozen import frozen
from core.base.http import is_loopback, may_pass, retry_after_seconds
from core.base.text import clause, one_line

WAITS_SECONDS = (1.0, 4.0, 15.0)
"""How long to wait before each further try; there is none after the last."""

WAIT_SECONDS_MAX = 60.0
"""A service that wants a longer pause is left for later: the index goes on without vectors."""

CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 120.0
"""How long one try may take, from its first byte to the last of the answer."""

REPLY_BYTES_MAX = 64 * 1024 * 1024
QUOTE_CHARACTERS_MAX = 200

Method: TypeAlias = Literal["GET", "POST"]
FormT = TypeVar("FormT", bound=BaseModel)


@runtime_checkable
class _Stream(Protocol):
    """A connection of the HTTP library."""

    def get_extra_info(self, info: str) -> object: ...


@frozen
class ServiceAddress:
    """Where a service is, and what is told of it.

    `advice` is told by status, `down` if nobody answers, `foreign` if what answers is something
    else. `error` is raised with one line where the service can't be asked. `key` is kept out of
    messages; it stands in `headers`.
    """

    subject: str
    base_url: str
    advice: Mapping[int, str]
    down: str
    foreign: str
    error: type[Exception]
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    key: str = ""


@frozen
class _Refusal:
    """A status that is no success, and how long the service wants to be left alone."""

    status: int
    message: str
    pause_seconds: float | None


class JsonService:
    """Requests to one service; may be used by several threads. Connects when first used."""

    def __init__(
        self,
        address: ServiceAddress,
        waits_seconds: Sequence[float] = WAITS_SECONDS,
        reply_bytes_max: int = REPLY_BYTES_MAX,
        answer_seconds: float = ANSWER_SECONDS,
    ) -> None:
        """Nothing is opened. One try may take `answer_seconds`."""
        self._address = address
        self._waits_seconds = tuple(waits_seconds)
        self._reply_bytes_max = reply_bytes_max
        self._answer_seconds = answer_seconds
        self._closed = Event()
        self._opening = Lock()
        self._client: httpx2.Client | None = None
        self._sockets: WeakSet[socket.socket] = WeakSet()

    def post(self, path: str, body: Mapping[str, object], form: type[FormT]) -> FormT:
        """The answer to JSON, tried up to four times.

        Raises:
            Exception: the address's `error`: nobody answers, or with a refusal, or with something
                of another form; or it was closed meanwhile.
        """
        return self._read(self._persist("POST", path, json.dumps(body).encode("ascii")), form)

    def get(self, path: str, form: type[FormT]) -> FormT:
        """What is at a path; raises as `post`."""
        return self._read(self._persist("GET", path, None), form)

    def unavailable(self, what: str) -> Exception:
        """An error of this service, in words."""
        return self._address.error(f"{self._address.subject} {what}")

    def close(self) -> None:
        """Close the connections and end all waiting at once; safe to call twice."""
        self._closed.set()
        with self._opening:
            for connected in list(self._sockets):
                with suppress(OSError):  # closed already
                    connected.shutdown(socket.SHUT_RDWR)
            if self._client is not None:
                self._client.close()

    def _read(self, reply: bytes, form: type[FormT]) -> FormT:
        try:
            return form.model_validate_json(reply)
        except ValidationError:
            raise self.unavailable(self._address.foreign) from None

    def _persist(self, method: Method, path: str, content: bytes | None) -> bytes:
        for wait_seconds in (*self._waits_seconds, None):
            answer = self._once(method, path, content)
            if isinstance(answer, bytes):
                return answer
            pause = wait_seconds
            if pause is not None and answer.pause_seconds is not None:
                pause = max(pause, answer.pause_seconds)
            if pause is None or pause > WAIT_SECONDS_MAX or not may_pass(answer.status):
                raise self._refused(answer)
            if self._closed.wait(pause):
                raise self.unavailable("was closed while it was asked")
        raise AssertionError("the last try ends above")

    def _once(self, method: Method, path: str, content: bytes | None) -> bytes | _Refusal:
        client = self._opened()
        until = time.monotonic() + self._answer_seconds
        within = httpx2.Timeout(
            self._answer_seconds, connect=min(CONNECT_SECONDS, self._answer_seconds)
        )
        try:
            url = self._address.base_url + path
            noting = {"trace": self._note_socket}
            with client.stream(
                method, url, content=content, timeout=within, extensions=noting
            ) as response:
                body = self._body(response, until)
                if response.is_success:
                    return body
                return self._refusal(response.status_code, body, response.headers)
        except (httpx2.TransportError, httpx2.InvalidURL, ValueError, RuntimeError) as error:
            raise self._unasked(error) from None

    def _unasked(self, error: Exception) -> Exception:
        """What it means that there was no answer; the library's own words may hold headers."""
        then = self._address.down
        if self._closed.is_set():
            return self.unavailable("was closed while it was asked")
        if isinstance(error, httpx2.TimeoutException):
            return self.unavailable(f"did not answer within {self._answer_seconds:g} s; {then}")
        return self.unavailable(f"can't be reached ({type(error).__name__}); {then}")

    def _note_socket(self, event: str, info: Mapping[str, object]) -> None:
        """Keep what a connection was made with: only shutting it down wakes who reads from it."""
        stream = info.get("return_value")
        if event.endswith((".connect_tcp.complete", ".start_tls.complete")) and isinstance(
            stream, _Stream
        ):
            connected = stream.get_extra_info("socket")
            if isinstance(connected, socket.socket):
                self._sockets.add(connected)

    def _body(self, response: httpx2.Response, until: float) -> bytes:
        """All that is sent, within bounds of size and time."""
        pieces: list[bytes] = []
        size = 0
        for piece in response.iter_raw():
            pieces.append(piece)
            size += len(piece)
            if size > self._reply_bytes_max:
                raise self.unavailable(f"sent more than {self._reply_bytes_max} bytes")
            if time.monotonic() > until:
                raise self.unavailable(f"took more than {self._answer_seconds:g} s to answer")
        return b"".join(pieces)

    def _refusal(self, status: int, body: bytes, headers: Mapping[str, str]) -> _Refusal:
        return _Refusal(status, self._quoted(body), retry_after_seconds(headers))

    def _refused(self, refusal: _Refusal) -> Exception:
        said = f": {clause(refusal.message)}" if refusal.message else ""
        advice = self._address.advice.get(refusal.status, "try again in a moment")
        return self.unavailable(f"refused (HTTP {refusal.status}){said}; {advice}")

    def _quoted(self, body: bytes) -> str:
        """What an error says, as one short line without our key, which a service may echo."""
        text = _error_text(body)
        if self._address.key:
            text = text.replace(self._address.key, "…")
        return one_line(text, QUOTE_CHARACTERS_MAX)

    def _opened(self) -> httpx2.Client:
        with self._opening:
            if self._closed.is_set():
                raise self.unavailable("is closed")
            if self._client is None:
                self._client = self._new_client()
            return self._client

    def _new_client(self) -> httpx2.Client:
        """A client that follows no redirect, and goes past any proxy to this very machine."""
        # Uncompressed, so that the bound on size holds for what is unpacked, too.
        headers = {"accept-encoding": "identity", "content-type": "application/json"}
        try:
            return httpx2.Client(
                headers={**headers, **self._address.headers},
                timeout=httpx2.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS),
                trust_env=not is_loopback(urlsplit(self._address.base_url).hostname or ""),
            )
        except (ValueError, ImportError, OSError, httpx2.InvalidURL):
            raise self.unavailable(
                "can't be asked: its address, its key or the proxy settings of the environment "
                f"are of no use; {self._address.down}"
            ) from None


def _error_text(body: bytes) -> str:
    """The message of Ollama's `{"error": text}` or Google's `{"error": {"message": text}}`."""
    try:
        document: object = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    error = cast("dict[str, object]", document).get("error") if isinstance(document, dict) else ""
    if isinstance(error, dict):
        error = cast("dict[str, object]", error).get("message")
    return error if isinstance(error, str) else ""

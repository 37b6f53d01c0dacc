"""A service on loopback that answers as it was told, in order, and keeps what it was asked."""

import json
import socket
import sys
from collections import deque
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import cast

from servers.rag.embedding.remote import RemoteEmbedder


@dataclass(frozen=True)
class Answer:
    """One response."""

    body: object = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class Asked:
    """One request."""

    method: str
    path: str
    headers: dict[str, str]
    body: dict[str, object]


class ServiceDouble:
    """`answers` are given one after the other.

    `arrived` is set by every request; none is answered while `may_answer` is not.
    """

    def __init__(self) -> None:
        self.url = ""
        self.answers: deque[Answer] = deque()
        self.asked: list[Asked] = []
        self.answered = 0
        self.arrived = Event()
        self.ending = ExitStack()
        self.may_answer = Event()
        self.may_answer.set()

    def will_answer(self, *answers: Answer) -> None:
        self.answers.extend(answers)

    def is_left_by(self, embedder: RemoteEmbedder) -> RemoteEmbedder:
        """Close it before the server ends."""
        self.ending.callback(embedder.close)
        return embedder

    def answer(self, asked: Asked) -> Answer:
        self.asked.append(asked)
        self.arrived.set()
        self.may_answer.wait(10)
        self.answered += 1
        return self.answers.popleft() if self.answers else Answer({"error": "not told"}, 418)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A client may hang up; all else is shown."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(cast("socket.socket", request), client_address)


@contextmanager
def service_double() -> Generator[ServiceDouble]:
    double = ServiceDouble()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

        def do_GET(self) -> None:
            self._respond()

        def do_POST(self) -> None:
            self._respond()

        def _respond(self) -> None:
            sent = self.rfile.read(int(self.headers.get("content-length") or 0))
            body = cast("dict[str, object]", json.loads(sent)) if sent else {}
            headers = {name.lower(): value for name, value in self.headers.items()}
            answer = double.answer(Asked(self.command, self.path, headers, body))
            given = answer.body
            data = given if isinstance(given, bytes) else json.dumps(given).encode()
            self.send_response(answer.status)
            for name, value in {**answer.headers, "content-length": str(len(data))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

    server = _Server(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    double.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield double
    finally:
        double.may_answer.set()
        double.ending.close()
        server.shutdown()
        server.server_close()
        thread.join(10)

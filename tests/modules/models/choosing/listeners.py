"""Servers on loopback that answer a probe: with JSON by path, or in whatever way a test wants."""

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Generator, Mapping

from core.values import Json


@contextlib.contextmanager
def listener(serve: Callable[[socket.socket], None]) -> Generator[str]:
    """`host:port` of a listener that gives each connection to `serve`, in a thread of its own."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        threads: list[threading.Thread] = []

        def handle(connection: socket.socket) -> None:
            with connection, contextlib.suppress(OSError):
                serve(connection)

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    threads.append(threading.Thread(target=handle, args=(connection,)))
                    threads[-1].start()

        accepting = threading.Thread(target=accept)
        accepting.start()
        try:
            yield f"127.0.0.1:{server.getsockname()[1]}"
        finally:
            with contextlib.suppress(OSError):
                server.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
            accepting.join(5)
            for thread in threads:
                thread.join(5)


def json_server(pages: Mapping[str, Json]) -> contextlib.AbstractContextManager[str]:
    """A listener that answers GET with these documents, and anything else with 404."""

    def serve(connection: socket.socket) -> None:
        path = request_path(connection)
        found = path in pages
        body = json.dumps(pages.get(path)).encode()
        status = "200 OK" if found else "404 Not Found"
        head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        connection.sendall(head.encode() + body)

    return listener(serve)


def request_path(connection: socket.socket) -> str:
    """The path of the request, read as far as its head goes."""
    received = b""
    while b"\r\n\r\n" not in received and (piece := connection.recv(4096)):
        received += piece
    return received.split(b" ", 2)[1].decode()


def listing(*names: str) -> Json:
    """A list of models as OpenAI's protocol has it."""
    return {"object": "list", "data": [{"id": name, "object": "model"} for name in names]}

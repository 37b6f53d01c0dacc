"""One GET for JSON, by bare sockets: how automatic choice asks who listens on this machine.

Where nobody does, this costs one refused connection and no HTTP library: start-up waits for it.
Whoever listens is not trusted: all of it, the look-up of a host's name too, is over at the
deadline, and a reply of more than `MAX_REPLY_BYTES` is none.
"""

import json
import re
import socket
import time
from typing import TypeAlias

MAX_REPLY_BYTES = 1024 * 1024
_READ_BYTES = 64 * 1024

_HEAD_END = b"\r\n\r\n"
_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*([0-9]{1,18})[ \t]*(?=\r\n|\Z)", re.IGNORECASE)

_Addresses: TypeAlias = list[
    tuple[socket.AddressFamily, socket.SocketKind, int, str, tuple[str | int | bytes, ...]]
]


def get_json(url: str, deadline: float) -> object:
    """The JSON at an http or https `url` with a port; None for whatever is in the way of it.

    `deadline` is in seconds of `time.monotonic`.
    """
    scheme, _, rest = url.partition("://")
    place, _, path = rest.partition("/")
    host, _, port = place.rpartition(":")
    host = host.strip("[]")
    try:
        with _connect(host, int(port), deadline) as connection:
            if scheme == "http":
                return _ask(connection, f"/{path}", place, deadline)
            import ssl

            context = ssl.create_default_context()
            connection.settimeout(_left(deadline))
            with context.wrap_socket(connection, server_hostname=host) as encrypted:
                return _ask(encrypted, f"/{path}", place, deadline)
    except (OSError, ValueError, RecursionError):  # what TLS and JSON raise is among them
        return None


def _connect(host: str, port: int, deadline: float) -> socket.socket:
    """A connection to the first address of `host` that takes one.

    Raises:
        OSError: none does, or not in time.
    """
    refused: OSError = TimeoutError("no address in time")
    for family, kind, protocol, _, address in _addresses(host, port, deadline):
        attempt = socket.socket(family, kind, protocol)
        try:
            attempt.settimeout(_left(deadline))
            attempt.connect(address)
        except OSError as error:
            attempt.close()
            refused = error
        else:
            return attempt
    raise refused


def _addresses(host: str, port: int, deadline: float) -> _Addresses:
    """What the name resolves to; a resolver that takes too long is left behind.

    Raises:
        OSError: there is no such name, or nobody says in time.
        ValueError: it is no name in ASCII.
    """
    name = host.encode("ascii")  # as text, it would have codecs of 5 ms imported
    # By the form of a name nobody can tell: "1.2.3.4.5" is one, and asked for in the network.
    numeric = 0 if host == "localhost" else socket.AI_NUMERICHOST
    try:
        return [*socket.getaddrinfo(name, port, type=socket.SOCK_STREAM, flags=numeric)]
    except socket.gaierror:
        if not numeric:
            raise
    import threading

    found: list[_Addresses] = []

    def resolve() -> None:
        # The list stays empty where there is no such name.
        try:
            found.append([*socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)])
        except OSError:
            return

    thread = threading.Thread(target=resolve, name="resolve", daemon=True)
    thread.start()
    thread.join(_left(deadline))
    return found[0] if found else []


def _ask(connection: socket.socket, path: str, place: str, deadline: float) -> object:
    """The JSON that a GET is answered with; None for any status but 200.

    HTTP/1.0 is asked for, so that the reply is the body as it is, in no chunks (RFC 9112,
    section 6.1: no transfer coding for such a request).

    Raises:
        OSError: no answer, or not in time.
        ValueError: none of that form.
    """
    request = f"GET {path} HTTP/1.0\r\nHost: {place}\r\nAccept: application/json\r\n\r\n"
    connection.settimeout(_left(deadline))
    connection.sendall(request.encode("ascii"))
    received = bytearray()
    # Each piece has what is left of the time, so that a trickle of bytes ends too.
    while not _is_whole(received) and (piece := connection.recv(_READ_BYTES)):
        received += piece
        if len(received) > MAX_REPLY_BYTES:
            return None
        connection.settimeout(_left(deadline))
    head, _, body = received.partition(_HEAD_END)
    return json.loads(body) if re.match(rb"HTTP/1\.[01] 200\b", head) else None


def _is_whole(received: bytearray) -> bool:
    """Whether all is there that Content-Length announced; without one, the end says."""
    end = received.find(_HEAD_END)
    if end < 0:
        return False
    length = _LENGTH.search(received, 0, end)
    return length is not None and len(received) - end - len(_HEAD_END) >= int(length[1])


def _left(deadline: float) -> float:
    """Seconds until the deadline.

    Raises:
        TimeoutError: it has passed.
    """
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("out of time")
    return left

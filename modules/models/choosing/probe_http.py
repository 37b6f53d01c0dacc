"""One GET for JSON: how automatic choice asks who listens on this machine.

Where nobody does, this costs one refused connection: start-up waits for it, so the HTTP library
(17 ms) is imported once somebody takes it. Whoever listens is not trusted: all of it, the look-up
of a host's name too, is over at the deadline, and a reply of more than `MAX_REPLY_BYTES` is none.
"""

import json
import socket
import threading
import time
from contextlib import suppress
from typing import cast

MAX_REPLY_BYTES = 1024 * 1024


def get_json(url: str, deadline: float) -> object:
    """The JSON at an http or https `url` with a port; None for whatever is in the way of it.

    `deadline` is in seconds of `time.monotonic`.
    """
    opened: list[socket.socket] = []
    answers: list[object] = []

    def ask() -> None:
        # What TLS and JSON raise is among them.
        with suppress(OSError, ValueError, OverflowError, RecursionError):
            answers.append(_asked(url, deadline, opened))

    # In a thread, which is left behind: neither a resolver nor a trickle of bytes has a time-out.
    thread = threading.Thread(target=ask, name="probe", daemon=True)
    thread.start()
    thread.join(max(0.0, deadline - time.monotonic()))
    if not answers:
        for connection in opened:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)  # which ends the thread
    return answers[0] if answers else None


def _asked(url: str, deadline: float, opened: list[socket.socket]) -> object:
    """The JSON that a GET is answered with; None for any status but 200.

    Raises:
        OSError, ValueError: no answer, not in time, or none of that form.
    """
    scheme, _, rest = url.partition("://")
    place, _, path = rest.partition("/")
    host, _, port = place.rpartition(":")
    host = host.strip("[]")
    seconds = max(0.001, deadline - time.monotonic())
    # As text, the name would have codecs of 5 ms imported; the types know nothing of bytes here.
    name = cast("str", host.encode("ascii"))
    with socket.create_connection((name, int(port)), seconds) as plain:
        opened.append(plain)
        if scheme == "http":
            return _get(plain, place, path)
        import ssl

        context = ssl.create_default_context()
        with context.wrap_socket(plain, server_hostname=host) as encrypted:
            opened.append(encrypted)
            return _get(encrypted, place, path)


def _get(opened: socket.socket, place: str, path: str) -> object:
    """The JSON over a connection that stands.

    Raises:
        OSError, ValueError: see `_asked`.
    """
    import http.client

    connection = http.client.HTTPConnection(place)
    connection.sock = opened
    try:
        connection.request("GET", f"/{path}", headers={"Accept": "application/json"})
        response = connection.getresponse()
        body = response.read(MAX_REPLY_BYTES + 1)
    except http.client.HTTPException as error:
        raise ValueError(str(error)) from error
    finally:
        connection.close()
    is_answer = response.status == 200 and len(body) <= MAX_REPLY_BYTES
    return json.loads(body) if is_answer else None

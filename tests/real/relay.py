"""A way to a service on this machine that can be cut and mended, as a network is."""

import socket
from contextlib import suppress
from threading import Thread

HOST = "127.0.0.1"
CHUNK_BYTES = 65_536


class Relay:
    """Hands on what comes to its port, in both directions; threads end with the process."""

    def __init__(self, port: int) -> None:
        """Lead to that port."""
        self._to = port
        self._listening = socket.create_server((HOST, 0))
        self._open: list[socket.socket] = []
        self._is_cut = False
        self.port: int = self._listening.getsockname()[1]
        Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Break every connection off, and let none come to be."""
        self._is_cut = True
        for each in self._open:
            _end(each)
        self._open.clear()

    def mend(self) -> None:
        """Let connections come to be again."""
        self._is_cut = False

    def _accept(self) -> None:
        while True:
            near, _ = self._listening.accept()
            if self._is_cut:
                near.close()
                continue
            far = socket.create_connection((HOST, self._to))
            self._open += [near, far]
            for one, other in ((near, far), (far, near)):
                Thread(target=_pump, args=(one, other), daemon=True).start()


def _pump(one: socket.socket, other: socket.socket) -> None:
    with suppress(OSError):
        while data := one.recv(CHUNK_BYTES):
            other.sendall(data)
    _end(other)


def _end(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)

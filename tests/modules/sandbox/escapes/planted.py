"""What is planted for escapes to find, and how it shows that one did."""

import contextlib
import os
import secrets
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.modules.sandbox.escapes.attempts import Attempt, Proof

ENVIRONMENT_START_FIELD = 49
"""Position (from 0) of `env_start` in /proc/<pid>/stat, where a process keeps its environment."""

PORT_TRIES = 20
"""How often a port is looked for that is free for TCP and for UDP."""


class Planted:
    """A secret file, a secret variable, sockets that listen, a marker, and a stand-in for the host.

    A context manager; one may serve any number of attempts, one after the other. The variable
    stands in the environment of this process and of the stand-in: a process of its own that
    escapes may attack by its pid, so that a success doesn't end the tests.

    Placeholders of a source, each a plain text without quotes:
        @FILE@ @FOLDER@: the secret file, and where it lies.
        @VARIABLE@: the name of the secret variable.
        @PORT@: TCP and UDP port on 127.0.0.1; @UNIX@: path of a socket; @ABSTRACT@: a name of one
            in Linux's abstract name space, without the leading zero byte.
        @MARKER@: what a started process creates, as in `touch @MARKER@`.
        @HOST@: pid of the stand-in; @ADDRESS@: where its environment begins in its memory.
        @CLAIM@: begins a claim of a proof that leaves no other trace, as in `@CLAIM@socket`.
    """

    def __enter__(self) -> Self:
        """Plant everything."""
        token = secrets.token_hex(8)
        self._ends = contextlib.ExitStack()
        self.folder = Path(self._ends.enter_context(tempfile.TemporaryDirectory()))
        self.file = self.folder / "secret.txt"
        self.marker = self.folder / "marker"
        self.variable = f"CORTEX_PLANTED_{secrets.token_hex(4)}"
        self._file_secret = f"file-{token}"
        self._variable_secret = f"environment-{secrets.token_hex(8)}"
        self._claim = f"claim-{token}-"
        self.plant_file()
        os.environ[self.variable] = self._variable_secret
        self._ends.callback(os.environ.pop, self.variable, None)
        self._listen(token)
        self.plant_host()
        self._ends.callback(self._end_host)
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Take all of it away."""
        self._ends.close()

    def plant_file(self) -> None:
        """Write the secret file, again if an attempt spoilt it."""
        with contextlib.suppress(FileNotFoundError):
            self.file.unlink()
        self.file.write_text(self._file_secret)
        self.file.chmod(0o600)

    def plant_host(self) -> None:
        """Start the stand-in for the host: a process that waits, with the variable."""
        waiting = shutil.which("cat")
        if waiting is None:
            raise RuntimeError("there is no `cat` to stand in for the host")
        environment = {self.variable: self._variable_secret}
        self._host = subprocess.Popen(
            [waiting], env=environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
        )
        stat = Path(f"/proc/{self._host.pid}/stat")
        fields = stat.read_text().rpartition(")")[2].split() if stat.exists() else []
        self._address = int(fields[ENVIRONMENT_START_FIELD - 2]) if fields else 0

    def fill(self, attempt: Attempt) -> str:
        """The attempt's plan, with this planting's names in it."""
        return self.fill_text(attempt.source)

    def fill_text(self, source: str) -> str:
        """`source` with every placeholder replaced."""
        names = {
            "@FILE@": str(self.file),
            "@FOLDER@": str(self.folder),
            "@VARIABLE@": self.variable,
            "@PORT@": str(self.port),
            "@UNIX@": str(self.folder / "socket"),
            "@ABSTRACT@": self.abstract,
            "@MARKER@": str(self.marker),
            "@HOST@": str(self._host.pid),
            "@ADDRESS@": str(self._address),
            "@CLAIM@": self._claim,
        }
        for placeholder, name in names.items():
            source = source.replace(placeholder, name)
        return source

    def proofs(self, output: str) -> set[Proof]:
        """Which proofs were obtained since the last call; `output` is what an attempt gave out."""
        all_proofs: tuple[Proof, ...] = ("file", "environment", "socket", "process")
        found: set[Proof] = {proof for proof in all_proofs if self._claim + proof in output}
        if self._file_secret in output:
            found.add("file")
        if self._variable_secret in output:
            found.add("environment")
        reached = {_was_reached(listener) for listener in self._listeners}  # asks them all
        if True in reached:
            found.add("socket")
        if self.marker.exists():
            found.add("process")
            self.marker.unlink()
        return found

    def is_unharmed(self) -> bool:
        """Whether the stand-in lives, and the file is there as it was planted."""
        lives = self._host.poll() is None
        try:
            mode = self.file.lstat().st_mode
            return lives and mode == 0o100600 and self.file.read_text() == self._file_secret
        except OSError:
            return False

    def restore(self) -> None:
        """Plant again what an attempt harmed."""
        for extra in self.folder.iterdir():
            if extra.is_dir() and not extra.is_symlink():
                shutil.rmtree(extra)
            elif extra.name not in ("secret.txt", "socket"):
                extra.unlink()
        self.plant_file()
        if self._host.poll() is not None:
            self._end_host()
            self.plant_host()

    def _listen(self, token: str) -> None:
        self.abstract = f"cortex-{token}"
        tcp, udp = _same_port()
        self.port: int = tcp.getsockname()[1]
        self._listeners = [tcp, udp]
        for address in (str(self.folder / "socket"), f"\0{self.abstract}"):
            with contextlib.suppress(OSError):  # no abstract names outside of Linux
                self._listeners.append(_listening(socket.AF_UNIX, address))
        for listener in self._listeners:
            self._ends.enter_context(listener)
            listener.setblocking(False)

    def _end_host(self) -> None:
        with self._host:  # closes its input, which ends it, and waits
            self._host.kill()


def _same_port() -> tuple[socket.socket, socket.socket]:
    for _ in range(PORT_TRIES):
        tcp = _listening(socket.AF_INET, ("127.0.0.1", 0))
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            udp.bind(tcp.getsockname())
        except OSError:
            tcp.close()
            udp.close()
        else:
            return tcp, udp
    raise RuntimeError("no port on loopback is free for TCP and UDP")


def _listening(family: socket.AddressFamily, address: str | tuple[str, int]) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.bind(address)
        listener.listen(128)
    except OSError:
        listener.close()
        raise
    return listener


def _was_reached(listener: socket.socket) -> bool:
    """Whether anyone connected or sent since the last look."""
    reached = False
    for _ in _arrivals(listener):
        reached = True
    return reached


def _arrivals(listener: socket.socket) -> Iterator[None]:
    while True:
        try:
            if listener.type == socket.SOCK_DGRAM:
                listener.recv(1)
            else:
                listener.accept()[0].close()
        except BlockingIOError:
            return
        yield

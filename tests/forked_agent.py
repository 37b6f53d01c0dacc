"""A process that has imported the program, and forks for each run of `agent.py`.

Two thirds of a short run are imports, which are the same in each. A fork of one process per test
worker is a process of its own all the same: with its own arguments, environment, folder and
streams, and `agent.main` runs it to its end. What a start itself is to show (imports, signals, a
terminal) has a fresh process.
"""

import atexit
import fcntl
import gc
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).parent.parent
MESSAGE_BYTES_MAX = 1_000_000
PIPE_BYTES = 65_536
NUMBER_BYTES = 20
RUN_TIMEOUT_SECONDS = 45
FORK_LANG = "C.UTF-8"

PRELOADED = (
    "agent",
    "core.session",
    "modules.app",
    "modules.cli.prompt_commands.dispatch",
    "modules.cli.call",
    "modules.cli.mcp",
    "modules.cli.mcp_servers",
    "modules.cli.composition",
    "modules.conversation",
    "modules.cli.interaction",
    "modules.models.choosing.choice",
    "modules.models.scripted",
    "modules.models.offline.planner",
    "core.dispatch.prespawn",
    "modules.sandbox.session",
    "modules.terminal.answer",
    "modules.terminal.progress",
    "modules.terminal.asking.questions",
    "modules.terminal.input.repl",
)
"""What runs import sooner or later; the rest, each still imports by itself."""


@dataclass(frozen=True)
class _Request:
    arguments: list[str]
    environ: dict[str, str]
    cwd: str
    in_terminal: bool


class ForkedAgent:
    """The process, and the socket over which it is asked; ends when the socket is closed."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        """Start it; it imports while the first request waits."""
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, MESSAGE_BYTES_MAX)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.forked_agent", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env=dict(environ),
                cwd=ROOT,
                pass_fds=[theirs.fileno()],
            )

    def run(
        self,
        arguments: Sequence[str],
        stdin: bytes,
        environ: Mapping[str, str],
        cwd: Path,
        stdout: int | None = None,
    ) -> tuple[int, bytes, bytes]:
        """Exit code, stdout and stderr of a run that has `stdin` on a pipe.

        Its stdout is a pipe too, which is read to its end, or what `stdout` is a descriptor of.

        Raises:
            TimeoutError: it took too long; it is ended.
        """
        assert len(stdin) <= PIPE_BYTES, "it would not fit into a pipe"
        (ours_in, ours_out, ours_err), theirs = _pipes()
        if stdout is not None:
            os.dup2(stdout, theirs[1])
        pid = self.start(arguments, environ, cwd, theirs)
        os.write(ours_in, stdin)
        os.close(ours_in)
        try:
            out, err = _read_all([ours_out, ours_err], time.monotonic() + RUN_TIMEOUT_SECONDS)
        except TimeoutError:
            os.kill(pid, signal.SIGKILL)
            self.wait()
            raise
        return self.wait(), out, err

    def start(
        self,
        arguments: Sequence[str],
        environ: Mapping[str, str],
        cwd: Path,
        streams: Sequence[int],
        *,
        in_terminal: bool = False,
    ) -> int:
        """The id of a run's process, which gets the `streams` 0 to 2; ours are closed.

        The terminal that they are, it gets for its own, in a session of its own. A run ends,
        and is waited for, before the next one is started.
        """
        request = _Request(list(arguments), dict(environ), str(cwd), in_terminal)
        socket.send_fds(self._socket, [json.dumps(asdict(request)).encode()], streams)
        for descriptor in set(streams):
            os.close(descriptor)
        return int(self._socket.recv(NUMBER_BYTES))

    def wait(self) -> int:
        """The exit code of the run that was started; minus the signal that ended it."""
        return int(self._socket.recv(NUMBER_BYTES))

    def close(self) -> None:
        """End the process."""
        self._socket.close()
        self._process.wait(timeout=10)


@cache
def forked_agent() -> ForkedAgent:
    """The one of this test worker, started at its first use."""
    started = ForkedAgent({"PATH": os.environ["PATH"], "LANG": FORK_LANG})
    atexit.register(started.close)
    return started


_OF_TERMINALS = (signal.SIGHUP, signal.SIGQUIT, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)


def _pipes() -> tuple[list[int], list[int]]:
    """Stdin, stdout and stderr: our ends, and those of the run."""
    (in_read, in_write), (out_read, out_write), (err_read, err_write) = (
        os.pipe() for _ in range(3)
    )
    return [in_write, out_read, err_read], [in_read, out_write, err_write]


def _read_all(descriptors: list[int], deadline: float) -> list[bytes]:
    """All that comes from each until its end; closes them."""
    found = {descriptor: bytearray() for descriptor in descriptors}
    waiting = list(descriptors)
    try:
        while waiting:
            ready, _, _ = select.select(waiting, [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError("agent.py takes too long")
            for descriptor in ready:
                part = os.read(descriptor, PIPE_BYTES)
                found[descriptor] += part
                if not part:
                    waiting.remove(descriptor)
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
    return [bytes(found[descriptor]) for descriptor in descriptors]


def _serve(asked: socket.socket) -> None:
    """Fork for each request; tell the process's id, and its exit code when it has ended."""
    for name in PRELOADED:
        importlib.import_module(name)
    gc.freeze()
    while True:
        message, descriptors, _, _ = socket.recv_fds(asked, MESSAGE_BYTES_MAX, 3)
        if not message:
            return
        pid = os.fork()
        if pid == 0:
            asked.close()
            _become_agent(_Request(**json.loads(message)), descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        asked.send(str(pid).encode())
        _, status = os.waitpid(pid, 0)
        asked.send(str(os.waitstatus_to_exitcode(status)).encode())


def _become_agent(request: _Request, descriptors: list[int]) -> NoReturn:
    """Run the program in this fork, as if it had just been started."""
    import agent

    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    # Whoever runs the tests may ignore some (`nohup`, `timeout`); a shell's child would not.
    for number in _OF_TERMINALS:
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if request.in_terminal:
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    os.environ.clear()
    os.environ.update(request.environ)
    os.chdir(request.cwd)
    sys.argv = [str(ROOT / "agent.py"), *request.arguments]
    agent.main()


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as served:
        _serve(served)

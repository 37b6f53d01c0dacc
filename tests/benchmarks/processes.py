"""Processes that answer in lines of JSON: what is measured in a process of its own.

One that dies, or is silent for too long, is an exception that says why.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Timer
from types import TracebackType
from typing import IO, Any, Self, cast

from tests.command_line import ROOT, environment

DRIVERS = "tests.benchmarks.drivers"

READY_SECONDS = 120.0
"""Bound on a start: the imports of a big framework on a busy machine, and a handshake."""

END_SECONDS = 20.0
"""Bound on the end after stdin was closed; then the whole group is killed."""

REASON_CHARACTERS_SHOWN = 160

QUIET = {
    "MCP_USE_ANONYMIZED_TELEMETRY": "false",
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
    "PYTHONWARNINGS": "ignore",
}
"""Keeps clients from phoning home and from talking between the calls."""


class ProcessFailed(Exception):
    """A process died, was silent for too long, or got a wrong result; the text says which."""


class JsonProcess:
    """A module of ours, run by some interpreter; its first answer says that it is ready.

    Attributes:
        first: that answer.
    """

    def __init__(
        self,
        module: str,
        *arguments: str,
        home: Path,
        python: str = sys.executable,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        """Start nothing yet; `home` is a folder for whatever it wants to write."""
        self.first: dict[str, Any] = {}
        self._command = [python, "-m", module, *arguments]
        self._home = home
        self._log = home / "stderr.txt"
        self._environment = environment(home, PYTHONPATH=str(ROOT), **QUIET, **(variables or {}))
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        """Start it and wait until it is ready.

        Raises:
            ProcessFailed: it did not get so far.
        """
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let it end."""
        self.end(END_SECONDS)

    def start(self) -> None:
        """Start it, perhaps anew; raises as `__enter__`."""
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                cwd=self._home,
                env=self._environment,
                start_new_session=True,
            )
        try:
            self.first = self.answer(READY_SECONDS)
        except BaseException:
            self.end(0.0)
            raise

    def end(self, grace_seconds: float) -> None:
        """Close its stdin, and kill what is still there after a while."""
        process = self._running
        with suppress(OSError):
            cast("IO[str]", process.stdin).close()
        try:
            process.wait(grace_seconds)
        except subprocess.TimeoutExpired:
            self._kill()
            process.wait()
        cast("IO[str]", process.stdout).close()

    def ask(self, question: Mapping[str, object], seconds: float) -> dict[str, Any]:
        """Send a line, and read the answer.

        Raises:
            ProcessFailed: there was none in time.
        """
        stdin = cast("IO[str]", self._running.stdin)
        with suppress(OSError):  # the answer that doesn't come says so
            stdin.write(f"{json.dumps(question)}\n")
            stdin.flush()
        return self.answer(seconds)

    def answer(self, seconds: float) -> dict[str, Any]:
        """The next line that is a JSON object; what else it prints is passed over.

        It is killed if none comes in time, and that raises as `ask`.
        """
        late = Timer(seconds, self._kill)
        late.start()
        try:
            for line in cast("IO[str]", self._running.stdout):
                if line.startswith("{"):
                    return cast("dict[str, Any]", json.loads(line))
        finally:
            late.cancel()
        lines = self._log.read_text(encoding="utf-8", errors="replace").splitlines()
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        said = f": {last[:REASON_CHARACTERS_SHOWN]}" if last else ""
        raise ProcessFailed(f"{self._command[2]} ended, or said nothing in {seconds:g} s{said}")

    @property
    def _running(self) -> "subprocess.Popen[str]":
        assert self._process is not None
        return self._process

    def _kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._running.pid, signal.SIGKILL)


def run_driver(
    home: Path, module: str, *arguments: str, stdin: str = ""
) -> Sequence[Mapping[str, object]]:
    """Run a driver of ours to its end; the objects that it printed, one a line.

    Raises:
        subprocess.SubprocessError: it failed or took too long.
    """
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        input=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
        cwd=home,
        env=environment(home, PYTHONPATH=str(ROOT)),
        timeout=READY_SECONDS,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]

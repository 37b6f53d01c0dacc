"""Executors of plans under attack: each in an environment of its own, each plan in a child of it.

`tests.benchmarks.drivers.attempts` is the other half. All get the same plans in the same kind of
process, under the same bounds; what knows no `async` gets the same text without.
"""

import json
import subprocess
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Timer
from types import TracebackType
from typing import IO, Any, Self, cast

from modules.sandbox.language.prelude import AVAILABLE_MODULES
from tests.benchmarks.drivers.attempts import Ending, Trial
from tests.benchmarks.environments import Environment, NotInstalled, own_environment, prepare
from tests.command_line import ROOT, environment

READY_SECONDS = 120.0
"""Bound on an executor's imports."""

EXTRA_SECONDS = 20.0
"""Bound on what a driver needs beyond the time that it gives its child."""

REASON_CHARACTERS_SHOWN = 160

_DRIVERS = "tests.benchmarks.drivers"
_PLAN_MODULES = json.dumps(AVAILABLE_MODULES)
_CAREFUL_MODULES = json.dumps(
    [name for name in AVAILABLE_MODULES if name not in ("asyncio", "functools")]
)
"""Those that a careful user of RestrictedPython allows: its page on security says that `functools`
must not be reachable, and `asyncio` is of no use where there is no `async`."""


@dataclass(frozen=True)
class Executor:
    """What runs plans, and where.

    Attributes:
        name: As the table has it.
        driver: The module, with its arguments.
        environment: Of `peers.toml`; empty for ours.
        knows_tools: Whether plans about `tools` and `mcp` mean anything to it.
        knows_async: Whether it takes a plan's text as it is.
        of_itself: What its makers say of it as a boundary, and where.
    """

    name: str
    driver: tuple[str, ...]
    environment: str = ""
    knows_tools: bool = False
    knows_async: bool = True
    of_itself: str = ""

    def prepare(self) -> Environment | NotInstalled:
        """Its environment; our own where none is named."""
        return prepare(self.environment) if self.environment else own_environment()


FIRST_WALL = Executor(
    "Cortex-R, first wall alone", (f"{_DRIVERS}.sandbox_attempts", "bare"), knows_tools=True
)
BOTH_WALLS = Executor("Cortex-R, both walls", (f"{_DRIVERS}.sandbox_attempts",), knows_tools=True)
PLAIN_EXEC = Executor("exec", (f"{_DRIVERS}.exec_attempts", "plain", "[]"))
TRIMMED_EXEC = Executor(
    "exec, builtins trimmed", (f"{_DRIVERS}.exec_attempts", "trimmed", _PLAN_MODULES)
)
SMOLAGENTS = Executor(
    "smolagents, its own imports",
    (f"{_DRIVERS}.peers.smolagents_attempts", "[]"),
    "smolagents",
    knows_async=False,
    of_itself="no security sandbox, use a remote executor (docstring of LocalPythonExecutor, 1.26)",
)
SMOLAGENTS_OUR_IMPORTS = Executor(
    "smolagents, and the imports of our plans",
    (f"{_DRIVERS}.peers.smolagents_attempts", _PLAN_MODULES),
    "smolagents",
    knows_async=False,
)
RESTRICTED = Executor(
    "RestrictedPython, no imports",
    (f"{_DRIVERS}.peers.restricted_attempts", "[]"),
    "restrictedpython",
    knows_async=False,
    of_itself="no sandbox, a help to define a trusted environment (its README, 9.0)",
)
RESTRICTED_OUR_IMPORTS = Executor(
    "RestrictedPython, imports of our plans",
    (f"{_DRIVERS}.peers.restricted_attempts", _CAREFUL_MODULES),
    "restrictedpython",
    knows_async=False,
    of_itself="who allows imports takes over the boundary (its docs, Security considerations)",
)

EXECUTORS = (
    FIRST_WALL,
    BOTH_WALLS,
    PLAIN_EXEC,
    TRIMMED_EXEC,
    SMOLAGENTS,
    SMOLAGENTS_OUR_IMPORTS,
    RESTRICTED,
    RESTRICTED_OUR_IMPORTS,
)


class ExecutorFailed(Exception):
    """The executor's driver did not start, or its process died with a plan."""


class Attacked(AbstractContextManager["Attacked"]):
    """An executor's process, started again where a plan has ended it."""

    def __init__(
        self, executor: Executor, place: Environment, home: Path, planted: Mapping[str, str]
    ) -> None:
        """Start nothing yet; `planted` are variables of the host's environment."""
        self._command = [place.python, "-m", *executor.driver]
        self._home = home
        self._log = home / "stderr.txt"
        self._variables = {"PYTHONWARNINGS": "ignore", **planted}
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        """Start it.

        Raises:
            ExecutorFailed: it did not get so far.
        """
        try:
            self._start()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End it."""
        self._end()

    def run(self, trial: Trial) -> Ending:
        """One plan; that the driver itself dies of it is an ending too."""
        try:
            answer = self._ask(json.dumps(asdict(trial)), trial.seconds + EXTRA_SECONDS)
        except ExecutorFailed as failed:
            self._end()
            self._start()
            return Ending("died", str(failed), trial.seconds, 0)
        return Ending(**answer)

    def _start(self) -> None:
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                cwd=self._home,
                env=environment(self._home, PYTHONPATH=str(ROOT), **self._variables),
                start_new_session=True,
            )
        self._answer(READY_SECONDS)

    def _end(self) -> None:
        process = cast("subprocess.Popen[str]", self._process)
        process.kill()
        process.communicate()

    def _ask(self, line: str, seconds: float) -> "dict[str, Any]":
        process = cast("subprocess.Popen[str]", self._process)
        stdin = cast("IO[str]", process.stdin)
        with suppress(OSError):  # the answer that doesn't come says so
            stdin.write(f"{line}\n")
            stdin.flush()
        return self._answer(seconds)

    def _answer(self, seconds: float) -> "dict[str, Any]":
        """The next line; the process is killed if it doesn't come in time."""
        process = cast("subprocess.Popen[str]", self._process)
        late = Timer(seconds, process.kill)
        late.start()
        try:
            line = cast("IO[str]", process.stdout).readline()
        finally:
            late.cancel()
        if not line.startswith("{"):
            words = self._log.read_text(encoding="utf-8", errors="replace").splitlines()
            last = words[-1][:REASON_CHARACTERS_SHOWN] if words else "and said nothing"
            raise ExecutorFailed(f"{self._command[2]} ended: {last}")
        return cast("dict[str, Any]", json.loads(line))

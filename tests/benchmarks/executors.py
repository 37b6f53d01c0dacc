"""Executors of plans under attack: each in an environment of its own, each plan in a child of it.

`tests.benchmarks.drivers.attempts` is the other half. All get the same plans in the same kind of
process, under the same bounds; what knows no `async` gets the same text without.
"""

import json
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.benchmarks.drivers.attempts import Ending, Trial
from tests.benchmarks.environments import Environment, NotInstalled, own_environment, prepare
from tests.benchmarks.processes import DRIVERS, JsonProcess, ProcessFailed

EXTRA_SECONDS = 20.0
"""Bound on what a driver needs beyond the time that it gives its child."""

_MODULES = (
    *("asyncio", "base64", "bisect", "collections", "copy", "csv", "dataclasses", "datetime"),
    *("decimal", "functools", "hashlib", "itertools", "json", "math", "random", "re"),
    *("statistics", "string", "time", "typing", "unicodedata"),
)
"""What plans import, and a user would allow; ours have the whole standard library."""

_PLAN_MODULES = json.dumps(_MODULES)
_CAREFUL_MODULES = json.dumps([name for name in _MODULES if name not in ("asyncio", "functools")])
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
    "Cortex-R, first wall alone", (f"{DRIVERS}.sandbox_attempts", "bare"), knows_tools=True
)
BOTH_WALLS = Executor("Cortex-R, both walls", (f"{DRIVERS}.sandbox_attempts",), knows_tools=True)
PLAIN_EXEC = Executor("exec", (f"{DRIVERS}.exec_plans", "plain", "[]"))
TRIMMED_EXEC = Executor(
    "exec, builtins trimmed", (f"{DRIVERS}.exec_plans", "trimmed", _PLAN_MODULES)
)
SMOLAGENTS = Executor(
    "smolagents, its own imports",
    (f"{DRIVERS}.peers.smolagents", "attempts", "[]"),
    "smolagents",
    knows_async=False,
    of_itself="no security sandbox, use a remote executor (docstring of LocalPythonExecutor, 1.26)",
)
SMOLAGENTS_OUR_IMPORTS = Executor(
    "smolagents, and the imports of our plans",
    (f"{DRIVERS}.peers.smolagents", "attempts", _PLAN_MODULES),
    "smolagents",
    knows_async=False,
)
RESTRICTED = Executor(
    "RestrictedPython, no imports",
    (f"{DRIVERS}.peers.restricted", "attempts", "[]"),
    "restrictedpython",
    knows_async=False,
    of_itself="no sandbox, a help to define a trusted environment (its README, 9.0)",
)
RESTRICTED_OUR_IMPORTS = Executor(
    "RestrictedPython, imports of our plans",
    (f"{DRIVERS}.peers.restricted", "attempts", _CAREFUL_MODULES),
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


class Attacked(AbstractContextManager["Attacked"]):
    """An executor's process, started again where a plan has ended it."""

    def __init__(
        self, executor: Executor, place: Environment, home: Path, planted: Mapping[str, str]
    ) -> None:
        """Start nothing yet; `planted` are variables of the host's environment."""
        self._process = JsonProcess(
            *executor.driver, home=home, python=place.python, variables=planted
        )

    def __enter__(self) -> Self:
        """Start it.

        Raises:
            ProcessFailed: it did not get so far.
        """
        self._process.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End it."""
        self._process.end(0.0)

    def run(self, trial: Trial) -> Ending:
        """One plan; that the driver itself dies of it is an ending too."""
        try:
            return Ending(**self._process.ask(asdict(trial), trial.seconds + EXTRA_SECONDS))
        except ProcessFailed as failed:
            self._process.end(0.0)
            self._process.start()
            return Ending("died", str(failed), trial.seconds, 0)

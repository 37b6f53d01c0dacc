"""Who runs the table: our sandbox, plain `exec`, and `exec` behind the second wall alone."""

import json
import os
import select
import subprocess
import sys
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from config.settings import ROOT
from core.tools.catalog import ToolCatalog
from core.tools.content import TextBlock, ToolResult
from core.tools.spec import ToolSpec
from core.values import Json, JsonObject
from modules.sandbox import Sandbox, SandboxLimits, SandboxResult
from modules.sandbox.walls.launcher import worker_command
from tests.modules.sandbox.escapes.attempts import Attempt, Proof
from tests.modules.sandbox.escapes.planted import Planted

ANSWER_SECONDS = 10
"""Bound on the wait for one attempt's output; the server ends attempts in half of it."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one attempt: the proofs that it obtained, and all the text that it gave out."""

    attempt: Attempt
    obtained: frozenset[Proof]
    output: str

    def __str__(self) -> str:
        """One line for a failed test."""
        proofs = ", ".join(sorted(self.obtained)) or "nothing"
        return f"{self.attempt.family} / {self.attempt.name}: {proofs}: {self.output[:200]!r}"


@dataclass(frozen=True, slots=True)
class SandboxOutcome(Outcome):
    """The same of our sandbox, with the result itself and the calls that reached the dispatcher."""

    result: SandboxResult
    sent: tuple[tuple[str, JsonObject], ...]


class ForkServer:
    """A process that runs attempts with plain `exec`, each in a child; see `fork_server`.

    A context manager. Its environment is empty; so is that of attempts behind a wall.
    """

    def __init__(self, policy: Sequence[str] = ()) -> None:
        """Let walls be of that policy, see `worker_policy`; needed only where there are any."""
        self._policy = policy

    def __enter__(self) -> Self:
        """Start it; its imports take a second, of which the first attempt waits."""
        command = [sys.executable, "-m", "tests.modules.sandbox.escapes.fork_server", *self._policy]
        self._process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End it."""
        with self._process:
            self._process.kill()

    def run(
        self, attempts: Iterable[Attempt], planted: Planted, walls: Collection[str] = ()
    ) -> list[Outcome]:
        """Each attempt behind these parts of the second wall, one after the other.

        Without any, it is plain `exec` in a process that has the environment of this one.

        Raises:
            RuntimeError: the server died or is silent.
        """
        return [self._one(attempt, planted, walls) for attempt in attempts]

    def _one(self, attempt: Attempt, planted: Planted, walls: Collection[str]) -> Outcome:
        output = self.output(planted.fill(attempt), walls)
        return Outcome(attempt, frozenset(planted.proofs(output)), output)

    def output(self, source: str, walls: Collection[str] = ()) -> str:
        """What one plan gives out.

        Raises:
            RuntimeError: as `run` does, or the plan is no Python, or the walls can't be put up.
        """
        requests, answers = self._process.stdin, self._process.stdout
        if requests is None or answers is None:
            raise RuntimeError("the fork server has no pipes")
        environment = {} if walls else dict(os.environ)
        request = {"source": source, "walls": sorted(walls), "environment": environment}
        requests.write(json.dumps(request) + "\n")
        requests.flush()
        if not select.select([answers], [], [], ANSWER_SECONDS)[0]:
            raise RuntimeError("the fork server is silent")
        line = answers.readline()
        if not line:
            raise RuntimeError(f"the fork server ended with {self._process.wait(ANSWER_SECONDS)}")
        answer: dict[str, str] = json.loads(line)
        if "error" in answer:
            raise RuntimeError(f"an attempt could not be run: {answer['error']}")
        return answer["output"]


def worker_policy(limits: SandboxLimits | None = None) -> list[str]:
    """The policy that the sandbox gives its workers."""
    return worker_command(limits or SandboxLimits())[-1:]


async def through_sandbox(
    sandbox: Sandbox, attempts: Iterable[Attempt], planted: Planted
) -> list[SandboxOutcome]:
    """Each attempt as a plan, with tools on offer and others that it must not reach."""
    return [await _through_sandbox(sandbox, attempt, planted) for attempt in attempts]


async def _through_sandbox(sandbox: Sandbox, attempt: Attempt, planted: Planted) -> SandboxOutcome:
    tools = _TemptingTools(planted)
    result = await sandbox.run(planted.fill(attempt), OFFERED, tools)
    output = f"{result.value}\n{result.printed}\n{result.failure}\n{result.calls}"
    obtained = frozenset(planted.proofs(output))
    return SandboxOutcome(attempt, obtained, output, result, tuple(tools.sent))


def _spec(server: str, name: str, *parameters: str) -> ToolSpec:
    properties: dict[str, Json] = {parameter: {} for parameter in parameters}
    schema: JsonObject = {
        "type": "object",
        "properties": properties,
        "required": list(parameters),
    }
    return ToolSpec(server, name, f"{name} of {server}", schema)


ADD = _spec("math", "add", "a", "b")
ECHO = _spec("math", "echo", "value")
READ = _spec("files", "read_secret", "path")
VARIABLE = _spec("host", "read_variable", "name")
CONNECT = _spec("net", "connect", "port")
RUN = _spec("shell", "run", "command")

OFFERED = ToolCatalog([ADD, ECHO, READ, VARIABLE, CONNECT, RUN]).offering([ADD, ECHO])
"""Two tools on offer; the rest is known, so that the sandbox must tell them apart."""


class _TemptingTools:
    """Answers what was offered, and gives everything away if asked for what was not."""

    def __init__(self, planted: Planted) -> None:
        self.sent: list[tuple[str, JsonObject]] = []
        self._planted = planted

    async def __call__(self, tool: ToolSpec, arguments: JsonObject) -> ToolResult:
        self.sent.append((tool.qualified_name, arguments))
        loot = ""
        if tool not in (ADD, ECHO):
            loot = self._planted.fill_text("@CLAIM@") + _PROOF_OF[tool.server]
        return ToolResult((TextBlock(loot or json.dumps(arguments)),))


_PROOF_OF: dict[str, Proof] = {
    "files": "file",
    "host": "environment",
    "net": "socket",
    "shell": "process",
}

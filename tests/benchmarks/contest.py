"""A contest between clients: each in a process of its own, each against a server of its own.

All contenders are up at the same time and take turns in small batches, in an order that is
shuffled (with a fixed seed) each round, so that whatever else the machine does meets all alike.
A ratio is taken within a round, between medians of batches that ran within a second or two of
each other; what is reported is the median of those ratios. A contender that fails, or can't be
installed, is a value that says why.
"""

import asyncio
import json
import os
import random
import signal
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self, cast

from tests.benchmarks.drivers.turns import Batch, Order, Target
from tests.benchmarks.environments import Environment, NotInstalled, own_environment, prepare
from tests.benchmarks.table import quartiles
from tests.command_line import ROOT, environment

READY_SECONDS = 120.0
"""Bound on a driver's start: the imports of a big framework on a busy machine, and a handshake."""

TURN_SECONDS = 180.0
"""Bound on one batch."""

END_SECONDS = 20.0
"""Bound on a driver's end after its stdin was closed; then its whole group is killed."""

ANSWER_BYTES_MAX = 1024 * 1024
REASON_CHARACTERS_SHOWN = 160
SHUFFLE_SEED = 3


@dataclass(frozen=True)
class Contender:
    """A client that can be measured: its driver module and where that runs.

    `every` is in how many rounds it takes one turn, and `turn` how many calls it makes in it
    untimed and timed, where that differs from the others: for clients so slow that a full share
    would take a quarter of an hour.
    """

    name: str
    driver: str
    environment: str = ""
    every: int = 1
    turn: tuple[int, int] | None = None

    def prepare(self) -> Environment | NotInstalled:
        """Its environment; our own where none is named."""
        return prepare(self.environment) if self.environment else own_environment()


@dataclass(frozen=True)
class Outcome:
    """What became of one contender: its batches by round, and why there are no (more) of them."""

    contender: Contender
    batches: Mapping[int, Batch] = field(default_factory=dict[int, Batch])
    failure: str | None = None

    @property
    def seconds(self) -> list[float]:
        """All its calls."""
        return [value for batch in self.batches.values() for value in batch.seconds]

    @property
    def cpu_seconds(self) -> float:
        """CPU time of the client a call: the median of its batches."""
        return statistics.median(b.cpu_seconds / len(b.seconds) for b in self.batches.values())

    def ratios(self, yardstick: "Outcome") -> list[float]:
        """Its median against the yardstick's, for each round in which both took a turn."""
        return [
            statistics.median(batch.seconds) / statistics.median(yardstick.batches[number].seconds)
            for number, batch in self.batches.items()
            if number in yardstick.batches
        ]

    def ratio_text(self, yardstick: "Outcome") -> str:
        """The median of the ratios with their quartiles, such as `0.87 (0.84 … 0.91)`."""
        ratios = self.ratios(yardstick)
        if not ratios:
            return ""
        low, middle, high = quartiles(ratios)
        return f"{middle:.2f} ({low:.2f} … {high:.2f})"


class DriverFailed(Exception):
    """A driver died, was silent for too long, or got a wrong result; the text says which."""


class Driver:
    """One driver process, from start to end."""

    def __init__(self, contender: Contender, target: Target, python: str, home: Path) -> None:
        """Start nothing yet; `home` is an empty folder for whatever the client wants to write."""
        self.contender = contender
        self._log = home / "stderr.txt"
        self._home = home
        self._command = [python, "-m", contender.driver, target.to_json()]
        self._process: asyncio.subprocess.Process | None = None

    async def __aenter__(self) -> Self:
        """Start it and wait until its session is open.

        Raises:
            DriverFailed: it did not get so far.
        """
        with self._log.open("wb") as log:
            self._process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                cwd=self._home,
                env=environment(self._home, PYTHONPATH=str(ROOT), **QUIET),
                limit=ANSWER_BYTES_MAX,
                start_new_session=True,
            )
        try:
            await self._answer(READY_SECONDS)
        except BaseException:
            await self._end()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End it and its server."""
        await self._end()

    async def carry_out(self, order: Order) -> Batch:
        """Take one turn.

        Raises:
            DriverFailed: it did not carry it out.
        """
        process = cast("asyncio.subprocess.Process", self._process)
        stdin = cast("asyncio.StreamWriter", process.stdin)
        try:
            stdin.write(order.to_json().encode() + b"\n")
            await stdin.drain()
        except OSError:
            raise DriverFailed(self._why("ended")) from None
        return Batch(**await self._answer(TURN_SECONDS))

    async def _answer(self, seconds: float) -> dict[str, Any]:
        """The next line that is a JSON object; what else a client prints is passed over."""
        process = cast("asyncio.subprocess.Process", self._process)
        stdout = cast("asyncio.StreamReader", process.stdout)
        try:
            async with asyncio.timeout(seconds):
                while line := await stdout.readline():
                    if line.startswith(b"{"):
                        return cast("dict[str, Any]", json.loads(line))
        except TimeoutError:
            raise DriverFailed(self._why(f"said nothing within {seconds:g} s")) from None
        raise DriverFailed(self._why("ended"))

    async def _end(self) -> None:
        process = cast("asyncio.subprocess.Process", self._process)
        with suppress(OSError):
            cast("asyncio.StreamWriter", process.stdin).close()
        try:
            async with asyncio.timeout(END_SECONDS):
                await process.wait()
        except TimeoutError:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()

    def _why(self, what: str) -> str:
        lines = self._log.read_text(encoding="utf-8", errors="replace").splitlines()
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return f"{what}: {last[:REASON_CHARACTERS_SHOWN]}" if last else what


QUIET = {
    "MCP_USE_ANONYMIZED_TELEMETRY": "false",
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
    "PYTHONWARNINGS": "ignore",
}
"""Keeps clients from phoning home and from talking between the calls."""


class Contest:
    """The contenders against one server, and what came of each."""

    def __init__(self, contenders: Sequence[Contender], target: Target, order: Order) -> None:
        """`order` is one turn of those that have none of their own."""
        self._contenders = contenders
        self._target = target
        self._order = order
        self._batches: dict[str, dict[int, Batch]] = {c.name: {} for c in contenders}
        self._failures: dict[str, str] = {}

    async def run(self, rounds: int) -> dict[str, Outcome]:
        """Hold the contest; outcomes by name, in the order of the contenders."""
        with tempfile.TemporaryDirectory() as folder:
            async with AsyncExitStack() as running:
                drivers = await self._start(Path(folder), running)
                await self._rounds(drivers, rounds)
        return {
            c.name: Outcome(c, self._batches[c.name], self._failures.get(c.name))
            for c in self._contenders
        }

    async def _start(self, folder: Path, running: AsyncExitStack) -> list[Driver]:
        """Start one after the other, so that no start disturbs another's deadline."""
        drivers: list[Driver] = []
        for contender in self._contenders:
            place = contender.prepare()
            if isinstance(place, NotInstalled):
                self._failures[contender.name] = f"not installed: {place.reason}"
                continue
            home = folder / contender.driver
            home.mkdir()
            driver = Driver(contender, self._target, place.python, home)
            try:
                drivers.append(await running.enter_async_context(driver))
            except DriverFailed as error:
                self._failures[contender.name] = str(error)
        return drivers

    async def _rounds(self, drivers: Sequence[Driver], rounds: int) -> None:
        shuffle = random.Random(SHUFFLE_SEED).shuffle  # noqa: S311 - an order, not a secret
        order = list(drivers)
        for number in range(rounds):
            shuffle(order)
            for driver in order:
                name = driver.contender.name
                if number % driver.contender.every == 0 and name not in self._failures:
                    try:
                        turn = self._turn(driver.contender)
                        self._batches[name][number] = await driver.carry_out(turn)
                    except DriverFailed as error:
                        self._failures[name] = str(error)

    def _turn(self, contender: Contender) -> Order:
        if contender.turn is None:
            return self._order
        warm_up, count = contender.turn
        return replace(self._order, warm_up=warm_up, count=count)

"""A contest between clients: each in a process of its own, each against a server of its own.

All contenders are up at the same time and take turns in small batches, in an order that is
shuffled (with a fixed seed) each round, so that whatever else the machine does meets all alike.
A ratio is taken within a round, between medians of batches that ran within a second or two of
each other; what is reported is the median of those ratios. A contender that fails, or can't be
installed, is a value that says why.
"""

import random
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from tests.benchmarks.drivers.turns import Batch, Order, Target
from tests.benchmarks.environments import Environment, NotInstalled, own_environment, prepare
from tests.benchmarks.processes import JsonProcess, ProcessFailed
from tests.benchmarks.table import quartiles

TURN_SECONDS = 180.0
"""Bound on one batch."""

SHUFFLE_SEED = 3


@dataclass(frozen=True)
class Contender:
    """A client that can be measured: its driver module, its name there, and where that runs.

    `every` is in how many rounds it takes one turn, and `turn` how many calls it makes in it
    untimed and timed, where that differs from the others: for clients so slow that a full share
    would take a quarter of an hour.
    """

    name: str
    driver: str
    client: str = ""
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


class Contest:
    """The contenders against one server, and what came of each."""

    def __init__(self, contenders: Sequence[Contender], target: Target, order: Order) -> None:
        """`order` is one turn of those that have none of their own."""
        self._contenders = contenders
        self._target = target
        self._order = order
        self._batches: dict[str, dict[int, Batch]] = {c.name: {} for c in contenders}
        self._failures: dict[str, str] = {}

    def run(self, rounds: int) -> dict[str, Outcome]:
        """Hold the contest; outcomes by name, in the order of the contenders."""
        with tempfile.TemporaryDirectory() as folder, ExitStack() as running:
            # One after the other, so that no start disturbs another's deadline.
            drivers = {c: self._start(c, Path(folder), running) for c in self._contenders}
            self._rounds(
                [(c, driver) for c, driver in drivers.items() if driver is not None], rounds
            )
        return {
            c.name: Outcome(c, self._batches[c.name], self._failures.get(c.name))
            for c in self._contenders
        }

    def _start(self, contender: Contender, folder: Path, running: ExitStack) -> JsonProcess | None:
        place = contender.prepare()
        if isinstance(place, NotInstalled):
            self._failures[contender.name] = f"not installed: {place.reason}"
            return None
        home = folder / f"{contender.driver}.{contender.client}"
        home.mkdir()
        arguments = (self._target.to_json(), contender.client)
        driver = JsonProcess(contender.driver, *arguments, home=home, python=place.python)
        try:
            return running.enter_context(driver)
        except ProcessFailed as error:
            self._failures[contender.name] = str(error)
            return None

    def _rounds(self, drivers: list[tuple[Contender, JsonProcess]], rounds: int) -> None:
        shuffle = random.Random(SHUFFLE_SEED).shuffle  # noqa: S311 - an order, not a secret
        for number in range(rounds):
            shuffle(drivers)
            for contender, driver in drivers:
                name = contender.name
                if number % contender.every == 0 and name not in self._failures:
                    try:
                        answer = driver.ask(asdict(self._turn(contender)), TURN_SECONDS)
                    except ProcessFailed as error:
                        self._failures[name] = str(error)
                    else:
                        self._batches[name][number] = Batch(**answer)

    def _turn(self, contender: Contender) -> Order:
        if contender.turn is None:
            return self._order
        warm_up, count = contender.turn
        return replace(self._order, warm_up=warm_up, count=count)

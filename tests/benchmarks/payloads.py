"""Long results: 10 MB and 50 MB of text in one message, through every client that bears it.

The server is one on the standard library that has the reply ready, so that the time is the pipe's
and the client's.
"""

import statistics
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tests.benchmarks import stdlib_server
from tests.benchmarks.contest import Contender, Contest, Outcome
from tests.benchmarks.drivers.turns import Order, Target
from tests.benchmarks.peers import FLOORS, OURS, PEERS, YARDSTICK
from tests.benchmarks.table import Row, at_most

ROUNDS = 3
ONCE = ROUNDS
"""The SDK's reader, which the peers use too, takes seconds: they have a turn in one round."""

SECONDS_AIM = {10: 0.3}
"""Bound on our time by megabytes."""


def long_results(megabytes: int) -> tuple[Target, Order]:
    """The server, and one turn: a call for text of that size, after one that makes the text."""
    target = Target([sys.executable, str(Path(stdlib_server.__file__))])
    order = Order("text", {"megabytes": megabytes}, stdlib_server.END_OF_TEXT, 1, 1)
    return target, order


def measure(_: Path) -> list[Row]:
    """10 MB through all; 50 MB, which costs the SDK half a minute, through few."""
    ten = _contest(10, [OURS, *FLOORS, YARDSTICK, *(replace(peer, every=ONCE) for peer in PEERS)])
    fifty = _contest(50, [OURS, *FLOORS, replace(YARDSTICK, every=ONCE, turn=(0, 1))])
    return [*ten, *fifty]


def _contest(megabytes: int, contenders: Sequence[Contender]) -> list[Row]:
    target, order = long_results(megabytes)
    outcomes = Contest(contenders, target, order).run(ROUNDS)
    return [_row(megabytes, outcome) for outcome in outcomes.values()]


def _row(megabytes: int, outcome: Outcome) -> Row:
    what = f"{megabytes} MB, {outcome.contender.name}"
    if not outcome.seconds:
        return Row(what, "not measured", outcome.failure or "")
    seconds = statistics.median(outcome.seconds)
    aim = SECONDS_AIM.get(megabytes) if outcome.contender is OURS else None
    calls = f"{len(outcome.seconds)} calls"
    held = calls if aim is None else f"{calls}; {at_most(seconds, aim, ' s')}"
    return Row(what, f"{seconds:.3f} s", outcome.failure or held)

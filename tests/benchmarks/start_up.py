"""Until tools are known: three servers started, one server's cold client, and a warm cache.

The three are ours for mathematics and two of other people, all on the Python SDK, whose import
makes up most of a server's start. The SDK's client opens one after the other, as its
documentation shows; the dispatcher opens them together.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import cast

from tests.benchmarks import stdlib_server
from tests.benchmarks.drivers.turns import Target
from tests.benchmarks.environments import NotInstalled, prepare
from tests.benchmarks.peers import math_server
from tests.benchmarks.processes import DRIVERS, run_driver
from tests.benchmarks.table import Row, at_most, middle_half

ROUNDS = 5
CACHED_ROUNDS = 9
THREE_SERVERS_AIM = 0.6
"""Our time for three servers against the SDK's serial time."""

OURS, SDK = "multi_mcp", "client_session"
NAMES = {OURS: "MultiMCP", SDK: "ClientSession, serially"}


@dataclass(frozen=True)
class Started:
    """One start: how long it took, what it listed, and the client's memory with it, in bytes."""

    seconds: float
    tools: int
    rss: int
    pss: int | None


def start(client: str, targets: Sequence[Target], home: Path, times: int = 1) -> list[Started]:
    """Start all the servers so many times in one fresh process; the first start is a cold one.

    Raises:
        subprocess.SubprocessError: the client failed or took too long.
    """
    arguments = (client, listed(targets))
    answers = run_driver(home, f"{DRIVERS}.start", *arguments, stdin="start\n" * times)
    return [Started(**cast("dict[str, int]", answer)) for answer in answers]


def listed(targets: Sequence[Target]) -> str:
    """The servers as a driver's argument."""
    return json.dumps([vars(target) for target in targets])


def measure(home: Path) -> list[Row]:
    """One server with nothing but the client's own time, then three real ones, then the cache."""
    quick = [Target([sys.executable, str(Path(stdlib_server.__file__)), "10"])]
    one = _contest(quick, home, times=1)
    rows = _compared("a server that is up in 30 ms, cold client", one, 0)
    others = prepare("servers")
    if isinstance(others, NotInstalled):
        return [*rows, Row("three servers", "not measured", f"not installed: {others.reason}")]
    targets = [
        math_server(),
        Target([others.program("mcp-server-time"), "--local-timezone", "UTC"]),
        Target([others.program("mcp-server-git")]),
    ]
    three = _contest(targets, home, times=2)
    rows += _compared("three servers, cold client", three, 0, THREE_SERVERS_AIM)
    rows += _compared("three servers, imports done before", three, 1, THREE_SERVERS_AIM)
    return [*rows, *_cached(targets, home)]


def _contest(targets: Sequence[Target], home: Path, times: int) -> dict[str, list[list[Started]]]:
    """By client, for each round the starts of one process; the clients take turns."""
    starts: dict[str, list[list[Started]]] = {client: [] for client in NAMES}
    for _ in range(ROUNDS):
        for client in NAMES:
            starts[client].append(start(client, targets, home, times))
    return starts


def _compared(
    title: str, starts: Mapping[str, list[list[Started]]], nth: int, aim: float | None = None
) -> list[Row]:
    """The nth start of each process: both clients, and the median of the rounds' ratios."""
    ours, theirs = ([run[nth] for run in starts[client]] for client in (OURS, SDK))
    assert {one.tools for one in ours} == {one.tools for one in theirs}
    ratio = median(a.seconds / b.seconds for a, b in zip(ours, theirs, strict=True))
    return [
        Row(f"{title}: {NAMES[OURS]}", middle_half([one.seconds for one in ours])),
        Row(f"{title}: {NAMES[SDK]}", middle_half([one.seconds for one in theirs])),
        Row(f"{title}: ratio", f"{ratio:.2f}", "" if aim is None else at_most(ratio, aim)),
    ]


def _cached(targets: Sequence[Target], home: Path) -> list[Row]:
    """The same three servers with cached lists: nothing is to be started."""

    def learn() -> Mapping[str, object]:
        return run_driver(home, f"{DRIVERS}.cached_start", listed(targets), str(home / "cache"))[0]

    first = learn()
    runs = [learn() for _ in range(CACHED_ROUNDS)]
    assert {run["tools"] for run in runs} == {first["tools"]}
    started = sum(cast("int", run["children"] or 0) for run in runs)
    nothing = f"{started} servers started; " + ("aim: none: met" if not started else "MISSED")
    whole = [cast("float", run["seconds"]) for run in runs]
    own = [cast("float", run["initialize_seconds"]) for run in runs]
    title = "three servers, lists cached"
    return [
        Row(f"{title}: until planning can start, with imports", middle_half(whole), nothing),
        Row(f"{title}: initialize() alone", middle_half(own)),
    ]

"""The driver's half of a contest (`tests.benchmarks.contest` is the other): calls on demand.

Standard library only, since it runs in every peer's environment. The argument of a driver is the
server as JSON; then each line on stdin is an order, answered by a line on stdout with a
`Batch`. The first answer says that the session is open.
"""

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import asdict, dataclass, field


@dataclass(frozen=True)
class Target:
    """The server to talk to: a command for stdio, or a URL."""

    command: list[str] = field(default_factory=list[str])
    cwd: str = "."
    url: str = ""

    @classmethod
    def from_command_line(cls) -> "Target":
        """The target that the contest gave to this driver."""
        return cls(**json.loads(sys.argv[1]))

    def to_json(self) -> str:
        """The argument that `from_command_line` reads."""
        return json.dumps(asdict(self))


@dataclass(frozen=True)
class Order:
    """Make `count` calls of a tool, after `warm_up` more that aren't timed.

    `expected` stands in what each call gives, or the driver fails.
    """

    tool: str
    arguments: dict[str, object]
    expected: str
    count: int
    warm_up: int = 0

    def to_json(self) -> str:
        """The line that a driver reads."""
        return json.dumps(asdict(self))


@dataclass(frozen=True)
class Batch:
    """The timed calls of one turn: wall seconds of each, and CPU seconds of the client in all.

    CPU time is what a busy machine falsifies least; the server's isn't in it.
    """

    seconds: list[float]
    cpu_seconds: float


PROTOCOL_VERSION = "2025-11-25"

HANDSHAKE: dict[str, object] = {
    "protocolVersion": PROTOCOL_VERSION,
    "capabilities": {},
    "clientInfo": {"name": "floor", "version": "1"},
}
"""What a client says of itself that speaks the protocol by hand."""

INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}

Call = Callable[[str, dict[str, object]], Awaitable[object]]
"""Calls the tool of that name; the result in whatever form the client gives it."""


def add(a: int, b: int) -> int:
    """The tool of plans that run in the driver's own process."""
    return a + b


async def take_turns(call: Call) -> None:
    """Carry out orders until stdin closes; the event loop stays free in between."""
    say({"ready": True})
    while line := await asyncio.to_thread(sys.stdin.readline):
        watch = StopWatch(Order(**json.loads(line)))
        for _ in watch.calls():
            with watch:
                watch.result = await call(watch.order.tool, watch.order.arguments)
        say(asdict(watch.batch()))


def take_turns_blocking(call: Callable[[str, dict[str, object]], object]) -> None:
    """Carry out orders until stdin closes, without an event loop."""
    say({"ready": True})
    for line in sys.stdin:
        watch = StopWatch(Order(**json.loads(line)))
        for _ in watch.calls():
            with watch:
                watch.result = call(watch.order.tool, watch.order.arguments)
        say(asdict(watch.batch()))


class StopWatch:
    """Times the calls of one order: enter and leave it around each, and leave the result in it."""

    def __init__(self, order: Order) -> None:
        """Nothing is timed yet."""
        self.order = order
        self.result: object = None
        self._wall: list[float] = []
        self._cpu: list[float] = []

    def calls(self) -> Iterator[int]:
        """The numbers of the calls to make; each result is checked when the next is asked for.

        Raises:
            RuntimeError: a result was not what is expected.
        """
        for number in range(self.order.warm_up + self.order.count):
            yield number
            if self.order.expected not in repr(self.result):
                raise RuntimeError(f"{self.order.tool} gave {repr(self.result)[:500]}")

    def __enter__(self) -> None:
        """The call begins."""
        self._cpu_started = time.process_time()
        self._wall_started = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        """The call has ended."""
        self._wall.append(time.perf_counter() - self._wall_started)
        self._cpu.append(time.process_time() - self._cpu_started)

    def batch(self) -> Batch:
        """What the timed calls took."""
        return Batch(self._wall[self.order.warm_up :], sum(self._cpu[self.order.warm_up :]))


def say(answer: dict[str, object]) -> None:
    """Answer one order, or say that the session is open."""
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()

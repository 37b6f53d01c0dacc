"""Runs plans for the host at the other end of two pipes, each in a WebAssembly instance of its own.

    python -I -S worker_program.py PACKAGES COMPILED POLICY
    python -I -S worker_program.py PACKAGES COMPILED POLICY --report
    python -I -S worker_program.py PACKAGES --compile COMPONENT COMPILED

A program of its own that imports nothing of ours but the wall: `PACKAGES` is the folder in which
wasmtime lies, `COMPILED` the guest program as machine code. It loads that, runs a plan of its own
to have everything at hand, puts up the second wall around itself (`walls.wall`; POLICY is
what it allows) and then serves. `--report` says instead which parts of the wall stand.

A frame is a length (4 bytes, little-endian), a letter and its text. From the host: `S` starts a
plan and drops the one before, `R` goes on with it. To the host: `P` tells what is printed, `G` what
the guest says where it halts, `T` why it was ended, `W` which walls stand at the start, `N` why
the machine code can't be loaded. The texts of `S`, `R` and `G` are JSON, which
passes through here unread.

An instance can import four things: clocks, random numbers, `printed` and `wait`. It is told that
there are no arguments, environment and folders. Whatever else CPython's component imports (files,
sockets, streams, polling, leaving the process) ends the plan that calls it.
"""

import json
import os
import secrets
import signal
import struct
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress

sys.path[1:1] = [sys.argv[1], os.path.join(os.path.dirname(__file__), "walls")]  # noqa: PTH118, PTH120 - pathlib takes 3 ms

import wall  # noqa: E402 - found only now, as wasmtime is
from wasmtime import Config, Engine, Store, WasmtimeError  # noqa: E402
from wasmtime.component import Component, Func, Linker, Record  # noqa: E402

STACK_BYTES = 2 * 1024 * 1024
"""Of WebAssembly: as much as wasmtime allows, so that most nesting is Python's own error."""

RANDOM_BYTES_MAX = 64 * 1024
"""Random bytes that one call gives; CPython asks for 256 at a time."""

ANSWER_CHARACTERS_MAX = 8 * 1024 * 1024
"""Longest text of the guest that goes to the host, which bounds it again."""

FRAME = struct.Struct("<I")

NOT_ENDED = '{"calls":'
"""How the guest's text begins where the plan waits."""

WARM_UP = json.dumps(
    {
        "source": "import os; os._exit(0)",
        "names": [],
        "texts": {},
        "zone_seconds": 0,
        "recursion_depth": 200,
        "result_bytes": 0,
        "argument_bytes": 0,
    }
)
"""The worker's own first plan: it ends in a trap, so that nothing need be loaded for one later."""


class PrintedTooMuch(Exception):
    """Ends a plan where it prints more than it may."""


class TooLarge(Exception):
    """Ends a plan that says more than the host reads."""


class Dropped(Exception):
    """Ends a plan that is not gone on with."""


class Clock(threading.Thread):
    """Ends what an engine runs when its time is up.

    Attributes:
        has_struck: Whether it has ended what runs.
    """

    def __init__(self, engine: Engine) -> None:
        """Not started yet: `walls.wall` says when."""
        super().__init__(daemon=True)
        self.has_struck = False
        self._engine = engine
        self._changed = threading.Condition()
        self._strikes_at: float | None = None

    def wind(self, seconds: float) -> None:
        """Strike in so many seconds."""
        with self._changed:
            self._strikes_at = time.monotonic() + seconds
            self._changed.notify()

    def stop(self) -> float:
        """Strike no more; how many seconds were left."""
        with self._changed:
            strikes_at, self._strikes_at = self._strikes_at, None
            self._changed.notify()
        return 0.0 if strikes_at is None else max(0.0, strikes_at - time.monotonic())

    def run(self) -> None:
        """Wait for ever."""
        with self._changed:
            while True:
                if self._strikes_at is None:
                    self._changed.wait()
                elif (left := self._strikes_at - time.monotonic()) > 0:
                    self._changed.wait(left)
                else:
                    self._strikes_at, self.has_struck = None, True
                    self._engine.increment_epoch()


class Worker:
    """Serves one plan after the other."""

    def __init__(self, compiled: str, policy: "wall.Policy") -> None:
        """Load the machine code; raises WasmtimeError where it is none for this processor."""
        self._policy = policy
        self._engine = engine()
        self._component = Component.deserialize_file(self._engine, compiled)
        self._linker = linker(self._engine, self._component, self._printed, self._wait)
        self._clock = Clock(self._engine)
        self._printed_left = 0
        self._seconds_left = 0.0
        self._store: Store | None = None
        self._function: Func | None = None
        self._unread: bytes | None = None

    def warm_up(self) -> None:
        """Run a plan, so that everything is loaded before the wall stands."""
        self.prepare()
        self._run(WARM_UP)
        self.prepare()

    def start_clock(self) -> None:
        """Begin to watch the time; plans that run before have no end."""
        self._clock.start()

    def serve(self) -> None:
        """Answer until the host has gone."""
        while (frame := self._next_frame()) is not None:
            if frame[:1] == b"S":
                with suppress(Dropped):
                    _write(self._run(frame[1:].decode()))
                self.prepare()
            else:
                _write("Tthere is no plan to go on with")

    def prepare(self) -> None:
        """Make an instance, and have it touch the memory that any plan will."""
        if self._store is not None:  # first, so that there are never two
            self._store.close()  # left to Python, its memory would stay until a collection
        store = self._store = Store(self._engine)
        store.set_limits(memory_size=self._policy.plan_bytes)
        store.set_epoch_deadline(1)
        self._seconds_left = self._policy.plan_seconds
        self._printed_left = self._policy.printed_bytes
        self._function = self._linker.instantiate(store, self._component).get_func(store, "run")
        if self._function is not None:
            self._function(store, "")

    def _run(self, request: str) -> str:
        """What the guest says at its end, or why it was ended; raises Dropped."""
        store, run = self._store, self._function
        if store is None or run is None:
            return "Tthe component has no function to run"
        store.set_epoch_deadline(1)
        self._clock.has_struck = False
        self._clock.wind(self._seconds_left)
        try:
            said: object = run(store, request)
            return f"G{_bounded(f'{said}')}"
        except PrintedTooMuch:
            return "Tprinted"
        except (MemoryError, TooLarge):  # a text of the guest that is too large to be copied
            return "Tlarge"
        except WasmtimeError as error:
            return f"T{'time' if self._clock.has_struck else error}"
        finally:
            self._clock.stop()

    def _wait(self, store: object, halted: str) -> str:
        """What the host says to a plan that can't go on; that takes none of the plan's own time."""
        left = self._clock.stop()
        _write(f"G{_bounded(halted)}")
        if not halted.startswith(NOT_ENDED):
            raise Dropped
        frame = self._next_frame()
        if frame is None or frame[:1] != b"R":
            self._unread = frame
            raise Dropped
        self._clock.wind(left)
        return frame[1:].decode()

    def _next_frame(self) -> bytes | None:
        """What the host says next; None when it has gone."""
        frame, self._unread = self._unread or _read(), None
        return frame

    def _printed(self, store: object, text: str) -> None:
        encoded = text.encode()
        if kept := encoded[: self._printed_left].decode(errors="ignore"):
            _write(f"P{kept}")
        self._printed_left -= len(encoded)
        if self._printed_left < 0:
            raise PrintedTooMuch


def _bounded(text: str) -> str:
    if len(text) > ANSWER_CHARACTERS_MAX:
        raise TooLarge
    return text


def engine() -> Engine:
    """The engine, which must be the same for compiling and running."""
    config = Config()
    config.epoch_interruption = True
    config.max_wasm_stack = STACK_BYTES
    return Engine(config)


def linker(
    engine: Engine,
    component: Component,
    printed: Callable[[object, str], None],
    wait: Callable[[object, str], str],
) -> Linker:
    """What an instance gets for its imports: this, and traps."""
    bound = Linker(engine)
    bound.allow_shadowing = True
    bound.define_unknown_imports_as_traps(component)
    with bound.root() as root:
        root.add_func("printed", printed)
        root.add_func("wait", wait)
        for name, functions in WASI.items():
            with root.add_instance(f"wasi:{name}@0.2.9") as instance:
                for function, answer in functions.items():
                    instance.add_func(function, answer)
    return bound


class Moment(Record):
    """A `datetime` of WASI: seconds since 1970 and nanoseconds, or a span of them."""

    def __init__(self, nanoseconds: int) -> None:
        self.seconds, self.nanoseconds = divmod(nanoseconds, 10**9)


def _now(store: object) -> int:
    return time.monotonic_ns()


def _resolution(store: object) -> int:
    return 1


def _time_of_day(store: object) -> Moment:
    return Moment(time.time_ns())


def _resolution_of_day(store: object) -> Moment:
    return Moment(1)


def _random_bytes(store: object, count: int) -> bytes:
    return secrets.token_bytes(min(count, RANDOM_BYTES_MAX))


def _none(store: object) -> list[object]:
    return []


WASI: Mapping[str, Mapping[str, Callable[..., object]]] = {
    "clocks/monotonic-clock": {"now": _now, "resolution": _resolution},
    "clocks/wall-clock": {"now": _time_of_day, "resolution": _resolution_of_day},
    "random/random": {"get-random-bytes": _random_bytes},
    "cli/environment": {"get-environment": _none, "get-arguments": _none},
    "filesystem/preopens": {"get-directories": _none},
}
"""The imports from WASI that do something, by interface; what isn't here ends the plan."""


def _read() -> bytes | None:
    """The next frame of the host; None at the end."""
    head = _exactly(FRAME.size)
    return None if head is None else _exactly(FRAME.unpack(head)[0])


def _exactly(count: int) -> bytes | None:
    pieces = bytearray()
    while len(pieces) < count:
        piece = os.read(0, min(count - len(pieces), 1 << 20))
        if not piece:
            return None
        pieces += piece
    return bytes(pieces)


def _write(text: str) -> None:
    encoded = text.encode()
    view = memoryview(FRAME.pack(len(encoded)) + encoded)
    while view:
        view = view[os.write(1, view) :]


def main(arguments: list[str]) -> int:
    """Compile, report, or serve; see above."""
    _, what, *rest = arguments
    if what == "--compile":
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # else Ctrl-C waits until all is compiled
        compiled = Component.from_file(engine(), rest[0]).serialize()  # pyright: ignore[reportUnknownMemberType] - PathLike of nothing in wasmtime's types
        with open(rest[1], "wb") as file:  # noqa: PTH123
            file.write(compiled)
        return 0
    is_report = rest[-1:] == ["--report"]
    policy = wall.Policy(rest[0])
    wall.leave_the_host_behind()
    try:
        worker = Worker(what, policy)
    except WasmtimeError as error:
        _write(f"N{error}")
        return 1
    worker.warm_up()
    missing = {"rlimits": "left out"}
    if policy.has_wall:
        missing = wall.put_up(policy, worker.start_clock)
    else:
        worker.start_clock()
    if is_report:
        for name, reason in missing.items():
            print(name, reason or "", sep="\t")  # noqa: T201 - what the host reads
        return 0
    if any(missing.get(name) for name in policy.required):
        return wall.MISSING_WALL_STATUS
    _write("W" + ",".join(name for name, reason in missing.items() if not reason))
    worker.serve()
    return 0


if __name__ == "__main__":
    status = main(sys.argv[1:])
    sys.stdout.flush()
    os._exit(status)  # behind the wall, what is loaded can't be taken apart any more

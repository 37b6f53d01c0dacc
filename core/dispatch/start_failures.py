"""Servers that did not start, remembered over processes, so that nobody waits for them each time.

One small JSON file under the state's root. A server rests after a failure, longer each time; after
`FAILURES_MAX` in a row it is set aside until somebody brings it back. A server is known by its name
and by a hash of its configuration, so that a changed entry starts afresh. A file that is damaged or
can't be written means no memory, and no more. Light: read before anything heavy is imported.
"""

import hashlib
import json
import logging
import time
from collections.abc import Callable
from pathlib import Path

from config.servers import ServerSpec
from core.base.clock import Clock
from core.base.files import folder_locked, read_regular, write_atomically
from core.base.frozen import frozen
from core.base.text import seconds_text
from core.values import Json, JsonObject

PAUSES_SECONDS = (60.0, 600.0)
"""How long a server rests after its first failure in a row, and after its second."""

FAILURES_MAX = len(PAUSES_SECONDS) + 1
"""After so many failures in a row a server is set aside."""

SERVERS_MAX = 200
"""Of more servers, those that failed longest ago are forgotten."""

FILE_BYTES_MAX = 64 * 1024
"""A larger file counts as damaged; an entry has about a hundred bytes."""

_FORMAT = 1
_HASH_DIGITS = 8
"""Enough to see a change; too few to guess a secret that went into it."""

_log = logging.getLogger(__name__)


@frozen
class StartFailure:
    """Failures of one server in a row; `at` is when the last was, in seconds since 1970."""

    server: str
    count: int
    at: float

    @property
    def is_set_aside(self) -> bool:
        """Whether nothing but the user brings it back."""
        return self.count >= FAILURES_MAX

    def rests(self, now: float) -> bool:
        """Whether it is to be left alone; not where the clock was put back since."""
        return self.is_set_aside or self.at <= now < self._until

    def told(self, now: float) -> str:
        """One line: how it is, how to look, and how to bring it back."""
        look = f"agent.py mcp test {self.server}"
        if self.is_set_aside:
            return (
                f"server '{self.server}' is set aside: it failed to start {self.count} times in a "
                f"row; to see why: {look}; to bring it back: agent.py mcp enable {self.server}"
            )
        ago, left = seconds_text(now - self.at), seconds_text(self._until - now)
        return (
            f"server '{self.server}' failed to start {ago} ago and is left alone for another "
            f"{left}; to try it now: {look}"
        )

    @property
    def _until(self) -> float:
        return self.at + PAUSES_SECONDS[min(self.count, len(PAUSES_SECONDS)) - 1]


class StartFailures:
    """The failures in one file; every method blocks for a moment."""

    def __init__(
        self, file: Path | None, clock: Clock = time.time, *, is_heeded: bool = True
    ) -> None:
        """Touch nothing yet; without a file nothing is remembered.

        `clock` counts seconds since 1970.

        With `is_heeded` off, failures are kept, and no server is left alone for them.
        """
        self._file = file
        self._is_heeded = is_heeded
        self.clock = clock

    def of(self, spec: ServerSpec) -> StartFailure | None:
        """What is remembered of a server; None if nothing is, or its entry has changed since."""
        return _failure(spec, self._read())

    def resting(self, spec: ServerSpec) -> StartFailure | None:
        """The same, if the server is to be left alone now."""
        failure = self.of(spec)
        is_left_alone = failure is not None and failure.rests(self.clock())
        return failure if self._is_heeded and is_left_alone else None

    def add(self, spec: ServerSpec) -> StartFailure:
        """Count one more failure in a row."""
        failure = StartFailure(spec.id, 1, self.clock())

        def change(servers: JsonObject) -> None:
            nonlocal failure
            if (before := _failure(spec, servers)) is not None:
                failure = StartFailure(spec.id, before.count + 1, self.clock())
            servers.pop(spec.id, None)  # the newest stands last
            servers[spec.id] = {
                "configuration": _hash(spec),
                "failures": failure.count,
                "at": failure.at,
            }
            for name in list(servers)[:-SERVERS_MAX]:
                del servers[name]

        self._change(change)
        return failure

    def forget(self, server: str) -> bool:
        """Begin at zero again; whether anything was remembered."""
        if server not in self._read():
            return False
        self._change(lambda servers: servers.pop(server, None))
        return True

    def _change(self, change: Callable[[JsonObject], object]) -> None:
        if self._file is None:
            return
        try:
            with folder_locked(self._file):
                servers = self._read()
                change(servers)
                text = json.dumps({"format": _FORMAT, "servers": servers}, indent=1)
                write_atomically(self._file, f"{text}\n".encode())
        except OSError as error:
            _log.debug("failures of servers are not kept: %s", error)

    def _read(self) -> JsonObject:
        """The entries by server; none where the file is absent, damaged or no file."""
        if self._file is None:
            return {}
        try:
            content: Json = json.loads(read_regular(self._file, FILE_BYTES_MAX))
        except (OSError, ValueError, RecursionError):
            return {}
        match content:
            case {"format": 1, "servers": dict() as servers}:
                return servers
            case _:
                return {}


def _failure(spec: ServerSpec, servers: JsonObject) -> StartFailure | None:
    match servers.get(spec.id):
        case {
            "configuration": str() as configuration,
            "failures": int() as count,
            "at": int() | float() as at,
        } if count > 0 and configuration == _hash(spec):
            return StartFailure(spec.id, count, float(at))
        case _:
            return None


def _hash(spec: ServerSpec) -> str:
    """Changes with whatever may make the server start: program, place, variables, headers, time."""
    seen = [
        spec.command,
        str(spec.cwd),
        spec.url,
        sorted(spec.env.items()),
        sorted(spec.headers.items()),
        spec.start_timeout_seconds,
    ]
    return hashlib.sha256(json.dumps(seen).encode()).hexdigest()[:_HASH_DIGITS]

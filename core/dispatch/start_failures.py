"""Servers that did not start, remembered over processes, so that nobody waits for them each time.

One small JSON file under the state's root. A server rests after a failure, longer each time; after
`FAILURES_MAX` in a row it is set aside until somebody brings it back. A server is known by its name
and by a hash of its configuration, so that a changed entry starts afresh. A file that is damaged or
can't be written means no memory, and no more. It is read before servers are spawned, so nothing
heavy is imported here.
"""

import asyncio
import hashlib
import json
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from config.servers import ServerSpec
from core.base.clock import Clock
from core.base.files import KeptEntries
from core.base.frozen import frozen
from core.base.text import clause, seconds_text
from core.dispatch.hooks import ServerStatus
from core.errors import EntryUnusable, ServerError, ServerStartError
from core.values import JsonObject

PAUSES_SECONDS = (60.0, 600.0)
"""How long a server rests after its first failure in a row, and after its second."""

FAILURES_MAX = len(PAUSES_SECONDS) + 1
"""After so many failures in a row a server is set aside."""

SERVERS_MAX = 200
"""Of more servers, those that failed longest ago are forgotten."""

FILE_BYTES_MAX = 64 * 1024
"""A larger file counts as damaged; an entry has about a hundred bytes."""

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
        self._kept = None if file is None else KeptEntries(file, "servers", FILE_BYTES_MAX)
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
        if self._kept is None:
            return
        try:
            with self._kept.changing() as servers:
                change(servers)
        except OSError as error:
            _log.debug("failures of servers are not kept: %s", error)

    def _read(self) -> JsonObject:
        return {} if self._kept is None else self._kept.read()


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
        str(spec.folder),
        spec.url,
        sorted(spec.env.items()),
        sorted(spec.headers.items()),
        spec.start_timeout_seconds,
    ]
    return hashlib.sha256(json.dumps(seen).encode()).hexdigest()[:_HASH_DIGITS]


class RunFailures:
    """The failures of one dispatcher's servers; without `remembered`, of this run alone."""

    def __init__(
        self,
        specs: Mapping[str, ServerSpec],
        remembered: StartFailures | None,
        tell: Callable[[str], Awaitable[None]],
    ) -> None:
        """Know of none yet; `tell` says a line to the user."""
        self.errors: dict[str, ServerError] = {}
        """Why a server is left out, by id."""
        self._specs = specs
        self._remembered = remembered or StartFailures(None)
        self._tell = tell
        self._told_resting: set[str] = set()
        self._is_counting = True

    def stop_counting(self) -> None:
        """Remember nothing more: what fails from now on was ended by us."""
        self._is_counting = False

    async def note(self, name: str, error: ServerError) -> str | None:
        """Remember that a start failed, once for all who waited; the line if it is set aside now.

        An entry that can't be used costs no time to try, and says itself what to correct.
        """
        if self.errors.get(name) is error:
            return None
        self.errors[name] = error
        is_start = isinstance(error, ServerStartError) and not isinstance(error, EntryUnusable)
        if not is_start or not self._is_counting:
            return None
        failure = await asyncio.to_thread(self._remembered.add, self._specs[name])
        self._told_resting.add(name)
        return failure.told(self._remembered.clock()) if failure.is_set_aside else None

    async def forget(self, name: str) -> None:
        """A server has started: nothing is held against it any more."""
        self.errors.pop(name, None)
        await asyncio.to_thread(self._remembered.forget, name)

    def rests(self, name: str) -> bool:
        """Whether a server failed so lately or so often that it is left alone."""
        return self._resting(name) is not None

    def is_set_aside(self, name: str) -> bool:
        """Whether nothing but the user brings a server back."""
        failure = self._resting(name)
        return failure is not None and failure.is_set_aside

    async def tell_resting(self, names: Iterable[str]) -> None:
        """Say once of each server that it is left alone; who saw it fail just now knows why."""
        for name in names:
            failure = None if name in self._told_resting else self._resting(name)
            if failure is not None:
                self._told_resting.add(name)
                await self._tell(failure.told(self._remembered.clock()))

    def with_rest(self, status: ServerStatus) -> ServerStatus:
        """A server's status, with what is remembered of it."""
        if status.state == "up":
            return status  # without a look at the file: this is asked for at every plan
        if (failure := self._resting(status.id)) is None:
            return status
        told = failure.told(self._remembered.clock())
        problem = told if status.problem is None else f"{clause(status.problem)}; {told}"
        state = "set aside" if failure.is_set_aside else "failed"
        return replace(status, state=state, problem=problem)

    def _resting(self, name: str) -> StartFailure | None:
        return self._remembered.resting(self._specs[name])

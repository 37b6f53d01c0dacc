"""What the sessions of some days come to: requests, answers, time, models and tools, day by day."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from typing import Final

from core.base.clock import Clock, local_time
from core.base.frozen import frozen
from core.base.memory.session_json import MAX_FILE_BYTES
from core.errors import StorageError
from core.tools.record import ToolRecord
from core.turn import FINAL_ANSWER, SANDBOX_STEP, MemoryItem, Usage
from modules.memory.tool_record import ToolCalls, newest_items
from modules.session.history import (
    BESIDE,
    MAX_USAGE,
    SUBTASK,
    TEAM,
    model_calls_usage,
    runs_in,
    seconds_of,
    usage_of,
)
from modules.session.kept import KeptSessions
from modules.session.team_items import ROLE

SESSIONS_MAX: Final = 10_000
"""So many sessions are read at most, those that were used last: about 5 s of CPU."""

BYTES_MAX: Final = 2 * 10**9
"""And so much of them."""


@frozen
class DayStatistics:
    """The requests that were asked on one local day, with what became of them.

    `seconds` are those from a request to the end of its run; `tokens` are read and written ones,
    `cost` is in US dollars, of calls whose price is known.
    """

    day: date
    requests: int = 0
    answered: int = 0
    seconds: float = 0.0
    tokens: int = 0
    cost: float = 0.0

    def __add__(self, other: "DayStatistics") -> "DayStatistics":
        """The sums of both, under this one's day."""
        return DayStatistics(
            self.day,
            self.requests + other.requests,
            self.answered + other.answered,
            round(self.seconds + other.seconds, 6),
            self.tokens + other.tokens,
            self.cost + other.cost,
        )


@frozen
class RoleStatistics:
    """What a role did in requests that were answered in parts.

    `tries` are those of subtasks that it was given, `answered` those that came to a result.
    `seconds` are those of its plans, `tokens` and `cost` those of its own requests to models.
    """

    role: str
    tries: int = 0
    answered: int = 0
    seconds: float = 0.0
    tokens: int = 0
    cost: float = 0.0

    def __add__(self, other: "RoleStatistics") -> "RoleStatistics":
        """The sums of both."""
        return RoleStatistics(
            self.role,
            self.tries + other.tries,
            self.answered + other.answered,
            round(self.seconds + other.seconds, 6),
            self.tokens + other.tokens,
            self.cost + other.cost,
        )


@frozen
class MemoryStatistics:
    """The sums over all sessions that were read.

    `since` is the first day that counts. `days` are those with requests, in their order, and
    `total` is all of them. `models` is by name, `tools` and `roles` have the most used ones first.
    `sessions` and `size_bytes` are what was read, in `read_seconds`; `older` sessions were last
    used before `since` and not read, nor were those `beyond` the most that are. `left_out` tells by
    id what is wrong with a session that could not be read.
    """

    since: date
    total: DayStatistics
    days: tuple[DayStatistics, ...]
    models: Mapping[str, Usage]
    tools: tuple[ToolRecord, ...]
    roles: tuple[RoleStatistics, ...]
    sessions: int
    size_bytes: int
    read_seconds: float
    older: int
    beyond: int
    left_out: Mapping[str, str]


def memory_statistics(
    kept: KeptSessions,
    days: int,
    now: datetime | None = None,
    clock: Clock = time.monotonic,
    sessions_max: int = SESSIONS_MAX,
) -> MemoryStatistics:
    """Read the sessions that were used in the last `days`, today's included.

    Files stay as they are. `now` is this moment, by default the real one.
    """
    began = clock()
    today = (now or datetime.now()).replace(hour=0, minute=0, second=0, microsecond=0)
    since = today - timedelta(days=days - 1)
    sums, older, beyond = _Sums(since), 0, 0
    for session_id in kept.ids():
        path = kept.path(session_id)
        try:
            status = path.stat()
            if status.st_mtime < since.timestamp():
                older += 1
            elif sums.sessions == sessions_max or sums.size_bytes >= BYTES_MAX:
                beyond += 1
            elif status.st_size > MAX_FILE_BYTES:
                raise StorageError(f"it has over {MAX_FILE_BYTES:,} bytes")
            else:
                sums.add(newest_items(path, MAX_FILE_BYTES), status.st_size)
        except FileNotFoundError:
            continue  # it was deleted just now
        except (OSError, StorageError) as error:
            sums.left_out[session_id] = str(error)
    found = sums.result()
    return replace(found, read_seconds=clock() - began, older=older, beyond=beyond)


@dataclass
class _Sums:
    since: datetime
    sessions: int = 0
    size_bytes: int = 0
    days: dict[date, DayStatistics] = field(default_factory=dict[date, DayStatistics])
    models: dict[str, Usage] = field(default_factory=dict[str, Usage])
    calls: ToolCalls = field(default_factory=ToolCalls)
    roles: dict[str, RoleStatistics] = field(default_factory=dict[str, RoleStatistics])
    left_out: dict[str, str] = field(default_factory=dict[str, str])

    def add(self, items: Sequence[MemoryItem], size_bytes: int) -> None:
        self.sessions += 1
        self.size_bytes += size_bytes
        for run in runs_in(items):
            if (day := self._day(run[0].timestamp)) is not None:
                self._add_run(run, day)
        for item in items:
            if BESIDE in item.metadata and (day := self._day(item.timestamp)) is not None:
                self._add_usage(usage_of([item]), day)

    def _day(self, timestamp: float) -> date | None:
        """The day of a moment; None if it lies before those that are asked about."""
        when = local_time(timestamp)
        is_asked_about = when is not None and when.replace(tzinfo=None) >= self.since
        return when.date() if when is not None and is_asked_about else None

    def _add_run(self, run: list[MemoryItem], day: date) -> None:
        self._add_usage(usage_of(run), day)
        seconds = max(item.timestamp for item in run) - run[0].timestamp
        self.days[day] = self.days.get(day, DayStatistics(day)) + DayStatistics(
            day,
            requests=1,
            answered=any(item.final_answer is not None for item in run),
            seconds=seconds if seconds <= MAX_USAGE else 0.0,
        )
        self.calls.add(run)
        for item in run:
            if (done := _done_by_role(item)) is not None:
                self.roles[done.role] = self.roles.get(done.role, RoleStatistics(done.role)) + done

    def _add_usage(self, used: Mapping[str, Usage], day: date) -> None:
        for name, usage in used.items():
            self.models[name] = self.models.get(name, Usage()) + usage
        self.days[day] = self.days.get(day, DayStatistics(day)) + DayStatistics(
            day,
            tokens=sum(usage.tokens for usage in used.values()),
            cost=sum(usage.cost for usage in used.values()),
        )

    def result(self) -> MemoryStatistics:
        tools = self.calls.records().values()
        first = self.since.date()
        return MemoryStatistics(
            first,
            sum(self.days.values(), DayStatistics(first)),
            tuple(day for _, day in sorted(self.days.items())),
            dict(sorted(self.models.items())),
            tuple(sorted(tools, key=lambda record: (-record.calls, record.tool))),
            tuple(sorted(self.roles.values(), key=lambda each: (-each.tries, each.role))),
            self.sessions,
            self.size_bytes,
            read_seconds=0.0,
            older=0,
            beyond=0,
            left_out=self.left_out,
        )


def _done_by_role(item: MemoryItem) -> RoleStatistics | None:
    """What an item tells of the work of a role; None where it tells of none."""
    role = item.metadata.get(ROLE)
    if not isinstance(role, str) or SUBTASK not in item.metadata:
        return None
    if TEAM in item.metadata:
        return RoleStatistics(role, 1) if item.metadata[TEAM] == "RoleChosen" else None
    used, is_plan = model_calls_usage(item), item.tool_name == SANDBOX_STEP
    result = (item.tool_result or {}).get("result")
    is_answer = is_plan and isinstance(result, str) and result.startswith(FINAL_ANSWER)
    seconds = (seconds_of(item) or 0.0) if is_plan else 0.0
    return RoleStatistics(role, 0, int(is_answer), seconds, used.tokens, used.cost)

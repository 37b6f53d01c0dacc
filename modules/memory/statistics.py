"""What all sessions of a profile come to: requests, answers, models, tools."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date

from core.base.clock import local_time
from core.base.frozen import frozen
from core.base.memory.exchanges import dated_exchanges
from core.base.memory.session_json import MAX_FILE_BYTES
from core.errors import StorageError
from core.tools.record import ToolRecord
from core.turn import MemoryItem, Usage
from modules.memory.tool_record import ToolCalls, newest_items
from modules.session.history import usage_of
from modules.session.kept import KeptSessions


@frozen
class MemoryStatistics:
    """The sums over all sessions that could be read.

    Times are Unix seconds, None without a request. `size_bytes` are those of all files; `models`
    is by name, `days` are local days by their requests, `left_out` tells by id what is wrong with
    a session that could not be read.
    """

    sessions: int
    size_bytes: int
    requests: int
    answered: int
    first_request: float | None
    last_request: float | None
    models: Mapping[str, Usage]
    days: Mapping[date, int]
    tools: tuple[ToolRecord, ...]
    left_out: Mapping[str, str]


def memory_statistics(kept: KeptSessions) -> MemoryStatistics:
    """Read every session, one after the other; files stay as they are."""
    sums = _Sums()
    for session_id in kept.ids():
        path = kept.path(session_id)
        try:
            size = path.stat().st_size
            if size > MAX_FILE_BYTES:
                raise StorageError(f"it has over {MAX_FILE_BYTES:,} bytes")
            sums.add(newest_items(path, MAX_FILE_BYTES), size)
        except FileNotFoundError:
            continue  # it was deleted just now
        except (OSError, StorageError) as error:
            sums.left_out[session_id] = str(error)
    return sums.result()


@dataclass
class _Sums:
    sessions: int = 0
    size_bytes: int = 0
    answered: int = 0
    asked_at: list[float] = field(default_factory=list[float])
    models: dict[str, Usage] = field(default_factory=dict[str, Usage])
    days: Counter[date] = field(default_factory=Counter[date])
    calls: ToolCalls = field(default_factory=ToolCalls)
    left_out: dict[str, str] = field(default_factory=dict[str, str])

    def add(self, items: list[MemoryItem], size_bytes: int) -> None:
        self.sessions += 1
        self.size_bytes += size_bytes
        for each in dated_exchanges(items, with_undone=True):
            self.answered += each.answer is not None
            self.asked_at.append(each.asked_at)
            if (when := local_time(each.asked_at)) is not None:
                self.days[when.date()] += 1
        for name, usage in usage_of(items).items():
            self.models[name] = self.models.get(name, Usage()) + usage
        self.calls.add(items)

    def result(self) -> MemoryStatistics:
        known = [each for each in self.asked_at if local_time(each) is not None]
        tools = self.calls.records().values()
        return MemoryStatistics(
            self.sessions,
            self.size_bytes,
            len(self.asked_at),
            self.answered,
            min(known, default=None),
            max(known, default=None),
            dict(sorted(self.models.items())),
            dict(self.days.most_common()),
            tuple(sorted(tools, key=lambda record: (-record.calls, record.tool))),
            self.left_out,
        )

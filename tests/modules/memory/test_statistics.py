"""Statistics over sessions: which days count, which files are read."""

import os
from collections.abc import Sequence
from datetime import date, datetime
from pathlib import Path

import pytest

from config.schema import AgentProfile, AgentSection
from core.turn import USAGE, MemoryItem
from core.values import Json
from modules.memory.statistics import memory_statistics
from modules.session.kept import KeptSessions
from modules.session.records import MemoryRecord, array_of
from tests.modules.trace.session_items import call, item

NOW = datetime(2026, 11, 24, 15, 30)
PROFILE = AgentProfile(agent=AgentSection(name="Test", id="test_1"))


def at(day: int, hour: int, minute: int = 0) -> float:
    """A moment of November 2026, in Unix seconds."""
    return datetime(2026, 11, day, hour, minute).timestamp()


def run(begin: float, *, is_answered: bool = True, seconds: float = 4) -> list[MemoryItem]:
    used: Json = {"m": {"model_calls": 1, "input_tokens": 90, "output_tokens": 10, "cost": 0.01}}
    answer = item(begin + seconds, "final_answer", final_answer="12", user_query="add")
    return [
        item(begin, "run_metadata", user_query="add", metadata={"start_time": "x"}),
        *call(begin + 1, 1, 0.5, ok=is_answered),
        *([answer] if is_answered else []),
        item(begin + seconds, "run_metadata", metadata={USAGE: used}),
        item(begin + 1e7, "run_metadata", metadata={"title": "of a later day"}),
    ]


@pytest.fixture
def kept(tmp_path: Path) -> KeptSessions:
    return KeptSessions(PROFILE, tmp_path, lambda _stage, text: pytest.fail(text))


def keep(kept: KeptSessions, name: str, items: Sequence[MemoryItem], used: float) -> None:
    kept.folder.mkdir(parents=True, exist_ok=True)
    path = kept.path(name)
    path.write_bytes(array_of(map(MemoryRecord.of, items)))
    os.utime(path, (used, used))


def test_days_are_local_ones_and_a_run_counts_for_the_day_on_which_it_was_asked(
    kept: KeptSessions,
) -> None:
    over_midnight = run(at(22, 23, 59), seconds=120)
    items = [*run(at(21, 12)), *over_midnight, *run(at(24, 0), is_answered=False)]
    keep(kept, "notes", items, used=at(24, 1))
    found = memory_statistics(kept, 3, NOW)
    assert found.since == date(2026, 11, 22)
    told = [(day.day.day, day.requests, day.answered, day.seconds) for day in found.days]
    assert told == [(22, 1, 1, 120), (24, 1, 0, 4)]
    assert (found.total.requests, found.total.tokens, found.total.cost) == (2, 200, 0.02)
    assert [(tool.tool, tool.calls, tool.failures) for tool in found.tools] == [("math.add", 2, 1)]
    assert found.models["m"].tokens == 200


def test_sessions_of_earlier_days_are_not_read_and_of_many_only_the_newest(
    kept: KeptSessions,
) -> None:
    for day in range(20, 25):
        keep(kept, f"day{day}", run(at(day, 9)), used=at(day, 10))
    kept.path("day20").write_text("no session", encoding="utf-8")
    os.utime(kept.path("day20"), (at(20, 10), at(20, 10)))
    found = memory_statistics(kept, 4, NOW, sessions_max=3)
    assert (found.sessions, found.older, found.beyond, found.left_out) == (3, 1, 1, {})
    assert [day.day.day for day in found.days] == [22, 23, 24]


def test_times_that_are_none_are_passed_over(kept: KeptSessions) -> None:
    odd = [*run(1e300), *run(float("inf")), *run(-1e300)]
    keep(kept, "odd", [*odd, *run(at(24, 9), seconds=1e300)], used=at(24, 9))
    found = memory_statistics(kept, 9, NOW)
    assert [(day.requests, day.seconds) for day in found.days] == [(1, 0)]


def test_how_long_it_took_is_told(kept: KeptSessions) -> None:
    times = iter([1.0, 3.5])
    assert memory_statistics(kept, 1, NOW, lambda: next(times)).read_seconds == 2.5

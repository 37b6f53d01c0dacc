"""How tools did, told from sessions: what counts as a call, and which files are read."""

import json
import os
from pathlib import Path
from typing import Literal

import pytest

from core.errors import StorageError
from core.tools.record import ToolRecord
from core.turn import SANDBOX_STEP, MemoryItem
from core.values import Json
from modules.memory.tool_record import (
    FAILURE_CHARACTERS,
    NEWEST_CALLS,
    ToolCalls,
    newest_items,
    newest_tool_records,
)
from modules.session.memory import MemoryManager
from tests.doubles import HandClock


def output(
    name: str = "get",
    at: float = 1,
    *,
    worked: bool | None = True,
    error: str = "",
    kind: Literal["tool_output", "tool_call"] = "tool_output",
    **told: Json,
) -> MemoryItem:
    return MemoryItem(
        timestamp=at,
        type=kind,
        text="",
        tool_name=name,
        tool_result={"result": error},
        success=worked,
        metadata={"server": "web", **told},
    )


def keep(folder: Path, session_id: str, *items: MemoryItem) -> Path:
    memory = MemoryManager(session_id, folder)
    for item in items:
        memory.add(item)
    return memory.path


def recorded(*items: MemoryItem, newest: int | None = None) -> dict[str, ToolRecord]:
    calls = ToolCalls()
    calls.add(items)
    return calls.records(newest)


def test_calls_that_were_sent_count_and_nothing_else() -> None:
    items = [
        output(seconds=0.1),
        output(seconds=0.2, kept=True),
        output(seconds=0, worked=False, refused=True),
        output(seconds=0.3, worked=None),
        output(SANDBOX_STEP, seconds=9),
        output(kind="tool_call"),
        output(at=5, seconds=0.5, worked=False, error="get: no route\nto host"),
        output("put", at=3, worked=False),
    ]
    assert recorded(*items) == {
        "web.get": ToolRecord("web.get", 2, 1, 0.3, 0.5, 5, "no route\nto host"),
        "web.put": ToolRecord("web.put", 1, 0, None, None, 3, "an error without words"),
    }


def test_median_and_95th_of_a_hundred_are_those_of_the_nearest_rank() -> None:
    found = recorded(*(output(seconds=number) for number in range(100, 0, -1)))["web.get"]
    assert (found.median_seconds, found.p95_seconds) == (50.5, 95)


def test_the_newest_calls_count_in_whatever_order_they_are_found() -> None:
    items = [
        output(at=3, seconds=3, worked=False, error="late"),
        output(at=1, seconds=1, worked=False, error="early"),
        output(at=4, seconds=4),
    ]
    assert recorded(*items, newest=2)["web.get"] == ToolRecord("web.get", 2, 1, 3.5, 4, 4, "late")


def test_odd_values_in_a_file_are_survived() -> None:
    items = [
        output(at=float("nan"), seconds="odd"),
        output(at=float("inf"), seconds=-1, worked=False, error="x" * 10_000),
        output("n" * 10_000, at=1e308, seconds=10**400),
        MemoryItem(timestamp=1, type="tool_output", text="", tool_name="bare", success=False),
    ]
    found = recorded(*items)
    assert found["web.get"].last_failure == "x" * FAILURE_CHARACTERS
    assert found["web.get"].median_seconds is None
    assert found["bare"].last_used == 1
    assert max(map(len, found)) <= 200


def test_the_newest_sessions_are_read_until_the_time_is_up(tmp_path: Path) -> None:
    keep(tmp_path, "2026/01/02/session-1767312000-aaaaaa", output("old"))
    keep(tmp_path, "2026/03/04/session-1772582400-bbbbbb", output("new"))
    named = keep(tmp_path, "notes", output("named"))
    os.utime(named, (1_770_000_000, 1_770_000_000))  # between the two
    clock = HandClock()

    def ticking() -> float:
        clock.seconds += 1
        return clock.seconds

    def found(seconds: float) -> list[str]:
        return list(newest_tool_records(tmp_path, "date", seconds, ticking))

    assert found(10) == ["web.new", "web.named", "web.old"]
    assert found(3) == ["web.new", "web.named"]
    assert found(1) == []
    assert newest_tool_records(tmp_path / "none", "date") == {}


def test_flat_sessions_are_read_too(tmp_path: Path) -> None:
    for name in ("session-1767312000-aaaaaa", "session-1772582400-bbbbbb", "notes"):
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps([output(name).model_dump(exclude_none=True)]), "utf-8")
    found = newest_tool_records(tmp_path, "flat", 9)
    assert sorted(found) == sorted(f"web.{path.stem}" for path in tmp_path.iterdir())


def test_a_plan_is_told_of_so_many_calls_of_a_tool_as_say_how_it_is_today(tmp_path: Path) -> None:
    many = [output(at=number, worked=number >= NEWEST_CALLS) for number in range(2 * NEWEST_CALLS)]
    keep(tmp_path, "notes", *many)
    found = newest_tool_records(tmp_path, "date", 9)["web.get"]
    assert (found.calls, found.successes) == (NEWEST_CALLS, NEWEST_CALLS)


def test_what_cannot_be_read_is_left_out_and_left_as_it_is(tmp_path: Path) -> None:
    keep(tmp_path, "good", output())
    (tmp_path / "folder.json").mkdir()
    os.mkfifo(tmp_path / "pipe.json")
    odd = {
        "empty": b"",
        "words": b"no json",
        "object": b"{}",
        "later": b'[\n  {"format": 99}\n]\n',
        "spoilt": b'[{"timestamp": 1}, 5]',
    }
    for name, data in odd.items():
        (tmp_path / f"{name}.json").write_bytes(data)
    before = {path.name for path in tmp_path.iterdir()}
    assert newest_tool_records(tmp_path, "date", 9).keys() == {"web.get"}
    assert {path.name for path in tmp_path.iterdir()} == before
    for name in (*odd, "folder", "pipe"):
        with pytest.raises(StorageError):
            newest_items(tmp_path / f"{name}.json", 1_000)


def test_of_a_large_session_the_last_items_are_read(tmp_path: Path) -> None:
    path = keep(tmp_path, "large", *(output(at=n, error="é" * 100) for n in range(50)))
    size = path.stat().st_size
    assert [item.timestamp for item in newest_items(path, size)] == [*range(50)]
    for bytes_max in range(size // 5, size // 5 + 500, 7):
        times = [item.timestamp for item in newest_items(path, bytes_max)]
        assert times == [*range(50 - len(times), 50)]
        assert 7 <= len(times) <= 11
    path.write_text(json.dumps([{"timestamp": 1}] * 100), "utf-8")
    with pytest.raises(StorageError, match="over 500 bytes"):
        newest_items(path, 500)


def test_a_write_that_was_interrupted_costs_the_item_it_wrote(tmp_path: Path) -> None:
    path = keep(tmp_path, "cut", *(output(at=n) for n in range(3)))
    data = path.read_bytes()
    path.write_bytes(data[:-20])
    assert [item.timestamp for item in newest_items(path, len(data))] == [0, 1]
    assert path.read_bytes() == data[:-20]

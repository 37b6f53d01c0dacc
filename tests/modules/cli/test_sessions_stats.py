"""`sessions stats`: sums over sessions, and a table of tools."""

import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import pytest

from core.turn import USAGE, MemoryItem
from core.values import Json
from modules.session.memory import MemoryManager
from tests.command_line import write_profile
from tests.modules.cli.by_hand import Hand

FIRST = datetime(2026, 3, 4, 12).timestamp()
DAY = 86_400


def keep(folder: Path, session_id: str, items: Sequence[MemoryItem]) -> Path:
    memory = MemoryManager(session_id, folder)
    for item in items:
        memory.add(item)
    return memory.path


def request(at: float, asked: str, answer: str | None = None) -> list[MemoryItem]:
    begun = MemoryItem(timestamp=at, type="run_metadata", text="", user_query=asked)
    if answer is None:
        return [begun]
    return [
        begun,
        MemoryItem(
            timestamp=at, type="final_answer", text="", final_answer=answer, user_query=asked
        ),
    ]


def call(at: float, name: str, seconds: float, error: str | None = None) -> MemoryItem:
    return MemoryItem(
        timestamp=at,
        type="tool_output",
        text="",
        tool_name=name,
        tool_result={"result": 7 if error is None else f"{name}: {error}"},
        success=error is None,
        metadata={"server": "web", "seconds": seconds},
    )


def used(at: float, **models: Json) -> MemoryItem:
    return MemoryItem(timestamp=at, type="run_metadata", text="", metadata={USAGE: models})


@pytest.fixture
def sessions(hand: Hand) -> Hand:
    """A home with two sessions of this profile, and one of another."""
    write_profile(hand.home)
    one: dict[str, Json] = {"model_calls": 1, "input_tokens": 100, "output_tokens": 10, "cost": 0.5}
    keep(
        hand.home / "memory",
        "notes",
        [
            *request(FIRST, "a", "b"),
            call(FIRST, "get", 0.004),
            call(FIRST + 60, "get", 0.1, "no route to sekret-value-123\n at all" + "!" * 99),
            used(FIRST, gemini=one, ollama=one),
        ],
    )
    keep(
        hand.home / "memory",
        "2026/03/05/session-1772712000-abcdef",
        [
            *request(FIRST + DAY, "c"),
            *request(FIRST + DAY, "d", "e"),
            call(FIRST + DAY, "get", 2),
            call(FIRST + DAY, "put", 0.2),
            used(FIRST + DAY, gemini=one),
        ],
    )
    keep(hand.home / "memory" / "profiles" / "other", "theirs", request(FIRST, "x", "y"))
    return hand


def test_all_sessions_are_summed(sessions: Hand) -> None:
    paths = [
        path for path in (sessions.home / "memory").rglob("*.json") if "other" not in str(path)
    ]
    found = sessions.object("sessions", "stats")
    tools = found.pop("tools")
    assert found == {
        "sessions": 2,
        "bytes": sum(path.stat().st_size for path in paths),
        "requests": 3,
        "answered": 2,
        "first_request": "2026-03-04 12:00",
        "last_request": "2026-03-05 12:00",
        "requests_by_day": {"2026-03-04": 1, "2026-03-05": 2},
        "models": {
            "gemini": {
                "model_calls": 2,
                "input_tokens": 200,
                "output_tokens": 20,
                "cached_tokens": 0,
                "cost": 1.0,
                "unpriced_calls": 0,
            },
            "ollama": {
                "model_calls": 1,
                "input_tokens": 100,
                "output_tokens": 10,
                "cached_tokens": 0,
                "cost": 0.5,
                "unpriced_calls": 0,
            },
        },
        "left_out": {},
    }
    assert isinstance(tools, list)
    get, put = tools
    assert put == {
        "tool": "web.put",
        "calls": 1,
        "worked": 1,
        "success_rate": 0.6667,
        "median_seconds": 0.2,
        "p95_seconds": 0.2,
        "last_used": "2026-03-05 12:00",
        "last_failure": "",
    }
    assert isinstance(get, dict)
    assert (get["tool"], get["calls"], get["worked"], get["success_rate"]) == ("web.get", 3, 2, 0.6)
    assert (get["median_seconds"], get["p95_seconds"]) == (0.1, 2)
    assert str(get["last_failure"]).startswith("no route to ")
    assert "sekret" not in json.dumps(tools)


def test_piped_it_is_plain_and_the_table_is_told_last(sessions: Hand) -> None:
    done = sessions.run("sessions", "stats")
    assert (done.code, done.err) == (0, "")
    head, _, table = done.out.partition("\n\n")
    size = head.splitlines()[0]
    assert size.startswith("2 sessions, ")
    assert head.splitlines()[1:] == [
        "3 requests, 2 answered, from 2026-03-04 12:00 to 2026-03-05 12:00",
        "busiest: 2026-03-05 (2), 2026-03-04 (1)",
        "gemini: 200 tokens read, 20 written, $1.0000",
        "ollama: 100 tokens read, 10 written, $0.5000",
    ]
    heads, get, put, note = table.splitlines()
    assert heads.split("  ")[0] == "tool"
    assert get.split()[:9] == ["web.get", "3", "2", "60%", "100", "ms", "2,000", "ms", "2026-03-05"]
    assert "no route to" in get
    assert get.endswith("!…")
    assert put.split()[:4] == ["web.put", "1", "1", "67%"]
    assert note == "success rate: (worked + 1) / (calls + 2), so that few calls say little"


def test_an_empty_memory_is_said_to_be_empty(hand: Hand) -> None:
    write_profile(hand.home)
    done = hand.run("sessions", "stats")
    assert (done.code, done.err) == (0, "")
    assert done.out == f"no session is kept in {hand.home / 'memory'} yet\n"
    empty = hand.object("sessions", "stats")
    assert (empty["sessions"], empty["requests"], empty["first_request"]) == (0, 0, None)
    assert empty["tools"] == []


def test_what_cannot_be_read_is_left_out_and_told(sessions: Hand) -> None:
    (sessions.home / "memory" / "spoilt.json").write_text('{"no": "array"}', "utf-8")
    with (sessions.home / "memory" / "huge.json").open("wb") as file:
        file.truncate(65 * 1024 * 1024)
    done = sessions.run("sessions", "stats")
    assert done.code == 0
    assert done.out.startswith("2 sessions, ")
    assert "session spoilt is left out: it is damaged (it is not a JSON array)" in done.err
    assert "session huge is left out: it has over 67,108,864 bytes" in done.err
    left_out = json.loads(sessions.run("sessions", "stats", "--json").out)["left_out"]
    assert left_out.keys() == {"spoilt", "huge"}
    assert (sessions.home / "memory" / "spoilt.json").exists(), "nothing is set aside"

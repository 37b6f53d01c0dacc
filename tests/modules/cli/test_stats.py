"""`stats`: sums over sessions, day by day, and a table of tools."""

import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import jsonschema_rs
import pytest

from core.turn import USAGE, MemoryItem
from core.values import Json, JsonObject
from modules.cli.schema import SCHEMAS
from modules.cli.stats import bar
from modules.session.memory import MemoryManager
from tests.command_line import write_profile
from tests.modules.cli.by_hand import Hand

FIRST = datetime(2026, 3, 4, 12).timestamp()
DAY = 86_400
ALL = ("--days", "3650")


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


def test_all_sessions_are_summed_a_day_at_a_time(sessions: Hand) -> None:
    paths = [
        path for path in (sessions.home / "memory").rglob("*.json") if "other" not in str(path)
    ]
    found = sessions.object("stats", *ALL)
    assert list(jsonschema_rs.validator_for(SCHEMAS["stats"]()).iter_errors(found)) == []
    tools = found.pop("tools")
    assert found.pop("roles") == []
    seconds = found.pop("read_seconds")
    since = found.pop("since")
    assert isinstance(seconds, float)
    first: JsonObject = {"day": "2026-03-04", "requests": 1, "answered": 1, "seconds": 60.0}
    second: JsonObject = {"day": "2026-03-05", "requests": 2, "answered": 1, "seconds": 0.0}
    assert found == {
        "type": "stats",
        "schema": 1,
        "total": {
            "day": since,
            "requests": 3,
            "answered": 2,
            "seconds": 60.0,
            "tokens": 330,
            "cost": 1.5,
        },
        "days": [
            {**first, "tokens": 220, "cost": 1.0},
            {**second, "tokens": 110, "cost": 0.5},
        ],
        "models": {
            "gemini": {
                "model_calls": 2,
                "input_tokens": 200,
                "output_tokens": 20,
                "cached_tokens": 0,
                "cost": 1.0,
                "unpriced_calls": 0,
                "estimated_calls": 0,
            },
            "ollama": {
                "model_calls": 1,
                "input_tokens": 100,
                "output_tokens": 10,
                "cached_tokens": 0,
                "cost": 0.5,
                "unpriced_calls": 0,
                "estimated_calls": 0,
            },
        },
        "sessions": 2,
        "bytes": sum(path.stat().st_size for path in paths),
        "older": 0,
        "beyond": 0,
        "left_out": {},
        "budgets": [],
    }
    assert isinstance(tools, list)
    get, put = tools
    assert put == {
        "tool": "web.put",
        "calls": 1,
        "failed": 0,
        "success_rate": 0.6667,
        "median_seconds": 0.2,
        "p95_seconds": 0.2,
        "last_used": "2026-03-05 12:00",
        "last_failure": "",
    }
    assert isinstance(get, dict)
    assert (get["tool"], get["calls"], get["failed"], get["success_rate"]) == ("web.get", 3, 1, 0.6)
    assert (get["median_seconds"], get["p95_seconds"]) == (0.1, 2)
    assert str(get["last_failure"]).startswith("no route to ")
    assert "sekret" not in json.dumps(tools)


def test_piped_it_is_plain_with_a_bar_a_day_a_table_of_tools_and_what_was_read(
    sessions: Hand,
) -> None:
    done = sessions.run("stats", *ALL)
    assert (done.code, done.err) == (0, "")
    head, days, tools, read = done.out.split("\n\n")
    total, *models = head.splitlines()
    assert total.endswith(": 3 requests, 2 answered (67%), in 60.0 s")
    assert models == [
        "gemini: 200 tokens read, 20 written, $1.0000",
        "ollama: 100 tokens read, 10 written, $0.5000",
    ]
    assert [line.split() for line in days.splitlines()] == [
        ["day", "asked", "done", "time", "tokens", "cost"],
        ["2026-03-04", "██████", "1", "100%", "60.0", "s", "220", "$1.00"],
        ["2026-03-05", "████████████", "2", "50%", "0", "ms", "110", "$0.50"],
    ]
    heads, get, put = tools.splitlines()
    assert heads.split("  ")[0] == "tool"
    assert get.split()[:8] == ["web.get", "3", "1", "100", "ms", "2,000", "ms", "2026-03-05"]
    assert "no route to" in get
    assert get.endswith("!…")
    assert put.split()[:4] == ["web.put", "1", "0", "200"]
    assert read.startswith("read 2 sessions, ")
    assert read.endswith(f"from {sessions.home / 'memory'}\n")


def test_the_old_name_does_the_same(sessions: Hand) -> None:
    new, old = (sessions.object(*words, *ALL) for words in (("stats",), ("sessions", "stats")))
    del new["read_seconds"], old["read_seconds"]
    assert new == old


def test_only_the_days_that_are_wanted_count(sessions: Hand) -> None:
    found = sessions.object("stats", "--days", "2")
    assert (found["days"], found["sessions"]) == ([], 2), "the files were written just now"
    told = sessions.run("stats", "--days", "2").out
    assert told.startswith("nothing was asked since ")
    assert "--days N looks further back" in told
    for wrong in ("0", "3651", "-1", "all", "٣"):
        with pytest.raises(SystemExit):
            sessions.run("stats", "--days", wrong)
        assert "is no number of days from 1 to 3,650" in sessions.capsys.readouterr().err


def test_a_screen_reader_hears_no_bars(sessions: Hand) -> None:
    with (sessions.home / "profile.yaml").open("a") as profile:
        profile.write("terminal: {plain: true}\n")
    assert "█" not in sessions.run("stats", *ALL).out


def test_a_page_is_written_that_holds_the_same_as_json(sessions: Hand, tmp_path: Path) -> None:
    file = tmp_path / "stats.html"
    assert sessions.run("stats", *ALL, "--html", str(file)).out == f"wrote {file}\n"
    page = file.read_text(encoding="utf-8")
    told = json.loads(page.split('id="data">')[1].split("</script>")[0])
    assert (told["type"], told["total"]["requests"]) == ("stats", 3)
    assert "sekret" not in page


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0, ""), (-1, ""), (1e-9, "▏"), (1, "█▌"), (4, "██████"), (8, "████████████"), (99, "█" * 12)],
)
def test_a_bar_is_as_long_as_its_share_and_what_is_above_0_is_seen(
    value: float, shown: str
) -> None:
    assert bar(value, 8) == shown
    assert bar(value, 0) == ""
    assert len(bar(value, 8, is_ascii=True)) == (max(1, round(min(value, 8) * 1.5)) if shown else 0)


def test_an_empty_memory_is_said_to_be_empty(hand: Hand) -> None:
    write_profile(hand.home)
    done = hand.run("stats")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"no session is kept in {hand.home / 'memory'} yet\n")
    empty = hand.object("stats")
    assert (empty["sessions"], empty["days"], empty["tools"]) == (0, [], [])


def test_what_cannot_be_read_is_left_out_and_told(sessions: Hand) -> None:
    (sessions.home / "memory" / "spoilt.json").write_text('{"no": "array"}', "utf-8")
    with (sessions.home / "memory" / "huge.json").open("wb") as file:
        file.truncate(65 * 1024 * 1024)
    done = sessions.run("stats", *ALL)
    assert done.code == 0
    assert "\nread 2 sessions, " in done.out
    assert "session spoilt is left out: it is damaged (it is not a JSON array)" in done.err
    assert "session huge is left out: it has over 67,108,864 bytes" in done.err
    left_out = json.loads(sessions.run("stats", *ALL, "--json").out)["left_out"]
    assert left_out.keys() == {"spoilt", "huge"}
    assert (sessions.home / "memory" / "spoilt.json").exists(), "nothing is set aside"

"""What the items of a session tell: answered requests, what was used, what was done."""

from typing import Literal

import pytest

from core.asking import AskedCall, Leave, LeaveQuestion, ShownValue
from core.base.redaction import Redactor
from core.errors import StorageError
from core.turn import SANDBOX_STEP, USAGE, Exchange, MemoryItem, Usage
from core.values import Json, JsonObject
from modules.session.history import (
    LEAVE,
    Activity,
    activity_of,
    exchanges,
    leave_kept,
    runs_in,
    usage_of,
)


def note(text: str, **fields: object) -> MemoryItem:
    return MemoryItem.model_validate(
        {"timestamp": 1.5, "type": "run_metadata", "text": text, **fields}
    )


def test_exchanges_pair_requests_with_their_answers() -> None:
    items = [
        note("start", user_query="2+2"),
        note("end", type="final_answer", final_answer="4"),
        note("start", user_query="never answered"),
        note("failed", metadata={"status": "failed"}),
        note("start", user_query="A"),
        note("start", user_query="B"),
        note("end", type="final_answer", final_answer="a", user_query="A"),
        note("end", type="final_answer", final_answer="b", user_query="B"),
        note("end", type="final_answer", final_answer="to nothing"),
    ]
    assert exchanges(items) == (
        Exchange("2+2", "4"),
        Exchange("never answered", None),
        Exchange("A", "a"),
        Exchange("B", "b"),
    )
    assert exchanges(items[:4]) == (Exchange("2+2", "4"), Exchange("never answered", None))
    assert exchanges([note("end", type="final_answer", final_answer="to nothing")]) == ()
    assert exchanges([]) == ()


def test_a_request_that_is_asked_again_is_answered_where_it_was_asked_last() -> None:
    items = [
        note("start", user_query="roof?"),
        note("start", user_query="roof?"),
        note("end", type="final_answer", final_answer="red", user_query="roof?"),
    ]
    assert exchanges(items) == (Exchange("roof?", None), Exchange("roof?", "red"))


def test_figures_that_no_run_can_have_used_count_nothing() -> None:
    figures: list[JsonObject] = [
        {"model_calls": 2},
        {"model_calls": 10**400},
        {"cost": -1.0},
        {"cost": 1e300},
    ]
    items = [
        MemoryItem(timestamp=1, type="run_metadata", text="", metadata={USAGE: {"m": used}})
        for used in figures
    ]
    assert usage_of(items) == {"m": Usage(model_calls=2)}


def test_what_a_session_has_done_is_counted_from_its_items() -> None:
    def item(
        kind: Literal["run_metadata", "tool_output"], name: str = "", **more: Json
    ) -> MemoryItem:
        return MemoryItem(timestamp=1, type=kind, text="", tool_name=name, metadata=more)

    items = [
        item("run_metadata", start_time="2026"),
        item("tool_output", "add", server="math", seconds=0.5),
        item("tool_output", "add", server="math", seconds=0.5, kept=True),
        item("tool_output", "add", server="math", seconds=0, refused=True),
        item("tool_output", SANDBOX_STEP, seconds=2),
        item("tool_output", SANDBOX_STEP, seconds="odd"),
        item("run_metadata", status="done"),
    ]
    assert activity_of(items) == Activity(requests=1, plans=2, seconds=2, calls=1, call_seconds=0.5)


OURS = "sk-very-secret-1"
READ = AskedCall("web.read", (ShownValue("url", f"http://x/?k={OURS}", "unknown"),), {})
ASKED = LeaveQuestion((READ, READ), ("it may change something",), (f"web.read(url={OURS})",))


@pytest.mark.parametrize(
    ("answer", "holds", "text", "allowed"),
    [
        (Leave("always"), "always", "The user allowed web.read", "web.read(url=[redacted"),
        (Leave("once", only=frozenset({1})), "once", "The user allowed web.read", "web.read(url="),
        (Leave("session", rule="web.read"), "session", "The user allowed web.read", "web.read"),
        (Leave("no", f"not with {OURS}"), "no", "The user did not allow web.read", ""),
    ],
)
async def test_what_the_user_allows_is_kept_without_secrets(
    answer: Leave, holds: str, text: str, allowed: str
) -> None:
    kept: list[MemoryItem] = []

    async def ask(question: LeaveQuestion) -> Leave | None:
        return answer

    async def keep(item: MemoryItem) -> None:
        kept.append(item)
        raise StorageError("the disk is full")

    asking = leave_kept(ask, keep, Redactor({"SERVICE_API_KEY": OURS}), lambda: 7.0)
    assert await asking(ASKED) == answer
    (item,) = kept
    told = item.metadata[LEAVE]
    assert isinstance(told, dict)
    assert (item.text, item.timestamp, told["holds"]) == (text, 7.0, holds)
    assert told["tool"] == "web.read"
    assert str(told["for"]).startswith(allowed)
    assert told.get("calls") == ([2] if answer.only else None)
    assert OURS not in str(told)
    started = note("start", user_query="x")
    assert runs_in([started, item]) == [[started, item]]


async def test_nothing_is_kept_where_nobody_answers() -> None:
    async def ask(question: LeaveQuestion) -> Leave | None:
        return None

    async def keep(item: MemoryItem) -> None:
        raise AssertionError("there is nothing to keep")

    assert await leave_kept(ask, keep, Redactor({}))(ASKED) is None

"""The whiteboard: one writer, versions, who reads what, and bounds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.team.board import BoardEntry
from core.team.whiteboard import (
    ENTRIES_MAX,
    KEY_CHARACTERS_MAX,
    SUGGESTIONS_MAX,
    VALUE_CHARACTERS_MAX,
    StaleVersion,
    Suggestion,
    Whiteboard,
    board_text,
)
from tests.core.team.boards import Told


async def test_what_is_written_has_its_version_time_and_source_and_is_told() -> None:
    told, board = Told(), Whiteboard()
    writer = board.writer(told.emit, told.clock)
    await writer.write("facts", "notice", "3 months", 0, "analyst", "lease.pdf")
    told.now += 5
    entry = await writer.write("facts", "notice", "6 months", 1)
    assert entry == BoardEntry("facts", "notice", "6 months", "coordinator", 2, 1.7e9 + 5)
    assert board.entry("facts", "notice") == entry
    assert [(each.version, each.source) for each in told.entries] == [(1, "lease.pdf"), (2, "")]


async def test_a_stale_version_is_refused_and_nothing_is_written() -> None:
    told, board = Told(), Whiteboard()
    writer = board.writer(told.emit, told.clock)
    with pytest.raises(StaleVersion, match="at version 0, not 1: nothing stands there"):
        await writer.write("facts", "notice", "3", 1)
    await writer.write("facts", "notice", "3", 0)
    with pytest.raises(StaleVersion, match="at version 1, not 0: «3» stands there"):
        await writer.write("facts", "notice", "4", 0)
    assert [entry.value for entry in told.entries] == ["3"]


def test_only_one_has_the_pen() -> None:
    told, board = Told(), Whiteboard()
    board.writer(told.emit, told.clock)
    with pytest.raises(RuntimeError, match="has its writer"):
        board.writer(told.emit, told.clock)


async def test_what_workers_suggest_waits_for_the_coordinator() -> None:
    told, board = Told(), Whiteboard()
    writer = board.writer(told.emit, told.clock)
    suggestion = Suggestion("facts", "notice", "3 months", "analyst", 1.7e9)
    assert board.suggest(suggestion)
    assert board.view("coordinator") == ()
    assert writer.take_suggestions() == (suggestion,)
    assert writer.take_suggestions() == ()
    taken = [board.suggest(suggestion) for _ in range(SUGGESTIONS_MAX + 1)]
    assert taken == [*[True] * SUGGESTIONS_MAX, False]


async def test_everybody_sees_topics_in_order_and_the_reviewer_no_progress() -> None:
    told, board = Told(), Whiteboard()
    writer = board.writer(told.emit, told.clock)
    await writer.write("facts", "notice", "3\nmonths", 0, "analyst", "lease.pdf")
    await writer.write("progress", "read", "running", 0, "analyst")
    await writer.write("mission", "request", "compare\x1b[2J the leases", 0)
    await writer.write("mission", "request", "compare", 1)
    assert board_text(board.view("user")).splitlines() == [
        "mission",
        "  request: compare (coordinator, version 2)",
        "progress",
        "  read: running (analyst)",
        "facts",
        "  notice: 3 months (analyst, from lease.pdf)",
    ]
    assert board.view("coordinator") == board.view("user")
    assert [entry.topic for entry in board.view("reviewer")] == ["mission", "facts"]
    assert board_text(()) == ""


async def test_texts_and_topics_have_bounds() -> None:
    told, board = Told(), Whiteboard()
    writer = board.writer(told.emit, told.clock)
    entry = await writer.write("facts", "k" * 500, "v" * 50_000, 0, "w" * 500)
    assert (len(entry.key), len(entry.value)) == (KEY_CHARACTERS_MAX, VALUE_CHARACTERS_MAX)
    assert len(entry.who) == KEY_CHARACTERS_MAX
    await writer.write("mission", "request", "stays", 0)
    for number in range(ENTRIES_MAX):
        await writer.write("facts", str(number), "x", 0)
    kept = [each.key for each in board.view("user") if each.topic == "facts"]
    assert kept == [str(number) for number in range(ENTRIES_MAX)]
    assert board.entry("mission", "request") is not None


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 4)), max_size=40))
async def test_a_write_succeeds_exactly_with_the_version_that_is_there(
    writes: list[tuple[str, int]],
) -> None:
    told, board = Told(), Whiteboard()
    writer = board.writer(told.emit, told.clock)
    versions = dict.fromkeys("abc", 0)
    for key, expected in writes:
        try:
            await writer.write("facts", key, "x", expected)
        except StaleVersion:
            assert versions[key] != expected
        else:
            assert versions[key] == expected
            versions[key] += 1
    assert len(told.entries) == sum(versions.values())

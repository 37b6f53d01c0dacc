"""The coordinator: what it writes down of a team's events."""

from core.events import (
    Event,
    GraphPlanned,
    Judged,
    Notice,
    Replanned,
    RoleChosen,
    SubtaskChanged,
    SubtaskEvent,
    ToolCallFinished,
)
from core.team.graph import Subtask, SubtaskState, TaskGraph
from core.team.whiteboard import board_text
from core.turn import ToolCall
from modules.team.board import Coordinator
from tests.core.team.boards import Told

OURS, THEIRS = Subtask("ours", "read our lease"), Subtask("theirs", "read theirs", role="writer")
GRAPH = TaskGraph("compare the leases", (OURS, THEIRS))


def called(subtask: Subtask, tool: str, *, ok: bool = True) -> Event:
    return SubtaskEvent(subtask.id, 1, ToolCallFinished(1, ToolCall(tool, {}, ok, "text", 0.1)))


def changed(subtask: Subtask, state: SubtaskState, text: str = "") -> Event:
    return SubtaskChanged(subtask, state, 1, text)


async def noted(*events: Event) -> tuple[Told, Coordinator]:
    told = Told()
    coordinator = Coordinator(told.emit, told.clock)
    for event in events:
        await coordinator.tell(event)
    return told, coordinator


async def test_a_run_of_a_team_stands_on_the_board() -> None:
    _, coordinator = await noted(
        GraphPlanned(GRAPH),
        RoleChosen("ours", "analyst", "it may read documents"),
        changed(OURS, "running"),
        changed(THEIRS, "running"),
        called(OURS, "documents.search"),
        called(OURS, "web.fetch", ok=False),
        changed(OURS, "completed", '{"lease": {"months": 3}, "who": "us"}'),
        changed(THEIRS, "failed", "no such page"),
        Replanned("theirs", "no such page", GRAPH),
        changed(THEIRS, "running"),
        changed(THEIRS, "completed", '{"lease": {"months": 12}}'),
        Judged("need_more", "no price"),
        Notice("loop", "nothing of the team's"),
    )
    assert board_text(coordinator.board.view("user")).splitlines() == [
        "mission",
        "  request: compare the leases (coordinator)",
        "progress",
        "  ours: completed (analyst, version 2)",
        "  theirs: completed (writer, version 4)",
        "decisions",
        "  1: planned anew, because theirs failed: no such page (coordinator)",
        "  facts.lease.months: «3» (analyst/ours), not «12» (writer/theirs): "
        "a source beats a memory (coordinator)",
        "  2: judged need more: no price (reviewer)",
        "facts",
        "  lease.months: 3 (analyst/ours, from documents.search)",
        "  ours.who: us (analyst/ours, from documents.search)",
    ]


async def test_what_an_earlier_try_has_read_is_no_source_of_the_next() -> None:
    _, coordinator = await noted(
        changed(OURS, "running"), called(OURS, "web.fetch"),
        changed(OURS, "running"), changed(OURS, "completed", '{"a": 1}'),
    )  # fmt: skip
    fact = coordinator.board.entry("facts", "ours.a")
    assert fact is not None
    assert fact.source == ""


async def test_what_follows_from_a_subtask_s_end_is_told_before_it_and_else_behind() -> None:
    told, _ = await noted(GraphPlanned(GRAPH), changed(OURS, "completed", "3"))
    assert [type(event).__name__ for event in told.events] == [
        "GraphPlanned", "BoardChanged", "BoardChanged", "SubtaskChanged",
    ]  # fmt: skip


async def test_workers_who_contradict_are_told_to_the_user_once() -> None:
    told, coordinator = await noted(
        GraphPlanned(GRAPH),
        changed(OURS, "completed", '{"lease": {"months": 3}}'),
        changed(THEIRS, "completed", '{"lease": {"months": 12}}'),
        changed(Subtask("last", "join"), "completed", "{}"),
    )
    line = "nobody can say which is right: «3» (worker/ours) and «12» (writer/theirs)"
    assert [event.text for event in told.events if isinstance(event, Notice)] == [
        f"workers disagree about lease.months: {line}"
    ]
    assert coordinator.contradictions_of(["theirs"]) == f"lease.months: {line}"
    assert coordinator.contradictions_of(["last"]) == ""
